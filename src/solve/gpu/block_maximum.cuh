#pragma once

namespace wallheat::gpu {

/// Raises `*maximum` to the bits of the largest value >= 0 of the threads of a warp: as integers
/// they stand in the same order.
__device__ inline void raise_maximum(unsigned long long* maximum, double value) {
  auto bits = static_cast<unsigned long long>(__double_as_longlong(value));
  for (int distance = 16; distance > 0; distance /= 2) {
    const unsigned long long other = __shfl_xor_sync(0xffffffffU, bits, distance);
    bits = other > bits ? other : bits;
  }
  if (threadIdx.x % 32 == 0) atomicMax(maximum, bits);
}

}  // namespace wallheat::gpu
