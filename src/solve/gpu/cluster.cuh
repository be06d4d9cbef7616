#pragma once

#include <cooperative_groups.h>

#include <cstdint>

#include "solve/gpu/maximum.cuh"
#include "solve/gpu/resident.hpp"

// How the threads of a cluster exchange edges: for compute capability 9.0 and newer. What CUDA C++
// has no words for stands as instructions. Addresses are 32-bit ones, of this block's shared memory
// or of the cluster's.

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

/// Counts arriving bytes, phase after phase (an mbarrier). A phase ends when the bytes that were
/// told have come, some of them perhaps before that was told.
class Arrivals {
 public:
  /// `place` is one of 8 bytes of shared memory, aligned.
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
  /// Stores a pair in another block, whose arrivals `there` are to count it. NVIDIA documents that
  /// a thread which has waited for the arrivals sees the store (complete_tx releases, try_wait
  /// acquires), not that it comes after what this thread has read before: see ClusterGroup.
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

/// The Group of iterate(). Edges for a thread of the same block are stored and waited for as in any
/// block. Those for another block arrive there by themselves, counted, and are waited for by their
/// count: in a sweep no block waits for all others.
class ClusterGroup {
 public:
  __device__ explicit ClusterGroup(BlockMemory& memory) : memory_(memory) {
    if (leads()) {
      memory_.edge_bytes = 0;
      for (int buffer = 0; buffer < 2; ++buffer) Arrivals(arrivals_of(buffer)).begin();
    }
    __syncthreads();
  }
  __device__ int slot() const { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }
  __device__ bool leads() const { return threadIdx.x == 0; }
  __device__ Pair received(int buffer, int place) const { return in_inbox(buffer, place); }
  __device__ void fill(int place, Pair pair) const {
    for (int buffer = 0; buffer < 2; ++buffer) in_inbox(buffer, place) = pair;
  }
  /// Where the inboxes would lie in this block's shared memory, and in the bits that are 0 in such
  /// an address by how much the block's number is larger than this one's: registers are scarce.
  using Neighbour = SharedAddress;
  __device__ Neighbour neighbour(std::int32_t slot) const {
    if (slot < 0) return nobody;
    const unsigned block = static_cast<unsigned>(slot) / blockDim.x;
    // It gives as much as it takes.
    if (block != blockIdx.x)
      atomicAdd(&memory_.edge_bytes, cluster_tile.rows * static_cast<int>(sizeof(double)));
    return shared_address(&memory_.inboxes[static_cast<unsigned>(slot) % blockDim.x]) |
           (block - blockIdx.x) % most_blocks_of_a_cluster;
  }
  __device__ void give(const double (&cells)[cluster_tile.cells()],
                       const Neighbour (&neighbours)[sides], int buffer) const {
    give_edges<cluster_tile>(cells, [&](Side side, int place, const auto& edge) {
      const Neighbour to = neighbours[side];
      if (distance(to) != 0 || to == nobody) return;
      const SharedAddress inbox = to + buffer * inbox_bytes + offset(place);
      for (const Pair& pair : edge)
        *static_cast<Pair*>(__cvta_shared_to_generic(inbox + offset(&pair - edge))) = pair;
    });
    if (distance(neighbours[left] | neighbours[right] | neighbours[up] | neighbours[down]) == 0)
      return;
    // Why no such store overwrites an inbox that its owner still reads. Neighbourhood is mutual, so
    // no block gets two sweeps ahead of a neighbour: it stores into an inbox again only after it
    // has waited for the edges of the sweep between, and the owner gave its edge after it had read
    // that inbox. The first half is documented: the wait acquires, and this store comes later in
    // the order of its thread. The second half is not: nothing in PTX orders an asynchronous store
    // behind earlier loads of its thread. It rests on data: the two new values of a pair are sums
    // with the old pair that was read from this very place of the inbox, so they do not exist
    // before that load is done. A cell that is fixed does not depend on it; but then what was
    // loaded is not used, whichever sweep it is from.
    give_edges<cluster_tile>(cells, [&](Side side, int place, const auto& edge) {
      const Neighbour to = neighbours[side];
      if (distance(to) == 0) return;
      const unsigned block = (blockIdx.x + distance(to)) % most_blocks_of_a_cluster;
      const SharedAddress inbox =
          in_block(to - distance(to) + buffer * inbox_bytes + offset(place), block);
      const SharedAddress arrivals = in_block(arrivals_of(buffer), block);
      for (const Pair& pair : edge) Arrivals::store(inbox + offset(&pair - edge), pair, arrivals);
    });
  }
  __device__ void begin() {
    sync();
    edge_bytes_ = memory_.edge_bytes;
  }
  __device__ void await_edges(int buffer) {
    const Arrivals arrivals(arrivals_of(buffer));
    if (edge_bytes_ > 0 && leads()) arrivals.expect(edge_bytes_);
    __syncthreads();
    if (edge_bytes_ > 0) arrivals.await(parity_);
    parity_ ^= static_cast<unsigned>(buffer);
  }
  __device__ void sync() const { cooperative_groups::this_cluster().sync(); }
  __device__ double max(double value) {
    const double of_warp = warp_maximum(value);
    const unsigned lane = threadIdx.x % warp_threads;
    const unsigned warps = blockDim.x / warp_threads;
    // Each warp tells every block, a lane for each. Only blocks that there are may be asked for,
    // also by threads that the compiler lets ask before the `if`. Not atomicMax(): at the memory of
    // another block nvcc makes a load, a comparison and a store of it, which lose maxima.
    double* const maxima = cooperative_groups::this_cluster().map_shared_rank(
        memory_.maxima, min(lane, gridDim.x - 1));
    if (lane < gridDim.x) maxima[blockIdx.x * warps + threadIdx.x / warp_threads] = of_warp;
    sync();
    double largest = 0;  // the maxima are written again after the next sync() at the earliest
    for (unsigned warp = lane; warp < gridDim.x * warps; warp += warp_threads)
      largest = memory_.maxima[warp] > largest ? memory_.maxima[warp] : largest;
    return warp_maximum(largest);
  }
  __device__ Agreement& agreement() { return memory_.agreement; }
  __device__ static std::ptrdiff_t renewed(std::ptrdiff_t number) {
    asm volatile("" : "+l"(number));
    return number;
  }

 private:
  static_assert(cluster_tile.rows == cluster_tile.cols);  // all edges have the same bytes
  static_assert(most_blocks_of_a_cluster <= sizeof(Pair));
  static constexpr Neighbour nobody = ~Neighbour{0} - most_blocks_of_a_cluster + 1;
  __device__ static unsigned distance(Neighbour to) { return to % most_blocks_of_a_cluster; }
  __device__ Pair& in_inbox(int buffer, int place) const {
    return memory_
        .inboxes[(buffer * cluster_tile.inbox_pairs() + place) * cluster_threads + threadIdx.x];
  }
  static constexpr int inbox_bytes = cluster_tile.inbox_pairs() * cluster_threads * sizeof(Pair);
  /// In bytes, from a thread's first place.
  __device__ static constexpr int offset(int place) {
    return place * cluster_threads * sizeof(Pair);
  }
  __device__ SharedAddress arrivals_of(int buffer) const {
    return shared_address(&memory_.arrivals[buffer]);
  }

  BlockMemory& memory_;
  std::uint32_t edge_bytes_ = 0;
  unsigned parity_ = 0;  ///< of the phase that each inbox waits for: it changes every second sweep
};

}  // namespace wallheat::gpu
