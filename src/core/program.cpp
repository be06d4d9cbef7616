#include "core/program.hpp"

namespace wallheat {

std::string_view version() { return WALLHEAT_VERSION; }

}  // namespace wallheat
