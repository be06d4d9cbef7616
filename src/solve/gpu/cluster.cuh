#pragma once

#include <cstddef>
#include <cstdint>

#include "solve/gpu/instructions.cuh"
#include "solve/gpu/tile.cuh"

// The cluster kernel: the blocks of a cluster iterate a plan until it is solved. Each thread stores
// one tile in its registers. Device memory is used during the iteration only to save the field for
// a rollback.

namespace wallheat::gpu {

/// The decision that applies to all threads of a block after a check interval.
struct BlockDecision {
  Convergence convergence;
  std::int64_t sweeps_made = 0;
  std::int32_t window = 0;  ///< number of sweeps of the next check interval; 0: the kernel ends
  bool roll_back = false;   ///< restore the saved field before that

  __device__ void begin(const ClusterKernelArgs& plan) {
    convergence = *plan.convergence;
    sweeps_made = 0;
    choose_window(plan);
  }
  /// Decides how to continue after the sweeps of the check interval, the last of them with this
  /// delta in °C.
  __device__ void end_window(const ClusterKernelArgs& plan, double delta) {
    roll_back = !convergence.accept(delta);
    sweeps_made += window;
    choose_window(plan);
  }

 private:
  __device__ void choose_window(const ClusterKernelArgs& plan) {
    const bool pause = sweeps_made >= plan.sweeps;
    window = pause || convergence.finished()
                 ? 0
                 : static_cast<std::int32_t>(convergence.sweeps_to_next_check());
  }
};

/// The shared memory of a block.
struct BlockMemory {
  Pair halos[2][cluster_tile.halo_pairs()][cluster_threads];
  std::uint64_t mbarriers[2];    // count the bytes of edges from other blocks, one per halo buffer
  std::uint32_t arriving_bytes;  // number of these bytes per sweep
  double maxima[max_cluster_blocks * cluster_threads / warp_threads];  // one per warp
  BlockDecision agreement;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// Communication of a thread with the other threads of its cluster.
///
/// Edges for a thread of the same block are ordinary stores, which __syncthreads() makes visible.
/// Edges for another block are asynchronous stores, whose bytes an mbarrier of that block counts;
/// the block waits until all expected bytes have arrived. So a block never waits for all other
/// blocks in a sweep.
class ClusterThread {
 public:
  __device__ explicit ClusterThread(BlockMemory& memory) : memory_(memory) {
    if (leads()) {
      memory_.arriving_bytes = 0;
      for (int buffer = 0; buffer < 2; ++buffer) {
        make_mbarrier(mbarrier_of(buffer));
        fence_mbarrier_init();
      }
    }
    __syncthreads();
  }
  /// Returns true in one thread of each block.
  __device__ bool leads() const { return threadIdx.x == 0; }
  /// Returns a pair of this thread's halo. There are two halos, which are used alternately.
  __device__ Pair& in_halo(int buffer, int place) const {
    return memory_.halos[buffer][place][threadIdx.x];
  }
  /// Address of the halos of a neighbour within the shared memory of its block. The low bits, which
  /// are 0 in such an address, contain the number of its block minus that of this block, modulo
  /// max_cluster_blocks. One word contains both, because registers are scarce.
  using Neighbour = SharedAddress;
  /// Returns the address of the halos of a thread of the cluster; `nobody` for no_tile.
  __device__ Neighbour neighbour(std::int32_t slot) const {
    if (slot < 0) return nobody;
    const unsigned block = static_cast<unsigned>(slot) / blockDim.x;
    // A neighbour sends as many bytes as it receives.
    if (block != blockIdx.x)
      atomicAdd(&memory_.arriving_bytes, cluster_tile.rows * static_cast<int>(sizeof(double)));
    return shared_address(&memory_.halos[0][0][static_cast<unsigned>(slot) % blockDim.x]) |
           (block - blockIdx.x) % max_cluster_blocks;
  }
  /// Waits until all threads of the cluster have called neighbour().
  __device__ void begin() {
    sync_cluster();
    awaited_bytes_ = memory_.arriving_bytes;
  }
  /// Writes a tile's edges into its neighbours' halos.
  __device__ void give(const double (&cells)[cluster_tile.cells()],
                       const Neighbour (&neighbours)[sides], int buffer) const {
    // Edges for other blocks are sent first, because they need several hundred cycles to arrive.
    // Meanwhile, this thread stores the edges for its own block.
    if (distance(neighbours[left] | neighbours[right] | neighbours[up] | neighbours[down]) != 0) {
      // These stores never overwrite a halo that its owner still reads, for the following reason.
      //
      // Neighbourhood is mutual, so no block is two sweeps ahead of a neighbour: a block stores
      // into the same halo again only after it has waited for the edges of the sweep in between,
      // and the owner of the halo sends its edge only after it has read that halo.
      //
      // The first part is documented: the wait has acquire semantics, and this store is later in
      // program order. The second part is not documented: PTX does not order an asynchronous store
      // after earlier loads of its thread. It follows from a data dependency: the two new values of
      // a pair are sums that include the old pair, which was read from this very place of the halo,
      // so they do not exist before that load has completed. The value of a fixed cell does not
      // depend on the load; but then the loaded value is not used, so it does not matter from which
      // sweep it is.
      send_edges<cluster_tile>(cells, [&](Side side, int place, const auto& edge) {
        const Neighbour to = neighbours[side];
        if (distance(to) == 0) return;
        const unsigned block = (blockIdx.x + distance(to)) % max_cluster_blocks;
        const SharedAddress halo =
            in_block(to - distance(to) + buffer * halo_bytes + offset(place), block);
        const SharedAddress mbarrier = in_block(mbarrier_of(buffer), block);
        for (const Pair& pair : edge) store_async(halo + offset(&pair - edge), pair, mbarrier);
      });
    }
    send_edges<cluster_tile>(cells, [&](Side side, int place, const auto& edge) {
      const Neighbour to = neighbours[side];
      if (distance(to) != 0 || to == nobody) return;
      const SharedAddress halo = to + buffer * halo_bytes + offset(place);
      for (const Pair& pair : edge) pair_at(halo + offset(&pair - edge)) = pair;
    });
  }
  /// Waits until the edges that the neighbours send for a sweep have arrived.
  __device__ void wait_for_edges(int buffer) {
    const SharedAddress mbarrier = mbarrier_of(buffer);
    if (awaited_bytes_ > 0 && leads()) expect_bytes(mbarrier, awaited_bytes_);
    __syncthreads();
    if (awaited_bytes_ > 0) {
      while (!have_arrived(mbarrier, parity_)) {
      }
    }
    parity_ ^= static_cast<unsigned>(buffer);
  }
  /// Returns the maximum of the values of all threads of the cluster. Waits for all of them.
  __device__ double max(double value) {
    const double of_warp = warp_maximum(value);
    const unsigned lane = threadIdx.x % warp_threads;
    const unsigned warps = blockDim.x / warp_threads;
    // Each warp writes its maximum into the memory of every block, one block per thread of the
    // warp. The block number is limited to existing blocks, because the compiler may move the
    // address computation before the `if`. atomicMax() cannot be used: on the memory of another
    // block, nvcc compiles it to a load, a comparison and a store, so maxima would be lost.
    double* const maxima = in_block(memory_.maxima, min(lane, gridDim.x - 1));
    if (lane < gridDim.x) maxima[blockIdx.x * warps + threadIdx.x / warp_threads] = of_warp;
    sync_cluster();
    double largest = 0;  // maxima are not overwritten before the next sync
    for (unsigned warp = lane; warp < gridDim.x * warps; warp += warp_threads)
      largest = memory_.maxima[warp] > largest ? memory_.maxima[warp] : largest;
    return warp_maximum(largest);
  }

 private:
  static_assert(cluster_tile.rows == cluster_tile.cols);  // all edges have the same bytes
  static_assert(max_cluster_blocks <= sizeof(Pair));
  static constexpr Neighbour nobody = ~Neighbour{0} - max_cluster_blocks + 1;
  __device__ static unsigned distance(Neighbour to) { return to % max_cluster_blocks; }
  static constexpr int halo_bytes = sizeof(BlockMemory::halos) / 2;
  /// Returns the offset, in bytes, of a pair from the first pair of its halo.
  __device__ static constexpr int offset(int place) {
    return place * cluster_threads * sizeof(Pair);
  }
  __device__ SharedAddress mbarrier_of(int buffer) const {
    return shared_address(&memory_.mbarriers[buffer]);
  }

  BlockMemory& memory_;
  std::uint32_t awaited_bytes_ = 0;  ///< copy of arriving_bytes in a register
  unsigned parity_ = 0;  ///< parity of the phase to wait for; changes after every second sweep
};

/// Copies a tile. The strides are the distances between consecutive cells in the arrays; 1 for
/// registers.
__device__ inline void copy_tile(const double* from, std::ptrdiff_t from_stride, double* to,
                                 std::ptrdiff_t to_stride) {
#pragma unroll
  for (int cell = 0; cell < cluster_tile.cells(); ++cell)
    to[cell * to_stride] = from[cell * from_stride];
}

__global__ void __launch_bounds__(cluster_threads, 2) cluster_kernel(const ClusterKernelArgs plan) {
  constexpr int tile_cells = cluster_tile.cells();
  constexpr int halo_pairs = cluster_tile.halo_pairs();
  BlockMemory& memory = *static_cast<BlockMemory*>(dynamic_shared_memory());
  BlockDecision& agreement = memory.agreement;
  ClusterThread thread(memory);
  const auto slot = static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  const CellMask interior = plan.interior[slot];
  double cells[tile_cells];
  ClusterThread::Neighbour neighbours[sides];
  double* const start_and_answer = plan.cells + static_cast<std::size_t>(slot) * tile_cells;
  double* const kept = plan.rollback_cells + slot;
  copy_tile(start_and_answer, 1, cells, 1);
#pragma unroll
  for (int side = 0; side < sides; ++side)
    neighbours[side] = thread.neighbour(plan.neighbours[slot * sides + side]);
  // Initialise both buffers, because edges that no neighbour sends keep their initial values.
  for (int place = 0; place < halo_pairs; ++place)
    thread.in_halo(0, place) = thread.in_halo(1, place) =
        plan.halos[static_cast<std::size_t>(slot) * halo_pairs + place];
  int buffer = 0;
  const auto received = [&](int place) { return thread.in_halo(buffer, place); };
  const auto make_sweeps = [&](std::int32_t window) {
    for (std::int32_t remaining = window - 1; remaining > 0; --remaining) {
      thread.give(cells, neighbours, buffer);
      thread.wait_for_edges(buffer);
      sweep<cluster_tile, false>(cells, interior, received);
      buffer ^= 1;
    }
    thread.give(cells, neighbours, buffer);
    thread.wait_for_edges(buffer);
    const double change = sweep<cluster_tile, true>(cells, interior, received);
    buffer ^= 1;
    return change;
  };
  if (thread.leads()) agreement.begin(plan);
  thread.begin();

  // All blocks receive the same deltas, so each of them comes to the same decision.
  while (const std::int32_t window = agreement.window) {
    if (window > 1) copy_tile(cells, 1, kept, opaque_copy(plan.slots));
    const double delta = thread.max(make_sweeps(window));
    if (thread.leads()) agreement.end_window(plan, delta);
    sync_cluster();
    if (agreement.roll_back) copy_tile(kept, opaque_copy(plan.slots), cells, 1);
  }
  copy_tile(cells, 1, start_and_answer, 1);
  if (slot == 0) *plan.convergence = agreement.convergence;
}

#else
/// Placeholder for older GPUs, which do not support clusters. It is never launched.
__global__ void cluster_kernel(const ClusterKernelArgs) {}
#endif

}  // namespace wallheat::gpu
