#pragma once

#include <cstdint>

#include "solve/gpu/tile.hpp"

// Stores into another block's shared memory of which that block learns when they are there: what
// CUDA C++ has no words for, as instructions for compute capability 9.0 and newer. Addresses are
// 32-bit ones, of this block's shared memory or of the cluster's.

namespace wallheat::gpu {

using SharedAddress = std::uint32_t;

__device__ inline SharedAddress shared_address(const void* pointer) {
  return static_cast<SharedAddress>(__cvta_generic_to_shared(pointer));
}

/// Where the same thing lies in another block of the cluster.
__device__ inline SharedAddress in_block(SharedAddress address, unsigned block) {
  SharedAddress there = 0;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
  return there;
}

__device__ inline void store(SharedAddress to, Pair pair) {
  *static_cast<Pair*>(__cvta_shared_to_generic(to)) = pair;
}

/// Counts arriving bytes, phase after phase. A phase ends when the bytes that were told have come,
/// some of them perhaps before that was told.
class Arrivals {
 public:
  /// Of 8 bytes of shared memory, aligned.
  __device__ explicit Arrivals(SharedAddress place) : place_(place) {}

  /// One thread does it for its block, and all blocks wait for each other before the first store.
  __device__ void begin() const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(place_) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
  }
  /// One thread tells how many bytes come in this phase.
  __device__ void expect(std::uint32_t count) const {
    asm volatile(
        "{\n\t.reg .b64 %%phase;\n\t"
        "mbarrier.arrive.expect_tx.shared::cta.b64 %%phase, [%0], %1;\n\t}"
        :
        : "r"(place_), "r"(count)
        : "memory");
  }
  /// Waits for the end of a phase of this parity, the first being 0. What arrived is then seen by
  /// this thread.
  __device__ void await(std::uint32_t parity) const {
    while (!is_over(parity)) {
    }
  }
  /// Stores a pair in another block, whose arrivals `there` are to count it.
  __device__ static void store(SharedAddress to, Pair pair, SharedAddress there) {
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%0], {%1, %2}, [%3];"
        :
        : "r"(to), "d"(pair.first), "d"(pair.second), "r"(there)
        : "memory");
  }

 private:
  /// Waits for some time.
  [[nodiscard]] __device__ bool is_over(std::uint32_t parity) const {
    std::uint32_t over = 0;
    asm volatile(
        "{\n\t.reg .pred %%over;\n\t"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %%over, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, %%over;\n\t}"
        : "=r"(over)
        : "r"(place_), "r"(parity)
        : "memory");
    return over != 0;
  }

  SharedAddress place_;
};

}  // namespace wallheat::gpu
