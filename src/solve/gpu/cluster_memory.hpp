#pragma once

#include "solve/gpu/resident.hpp"

namespace wallheat::gpu {

constexpr int most_blocks_of_a_cluster = 16;

/// The shared memory of a cluster's block with at most so many threads.
template <TileShape shape, int threads>
struct BlockMemory {
  Pair inboxes[2 * shape.inbox_pairs() * threads];
  double maxima[most_blocks_of_a_cluster];  // of each block
  unsigned long long maximum;               // bits of this block's
  Agreement agreement;
};

}  // namespace wallheat::gpu
