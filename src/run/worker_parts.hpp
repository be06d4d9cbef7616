#pragma once

#include <cstddef>
#include <vector>

#include "core/machine.hpp"
#include "isolation/worker_loop.hpp"
#include "run/run_options.hpp"

namespace wallheat {

/// What a worker needs: how it opens its share of its host, and how it compares its options and
/// plans with rank 0's. `machines` are those of all workers of its host, as each finds its own;
/// `mine` is its place among them.
[[nodiscard]] WorkerParts worker_parts(const RunOptions& options,
                                       const std::vector<Machine>& machines, std::size_t mine);

}  // namespace wallheat
