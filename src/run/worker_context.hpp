#pragma once

#include <cstddef>
#include <vector>

#include "core/machine.hpp"
#include "isolation/worker_loop.hpp"
#include "run/run_options.hpp"

namespace wallheat {

/// What a worker needs: how it opens its share of its host, and how it compares its options and
/// plans with rank 0's. `machines` are those of all workers of its host, as each finds its own;
/// `mine` is the index of its own.
[[nodiscard]] WorkerContext worker_context(const RunOptions& options,
                                           const std::vector<Machine>& machines, std::size_t mine);

}  // namespace wallheat
