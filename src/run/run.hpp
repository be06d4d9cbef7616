#pragma once

#include "run/run_options.hpp"

namespace wallheat {

/// Runs `wallheat run` in this process: as rank 0, which assigns plans and stores results, as a
/// worker, which solves plans, or as both without MPI. Returns an ExitStatus. Does not return if
/// other ranks are lost and MPI cannot be finalized. Throws RunError.
int run(const RunOptions& options);

}  // namespace wallheat
