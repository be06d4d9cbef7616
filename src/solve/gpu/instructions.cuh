#pragma once

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

#include <cooperative_groups.h>

#include <cstddef>
#include <cstdint>

#include "solve/gpu/device_plan.hpp"

// What the kernels ask of the blocks of a cluster: for compute capability 9.0 and newer, partly
// instructions that CUDA C++ has no words for. The tests' machine has a header of this name in its
// place (tests/solve/gpu/instructions.cuh); the rest of the kernels is compiled for it as it is.

namespace wallheat::gpu {

/// Of this block's shared memory, or of the cluster's.
using SharedAddress = std::uint32_t;

__device__ inline SharedAddress shared_address(const void* pointer) {
  return static_cast<SharedAddress>(__cvta_generic_to_shared(pointer));
}
/// What is in this block's shared memory there.
__device__ inline Pair& pair_at(SharedAddress address) {
  return *static_cast<Pair*>(__cvta_shared_to_generic(address));
}
/// What a launch asked for, beside the variables of the kernel.
__device__ inline void* dynamic_shared_memory() {
  extern __shared__ __align__(16) unsigned char memory[];
  return memory;
}

/// Waits for all threads of the cluster. What they wrote before is then seen.
__device__ inline void sync_cluster() { cooperative_groups::this_cluster().sync(); }

/// Where the same thing lies in another block of the cluster.
__device__ inline double* in_block(double* here, unsigned block) {
  return cooperative_groups::this_cluster().map_shared_rank(here, block);
}
__device__ inline SharedAddress in_block(SharedAddress here, unsigned block) {
  SharedAddress there = 0;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(block));
  return there;
}

// An mbarrier counts arriving bytes, phase after phase. A phase ends when the bytes that were told
// have come, some of them perhaps before that was told. It takes 8 bytes of shared memory, aligned.

__device__ inline void make_mbarrier(SharedAddress place) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(place) : "memory");
}
/// Those that this thread made, to the other blocks that it then syncs with.
__device__ inline void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}
/// One thread tells how many bytes come in this phase.
__device__ inline void expect_bytes(SharedAddress mbarrier, std::uint32_t count) {
  asm volatile(
      "{\n\t.reg .b64 %%phase;\n\t"
      "mbarrier.arrive.expect_tx.shared::cta.b64 %%phase, [%0], %1;\n\t}"
      :
      : "r"(mbarrier), "r"(count)
      : "memory");
}
/// Whether a phase of this parity has ended, the first being 0: what arrived is then seen by this
/// thread. Waits for it for some time.
__device__ inline bool have_arrived(SharedAddress mbarrier, std::uint32_t parity) {
  std::uint32_t over = 0;
  asm volatile(
      "{\n\t.reg .pred %%over;\n\t"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %%over, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, %%over;\n\t}"
      : "=r"(over)
      : "r"(mbarrier), "r"(parity)
      : "memory");
  return over != 0;
}
/// Stores a pair in another block, whose mbarrier is to count it. NVIDIA documents that a thread
/// which has waited for the mbarrier sees the store (complete_tx releases, try_wait acquires), not
/// that it comes after what this thread has read before: see ClusterThread::give().
__device__ inline void store_async(SharedAddress to, Pair pair, SharedAddress mbarrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%0], {%1, %2}, [%3];"
               :
               : "r"(to), "d"(pair.first), "d"(pair.second), "r"(mbarrier)
               : "memory");
}

/// The same number, as if it were new: of one that stays a compiler works out all that follows from
/// it before a loop, and has no registers for that.
__device__ inline std::ptrdiff_t opaque_copy(std::ptrdiff_t number) {
  asm volatile("" : "+l"(number));
  return number;
}

}  // namespace wallheat::gpu

#endif
