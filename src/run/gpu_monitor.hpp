#pragma once

#include <string>

#include "queue/placement.hpp"
#include "queue/worker.hpp"

namespace wallheat {

/// Begins to sample a worker's GPU once a second. Where that does not work, a warning says why,
/// once, and the run goes on without: solving needs no samples. Throws nothing.
[[nodiscard]] GpuSamples monitor_gpu(const Gpu& gpu, const std::string& log_level,
                                     const std::string& host);

}  // namespace wallheat
