#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "solve/gpu/device_plan.hpp"

// Replaces the header of this name in src for the emulator in machine.hpp. It contains the cluster
// operations of the kernels, and the keywords of CUDA C++ that they use. Each function acts for the
// thread that is running.

#define __device__
#define __global__ static  // the library has kernels with the same names
#define __launch_bounds__(...)
#define __shared__ static  // blocks with such memory run one after the other

// NOLINTBEGIN(bugprone-reserved-identifier): the names are CUDA's
struct OneIndex {
  unsigned x;
};
inline OneIndex threadIdx, blockIdx, blockDim, gridDim;

using std::min;
inline long long __double_as_longlong(double value) { return std::bit_cast<long long>(value); }

void __syncthreads();
double __shfl_xor_sync(unsigned mask, double value, int distance);

/// Throws Violation if an atomic operation accesses the shared memory of another block: nvcc
/// compiles it to code that loses values. Only the block's own shared memory and device memory are
/// permitted.
void check_atomic(const void* memory);
inline unsigned atomicAdd(unsigned* to, int value) {
  check_atomic(to);
  const unsigned before = *to;
  *to += static_cast<unsigned>(value);
  return before;
}
inline unsigned long long atomicMax(unsigned long long* to, unsigned long long value) {
  check_atomic(to);
  const unsigned long long before = *to;
  *to = std::max(before, value);
  return before;
}
// NOLINTEND(bugprone-reserved-identifier)

namespace wallheat::gpu {

using SharedAddress = std::uint32_t;

SharedAddress shared_address(const void* pointer);
Pair& pair_at(SharedAddress address);
void* dynamic_shared_memory();
void sync_cluster();
double* in_block(double* here, unsigned block);
SharedAddress in_block(SharedAddress here, unsigned block);
void make_mbarrier(SharedAddress place);
void fence_mbarrier_init();
void expect_bytes(SharedAddress mbarrier, std::uint32_t count);
bool have_arrived(SharedAddress mbarrier, std::uint32_t parity);
void store_async(SharedAddress to, Pair pair, SharedAddress mbarrier);
inline std::ptrdiff_t opaque_copy(std::ptrdiff_t number) { return number; }

}  // namespace wallheat::gpu
