#pragma once

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

#include <cooperative_groups.h>

#include <cstddef>
#include <cstdint>

#include "solve/gpu/device_plan.hpp"

// The operations between the blocks of a cluster, for compute capability 9.0 and newer. Some are
// PTX instructions without an equivalent in CUDA C++. The GPU emulator of the tests replaces this
// header by one of the same name (tests/solve/gpu/instructions.cuh), and compiles the rest of the
// kernels unchanged.

namespace wallheat::gpu {

/// Address in the shared memory of this block or of its cluster.
using SharedAddress = std::uint32_t;

__device__ inline SharedAddress shared_address(const void* pointer) {
  return static_cast<SharedAddress>(__cvta_generic_to_shared(pointer));
}
/// Returns the pair at an address in the shared memory of this block.
__device__ inline Pair& pair_at(SharedAddress address) {
  return *static_cast<Pair*>(__cvta_shared_to_generic(address));
}
/// Returns the shared memory that the launch has requested in addition to the kernel's variables.
__device__ inline void* dynamic_shared_memory() {
  extern __shared__ __align__(16) unsigned char memory[];
  return memory;
}

/// Waits for all threads of the cluster. Their earlier writes are visible afterwards.
__device__ inline void sync_cluster() { cooperative_groups::this_cluster().sync(); }

/// Returns the address, in another block of the cluster, of the object that this block has at
/// `here`.
__device__ inline double* in_block(double* here, unsigned block) {
  return cooperative_groups::this_cluster().map_shared_rank(here, block);
}
__device__ inline SharedAddress in_block(SharedAddress here, unsigned block) {
  SharedAddress there = 0;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(block));
  return there;
}

// An mbarrier counts arriving bytes in phases. A phase ends when the expected number of bytes has
// arrived; some of them may arrive before that number is set. An mbarrier occupies 8 aligned bytes
// of shared memory.

__device__ inline void make_mbarrier(SharedAddress place) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(place) : "memory");
}
/// Makes the mbarriers that this thread has created visible to the blocks with which it
/// synchronises afterwards.
__device__ inline void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}
/// Sets the number of bytes that will arrive in this phase. One thread must call this per phase.
__device__ inline void expect_bytes(SharedAddress mbarrier, std::uint32_t count) {
  asm volatile(
      "{\n\t.reg .b64 %%phase;\n\t"
      "mbarrier.arrive.expect_tx.shared::cta.b64 %%phase, [%0], %1;\n\t}"
      :
      : "r"(mbarrier), "r"(count)
      : "memory");
}
/// Returns true if the phase with this parity has ended; the first phase has parity 0. The bytes
/// that have arrived are then visible to this thread. May wait for a limited time.
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
/// Stores a pair in another block, whose mbarrier counts its bytes. NVIDIA documents that a thread
/// which has waited for the mbarrier sees the store (complete_tx has release semantics, try_wait
/// acquire semantics), but not that the store happens after earlier loads of this thread; see
/// ClusterThread::give().
__device__ inline void store_async(SharedAddress to, Pair pair, SharedAddress mbarrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%0], {%1, %2}, [%3];"
               :
               : "r"(to), "d"(pair.first), "d"(pair.second), "r"(mbarrier)
               : "memory");
}

/// Returns `number`, but hides its value from the compiler. Otherwise the compiler would compute
/// all offsets that depend on it before a loop, and there are not enough registers for them.
__device__ inline std::ptrdiff_t opaque_copy(std::ptrdiff_t number) {
  asm volatile("" : "+l"(number));
  return number;
}

}  // namespace wallheat::gpu

#endif
