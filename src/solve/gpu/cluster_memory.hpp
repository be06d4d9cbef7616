#pragma once

#include <cstdint>

#include "solve/gpu/resident.hpp"

namespace wallheat::gpu {

constexpr int most_blocks_of_a_cluster = 16;

/// The shared memory of a cluster's block with at most so many threads.
template <int threads>
struct BlockMemory {
  Pair inboxes[2 * cluster_tile.inbox_pairs() * threads];
  std::uint64_t arrivals[2];                // of edges from other blocks, for each inbox
  std::uint32_t edge_bytes;                 // of those, in a sweep
  double maxima[most_blocks_of_a_cluster];  // of each block
  unsigned long long maximum;               // bits of this block's
  Agreement agreement;
};

}  // namespace wallheat::gpu
