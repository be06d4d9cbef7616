#pragma once

#include "queue/worker.hpp"
#include "run/run_options.hpp"

namespace wallheat {

/// What a worker of this process needs: its machine, how it opens the share of it that it is given,
/// and what it tells rank 0 about its options and plans. Throws RunError.
[[nodiscard]] WorkerParts worker_parts(const RunOptions& options);

}  // namespace wallheat
