#pragma once

#include <cstddef>
#include <vector>

#include "core/machine.hpp"
#include "isolation/worker_loop.hpp"
#include "run/run_options.hpp"

namespace wallheat {

/// Returns the context of a worker: how it opens the devices of its share of the host, and how it
/// compares its options and plans with those of rank 0. `machines` describes the host as each of
/// its workers found it; `mine` is the index of this worker.
[[nodiscard]] WorkerContext worker_context(const RunOptions& options, const Timeouts& timeouts,
                                           const std::vector<Machine>& machines, std::size_t mine);

}  // namespace wallheat
