#pragma once

#include "solve/gpu/tile.hpp"

namespace wallheat::gpu {

/// The largest value of the threads of a warp, for all of them.
__device__ inline double warp_maximum(double value) {
  for (int distance = warp_threads / 2; distance > 0; distance /= 2) {
    const double other = __shfl_xor_sync(0xffffffffU, value, distance);
    value = other > value ? other : value;
  }
  return value;
}

}  // namespace wallheat::gpu
