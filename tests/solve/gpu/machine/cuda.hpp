#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "solve/gpu/stream.hpp"

// The words of CUDA C++ that the kernels use, for the machine in machine.hpp. A call is one of the
// thread that runs.

#define __device__
#define __global__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static  // blocks that have such memory run one after the other

// NOLINTBEGIN(bugprone-reserved-identifier): the names are CUDA's
struct OneIndex {
  unsigned x;
};
inline OneIndex threadIdx, blockIdx, blockDim, gridDim;

using std::min;
inline long long __double_as_longlong(double value) { return std::bit_cast<long long>(value); }

void __syncthreads();
double __shfl_xor_sync(unsigned mask, double value, int distance);
std::size_t __cvta_generic_to_shared(const void* pointer);
void* __cvta_shared_to_generic(std::size_t address);
unsigned char* dynamic_shared_memory();

/// Atomic operations are for the block's own shared memory, or for the device's: what nvcc makes of
/// one at the memory of another block loses values.
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

namespace cooperative_groups {

void sync_cluster();
/// How far that block's shared memory is behind this one's, in bytes.
std::ptrdiff_t distance_of_block(unsigned block);

struct Cluster {
  void sync() const { sync_cluster(); }
  template <class T>
  T* map_shared_rank(T* here, unsigned block) const {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(here) + distance_of_block(block));
  }
};
inline Cluster this_cluster() { return {}; }

}  // namespace cooperative_groups

// What stands in the kernels as instructions; host_kernels.py puts these calls in their place.
// Addresses are of this block's shared memory or of the cluster's, as in cluster.cuh.
std::uint32_t in_shared_memory_of(std::uint32_t address, unsigned block);
void make_arrivals(std::uint32_t address);
void show_arrivals();  ///< those that this thread made, to other blocks
void expect_arrivals(std::uint32_t address, std::uint32_t bytes);
/// Whether a phase of this parity has ended; waits for it, but not always to the end.
bool await_arrivals(std::uint32_t address, std::uint32_t parity);
/// Stores a pair, of which an mbarrier of the same block is told, some time later.
void store_later(std::uint32_t to, double first, double second, std::uint32_t arrivals);
// NOLINTEND(bugprone-reserved-identifier)
