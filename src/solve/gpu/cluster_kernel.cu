// The resident kernel for GPUs whose blocks can write into each other's shared memory (compute
// capability 9.0 and newer, for which alone this file is compiled).
#include <cooperative_groups.h>

#include <utility>

#include "solve/gpu/arrivals.cuh"
#include "solve/gpu/block_maximum.cuh"
#include "solve/gpu/cluster_memory.hpp"
#include "solve/gpu/kernels.hpp"

namespace wallheat::gpu {
namespace {

namespace cg = cooperative_groups;

/// Edges for a thread of the same block are stored and waited for as in any block. Those for
/// another block arrive there by themselves, counted, and are waited for by their count: in a sweep
/// no block waits for all others. Neighbourhood is mutual, so none gets two sweeps ahead of a
/// neighbour: it stores into an inbox again when it has the edges of the sweep between, which the
/// inbox's owner gave after it had read that inbox.
template <int threads>
class ClusterGroup {
 public:
  __device__ explicit ClusterGroup(BlockMemory<threads>& memory) : memory_(memory) {
    if (leads()) {
      memory_.maximum = 0;
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
      for (const Pair& pair : edge) store(inbox + offset(&pair - edge), pair);
    });
    if (distance(neighbours[left] | neighbours[right] | neighbours[up] | neighbours[down]) == 0)
      return;
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
  __device__ void sync() const {
    if (gridDim.x == 1) {
      __syncthreads();
    } else {
      cg::this_cluster().sync();
    }
  }
  __device__ double max(double value) {
    raise_maximum(&memory_.maximum, value);
    __syncthreads();
    const double of_block = __longlong_as_double(static_cast<long long>(memory_.maximum));
    // Only blocks that exist may be asked for, by whatever thread.
    double* const maxima =
        cg::this_cluster().map_shared_rank(memory_.maxima, min(threadIdx.x, gridDim.x - 1));
    if (threadIdx.x < gridDim.x) maxima[blockIdx.x] = of_block;
    sync();
    // Raised again after the next sync() at the earliest.
    if (leads()) memory_.maximum = 0;
    double largest = 0;
    for (unsigned block = 0; block < gridDim.x; ++block)
      largest = fmax(largest, memory_.maxima[block]);
    return largest;
  }
  __device__ Agreement& agreement() { return memory_.agreement; }

 private:
  static_assert(cluster_tile.rows == cluster_tile.cols);  // all edges have the same bytes
  static_assert(most_blocks_of_a_cluster <= sizeof(Pair));
  static constexpr Neighbour nobody = ~Neighbour{0} - most_blocks_of_a_cluster + 1;
  __device__ static unsigned distance(Neighbour to) { return to % most_blocks_of_a_cluster; }
  __device__ Pair& in_inbox(int buffer, int place) const {
    return memory_.inboxes[(buffer * cluster_tile.inbox_pairs() + place) * threads + threadIdx.x];
  }
  static constexpr int inbox_bytes = cluster_tile.inbox_pairs() * threads * sizeof(Pair);
  /// In bytes, from a thread's first place.
  __device__ static constexpr int offset(int place) { return place * threads * sizeof(Pair); }
  __device__ SharedAddress arrivals_of(int buffer) const {
    return shared_address(&memory_.arrivals[buffer]);
  }

  BlockMemory<threads>& memory_;
  std::uint32_t edge_bytes_ = 0;
  unsigned parity_ = 0;  ///< of the phase that each inbox waits for: it changes every second sweep
};

template <int threads, int blocks_a_multiprocessor>
__global__ void __launch_bounds__(threads, blocks_a_multiprocessor)
    cluster_kernel(const ResidentPlan plan) {
  extern __shared__ __align__(16) unsigned char memory[];
  ClusterGroup<threads> group(*reinterpret_cast<BlockMemory<threads>*>(memory));
  iterate<cluster_tile>(group, plan);
}

/// A launch of one cluster.
class ClusterLaunch {
 public:
  ClusterLaunch(int blocks, int threads, std::size_t shared_bytes, cudaStream_t stream) {
    cluster_.id = cudaLaunchAttributeClusterDimension;
    cluster_.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
    config_.gridDim = static_cast<unsigned>(blocks);
    config_.blockDim = static_cast<unsigned>(threads);
    config_.dynamicSmemBytes = shared_bytes;
    config_.stream = stream;
    config_.attrs = &cluster_;
    config_.numAttrs = 1;
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  ClusterLaunch& operator=(const ClusterLaunch&) = delete;
  [[nodiscard]] const cudaLaunchConfig_t& config() const { return config_; }

 private:
  cudaLaunchAttribute cluster_{};
  cudaLaunchConfig_t config_{};
};

/// Blocks of at most `threads` threads, of which so many are meant to share a multiprocessor: while
/// one plan's threads wait at their barrier, another's compute.
template <int threads, int blocks_a_multiprocessor>
struct Variant {
  static constexpr auto kernel = cluster_kernel<threads, blocks_a_multiprocessor>;
  static constexpr std::size_t shared_bytes = sizeof(BlockMemory<threads>);

  /// Adds what clusters the device can have, if any.
  static void prepare(PreparedKernels& prepared) {
    // Some GPUs with clusters have 99 KiB of shared memory a block.
    const int most_shared_bytes = attribute_of_device(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    if (static_cast<std::size_t>(most_shared_bytes) < shared_bytes) return;
    check_preparing(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(shared_bytes)));
    // More than 8 blocks are not promised by all devices.
    check_preparing(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    GpuKernel described =
        describe_kernel(reinterpret_cast<const void*>(kernel),
                        kernel_name({GroupKind::cluster, threads}), threads, shared_bytes);
    ClusterShape found{threads, {}};
    for (int blocks = 1; blocks <= most_blocks_of_a_cluster; ++blocks) {
      const ClusterLaunch launch(blocks, threads, shared_bytes, nullptr);
      int fitting = 0;
      if (cudaOccupancyMaxActiveClusters(&fitting, kernel, &launch.config()) == cudaSuccess) {
        if (fitting > 0) found.sizes.push_back({blocks, fitting});
        continue;
      }
      // Whatever error says that this size does not fit is an answer, and nothing to report later;
      // one that stays on the device is reported by the next call, too.
      (void)cudaGetLastError();
      check_preparing(cudaDeviceSynchronize());
    }
    if (found.sizes.empty()) return;
    prepared.capacity.clusters.push_back(std::move(found));
    prepared.kernels.push_back(std::move(described));
  }

  static cudaError_t launch(const GroupSize& group, const ResidentPlan& plan, cudaStream_t stream) {
    const ClusterLaunch launch(group.blocks, group.threads, shared_bytes, stream);
    return cudaLaunchKernelEx(&launch.config(), kernel, plan);
  }
};

// Together, the blocks of a multiprocessor take nearly all of its registers. Two blocks are better
// than one: one computes while the other waits. Plans of more tiles than a cluster of such blocks
// holds take twice as large ones.
using TwoBlocks = Variant<128, 2>;
using OneBlock = Variant<256, 1>;

}  // namespace

void prepare_cluster_kernels(PreparedKernels& prepared) {
  if (attribute_of_device(cudaDevAttrClusterLaunch) == 0) return;
  TwoBlocks::prepare(prepared);
  OneBlock::prepare(prepared);
}

cudaError_t launch_cluster_kernel(const GroupSize& group, const ResidentPlan& plan,
                                  cudaStream_t stream) {
  return group.most_threads == 128 ? TwoBlocks::launch(group, plan, stream)
                                   : OneBlock::launch(group, plan, stream);
}

}  // namespace wallheat::gpu
