#pragma once

#include <cstddef>
#include <cstdint>

#include "solve/gpu/instructions.cuh"
#include "solve/gpu/tile.cuh"

// The resident kernel: the blocks of a cluster, each thread with one tile in its registers, iterate
// a plan to its end without touching device memory but to keep a field to go back to.

namespace wallheat::gpu {

/// What the threads of a block agree on at the end of a window.
struct BlockDecision {
  Convergence convergence;
  std::int64_t sweeps_made = 0;
  std::int32_t window = 0;  ///< sweeps to make next; 0: leave
  bool roll_back = false;   ///< to the kept field, before that

  __device__ void begin(const ClusterKernelArgs& plan) {
    convergence = *plan.convergence;
    sweeps_made = 0;
    choose_window(plan);
  }
  /// After the sweeps of the window, the last of them with this largest change.
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
  std::uint64_t mbarriers[2];    // of edges from other blocks, for each halo
  std::uint32_t arriving_bytes;  // of those, in a sweep
  double maxima[max_cluster_blocks * cluster_threads / warp_threads];  // of all warps
  BlockDecision agreement;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// What a thread does together with others. Edges for a thread of the same block are stored and
/// waited for as in any block. Those for another block arrive there by themselves, counted, and are
/// waited for by their count: in a sweep no block waits for all others.
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
  /// True in one thread of each block.
  __device__ bool leads() const { return threadIdx.x == 0; }
  /// This thread's halos, which take turns.
  __device__ Pair& in_halo(int buffer, int place) const {
    return memory_.halos[buffer][place][threadIdx.x];
  }
  /// Where the halos would lie in this block's shared memory, and in the bits that are 0 in such
  /// an address by how much the block's number is larger than this one's: registers are scarce.
  using Neighbour = SharedAddress;
  /// The halos of any thread of the cluster, or, of no_tile, what takes nothing.
  __device__ Neighbour neighbour(std::int32_t slot) const {
    if (slot < 0) return nobody;
    const unsigned block = static_cast<unsigned>(slot) / blockDim.x;
    // It gives as much as it takes.
    if (block != blockIdx.x)
      atomicAdd(&memory_.arriving_bytes, cluster_tile.rows * static_cast<int>(sizeof(double)));
    return shared_address(&memory_.halos[0][0][static_cast<unsigned>(slot) % blockDim.x]) |
           (block - blockIdx.x) % max_cluster_blocks;
  }
  /// Waits for all threads of the cluster, which have asked for their neighbours.
  __device__ void begin() {
    sync_cluster();
    awaited_bytes_ = memory_.arriving_bytes;
  }
  /// Writes a tile's edges into its neighbours' halos.
  __device__ void give(const double (&cells)[cluster_tile.cells()],
                       const Neighbour (&neighbours)[sides], int buffer) const {
    send_edges<cluster_tile>(cells, [&](Side side, int place, const auto& edge) {
      const Neighbour to = neighbours[side];
      if (distance(to) != 0 || to == nobody) return;
      const SharedAddress halo = to + buffer * halo_bytes + offset(place);
      for (const Pair& pair : edge) pair_at(halo + offset(&pair - edge)) = pair;
    });
    if (distance(neighbours[left] | neighbours[right] | neighbours[up] | neighbours[down]) == 0)
      return;
    // Why no such store overwrites an halo that its owner still reads. Neighbourhood is mutual, so
    // no block gets two sweeps ahead of a neighbour: it stores into an halo again only after it
    // has waited for the edges of the sweep between, and the owner gave its edge after it had read
    // that halo. The first half is documented: the wait acquires, and this store comes later in
    // the order of its thread. The second half is not: nothing in PTX orders an asynchronous store
    // behind earlier loads of its thread. It rests on data: the two new values of a pair are sums
    // with the old pair that was read from this very place of the halo, so they do not exist
    // before that load is done. A cell that is fixed does not depend on it; but then what was
    // loaded is not used, whichever sweep it is from.
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
  /// Waits until the edges that its neighbours give for a sweep are there.
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
  /// The largest of the values of all threads of the cluster, which it waits for.
  __device__ double max(double value) {
    const double of_warp = warp_maximum(value);
    const unsigned lane = threadIdx.x % warp_threads;
    const unsigned warps = blockDim.x / warp_threads;
    // Each warp tells every block, a lane for each. Only blocks that there are may be asked for,
    // also by threads that the compiler lets ask before the `if`. Not atomicMax(): at the memory of
    // another block nvcc makes a load, a comparison and a store of it, which lose maxima.
    double* const maxima = in_block(memory_.maxima, min(lane, gridDim.x - 1));
    if (lane < gridDim.x) maxima[blockIdx.x * warps + threadIdx.x / warp_threads] = of_warp;
    sync_cluster();
    double largest = 0;  // the maxima are written again after the next sync at the earliest
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
  /// In bytes, from a thread's first place.
  __device__ static constexpr int offset(int place) {
    return place * cluster_threads * sizeof(Pair);
  }
  __device__ SharedAddress mbarrier_of(int buffer) const {
    return shared_address(&memory_.mbarriers[buffer]);
  }

  BlockMemory& memory_;
  std::uint32_t awaited_bytes_ = 0;  ///< those that arrive, in a register
  unsigned parity_ = 0;  ///< of the phase that each halo waits for: it changes every second sweep
};

/// Copies a tile whose cells lie so far apart; 1 in registers.
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
  // Both buffers: the edges that no neighbour ever gives stay as they are now.
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

  // Every block comes to the same agreement on its own, as it is told the same deltas.
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
/// Older GPUs have no clusters, and are never asked to run it.
__global__ void cluster_kernel(const ClusterKernelArgs) {}
#endif

}  // namespace wallheat::gpu
