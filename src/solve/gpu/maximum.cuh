#pragma once

namespace wallheat::gpu {

/// The bits of the largest value >= 0 of the threads of a warp: as integers they stand in the same
/// order.
__device__ inline unsigned long long warp_maximum(double value) {
  auto bits = static_cast<unsigned long long>(__double_as_longlong(value));
  for (int distance = 16; distance > 0; distance /= 2) {
    const unsigned long long other = __shfl_xor_sync(0xffffffffU, bits, distance);
    bits = other > bits ? other : bits;
  }
  return bits;
}

}  // namespace wallheat::gpu
