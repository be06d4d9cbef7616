#include <nvtx3/nvToolsExt.h>

#include "solve/trace.hpp"

namespace wallheat {

TraceRange::TraceRange(const char* name) { nvtxRangePushA(name); }
TraceRange::~TraceRange() { nvtxRangePop(); }

}  // namespace wallheat
