#include "solve/trace.hpp"

namespace wallheat {

TraceRange::TraceRange(const char*) {}
TraceRange::~TraceRange() = default;

}  // namespace wallheat
