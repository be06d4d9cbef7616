// The resident kernel for GPUs whose blocks can write into each other's shared memory (compute
// capability 9.0 and newer, for which alone this file is compiled).
#include <cooperative_groups.h>

#include <utility>

#include "solve/gpu/block_maximum.cuh"
#include "solve/gpu/cluster_memory.hpp"
#include "solve/gpu/kernels.hpp"

namespace wallheat::gpu {
namespace {

namespace cg = cooperative_groups;

template <TileShape shape, int threads>
class ClusterGroup {
 public:
  __device__ explicit ClusterGroup(BlockMemory<shape, threads>& memory) : memory_(memory) {
    if (leads()) memory_.maximum = 0;
  }
  __device__ int slot() const { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }
  __device__ bool leads() const { return threadIdx.x == 0; }
  __device__ Pair* inbox() const { return &memory_.inboxes[threadIdx.x]; }
  using Neighbour = Pair*;
  __device__ Neighbour neighbour(std::int32_t slot) const {
    if (slot < 0) return nullptr;
    const unsigned block = static_cast<unsigned>(slot) / blockDim.x;
    return cg::this_cluster().map_shared_rank(
        &memory_.inboxes[static_cast<unsigned>(slot) % blockDim.x], block);
  }
  __device__ static void give(Neighbour to, int offset, Pair pair) {
    if (to != nullptr) to[offset] = pair;
  }
  __device__ static constexpr int offset(int buffer, int place) {
    return (buffer * shape.inbox_pairs() + place) * threads;
  }
  __device__ static bool all_agree(bool yes) { return __all_sync(0xffffffff, yes) != 0; }
  __device__ void await_edges() const { sync(); }
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
    if (threadIdx.x < gridDim.x)
      cg::this_cluster().map_shared_rank(memory_.maxima, threadIdx.x)[blockIdx.x] = of_block;
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
  BlockMemory<shape, threads>& memory_;
};

// nvcc 13 cannot start a kernel that has a TileShape as a template's parameter.
template <int tile_rows, int tile_cols, int threads, int blocks_a_multiprocessor>
__global__ void __launch_bounds__(threads, blocks_a_multiprocessor)
    cluster_kernel(const ResidentPlan plan) {
  constexpr TileShape shape{tile_rows, tile_cols};
  extern __shared__ __align__(16) unsigned char memory[];
  ClusterGroup<shape, threads> group(*reinterpret_cast<BlockMemory<shape, threads>*>(memory));
  iterate<shape>(group, plan);
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
template <TileShape shape, int threads, int blocks_a_multiprocessor>
struct Variant {
  static constexpr auto kernel =
      cluster_kernel<shape.rows, shape.cols, threads, blocks_a_multiprocessor>;
  static constexpr std::size_t shared_bytes = sizeof(BlockMemory<shape, threads>);

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
                        kernel_name({GroupKind::cluster, shape, threads}), threads, shared_bytes);
    ClusterShape found{shape, threads, described.blocks_a_multiprocessor, {}};
    for (int blocks = 1; blocks <= most_blocks_of_a_cluster; ++blocks) {
      const ClusterLaunch launch(blocks, threads, shared_bytes, nullptr);
      int fitting = 0;
      if (cudaOccupancyMaxActiveClusters(&fitting, kernel, &launch.config()) == cudaSuccess) {
        if (fitting > 0) found.blocks.push_back(blocks);
        continue;
      }
      // Whatever error says that this size does not fit is an answer, and nothing to report later;
      // one that stays on the device is reported by the next call, too.
      (void)cudaGetLastError();
      check_preparing(cudaDeviceSynchronize());
    }
    if (found.blocks.empty()) return;
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
using LargeTiles = Variant<large_tile, 128, 2>;
using LargeTilesLargeBlock = Variant<large_tile, 256, 1>;
using SmallTiles = Variant<small_tile, 256, 2>;
using SmallTilesLargeBlock = Variant<small_tile, 512, 1>;

}  // namespace

void prepare_cluster_kernels(PreparedKernels& prepared) {
  if (attribute_of_device(cudaDevAttrClusterLaunch) == 0) return;
  LargeTiles::prepare(prepared);
  LargeTilesLargeBlock::prepare(prepared);
  SmallTiles::prepare(prepared);
  SmallTilesLargeBlock::prepare(prepared);
}

cudaError_t launch_cluster_kernel(const GroupSize& group, const ResidentPlan& plan,
                                  cudaStream_t stream) {
  if (group.tile == large_tile)
    return group.most_threads == 128 ? LargeTiles::launch(group, plan, stream)
                                     : LargeTilesLargeBlock::launch(group, plan, stream);
  return group.most_threads == 256 ? SmallTiles::launch(group, plan, stream)
                                   : SmallTilesLargeBlock::launch(group, plan, stream);
}

}  // namespace wallheat::gpu
