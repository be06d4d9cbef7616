#include "store/hdf5/hdf5_exit.hpp"

#include <hdf5.h>

namespace wallheat {

void leave_hdf5_files_at_exit() { static_cast<void>(H5dont_atexit()); }

}  // namespace wallheat
