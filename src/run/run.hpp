#pragma once

#include "run/run_options.hpp"

namespace wallheat {

/// This rank's part of a run, or all of it if there is one process: rank 0 hands out plans and
/// stores results, the others solve. Returns an ExitStatus, or does not return if other ranks are
/// lost and MPI could only be left by force. Throws RunError.
int run(const RunOptions& options);

}  // namespace wallheat
