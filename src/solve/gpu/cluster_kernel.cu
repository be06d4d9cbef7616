// The resident kernel for GPUs whose blocks can write into each other's shared memory (compute
// capability 9.0 and newer, for which alone this file is compiled).
#include <cooperative_groups.h>

#include "solve/gpu/block_maximum.cuh"
#include "solve/gpu/kernels.hpp"

namespace wallheat::gpu {
namespace {

namespace cg = cooperative_groups;

// With its inboxes a block of so many threads takes nearly all of a multiprocessor's shared memory,
// and with 128 registers a thread all of its registers.
constexpr int threads = 512;
constexpr int most_blocks_of_a_cluster = 16;

struct BlockMemory {
  Pair inboxes[2 * inbox_pairs * threads];
  double maxima[most_blocks_of_a_cluster];  // of each block
  unsigned long long maximum;               // bits of this block's
  Agreement agreement;
};

class ClusterGroup {
 public:
  __device__ explicit ClusterGroup(BlockMemory& memory) : memory_(memory) {
    if (leads()) memory_.maximum = 0;
  }
  __device__ int slot() const { return static_cast<int>(blockIdx.x * threads + threadIdx.x); }
  __device__ bool leads() const { return threadIdx.x == 0; }
  __device__ Pair* inbox() const { return &memory_.inboxes[threadIdx.x]; }
  __device__ Pair* inbox_of(int slot) const {
    Pair* inbox = &memory_.inboxes[slot % threads];
    const unsigned block = static_cast<unsigned>(slot / threads);
    return block == blockIdx.x ? inbox : cg::this_cluster().map_shared_rank(inbox, block);
  }
  __device__ static constexpr int offset(int buffer, int place) {
    return (buffer * inbox_pairs + place) * threads;
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
  BlockMemory& memory_;
};

__global__ void __launch_bounds__(threads, 1) cluster_kernel(const ResidentPlan plan) {
  extern __shared__ __align__(16) unsigned char memory[];
  ClusterGroup group(*reinterpret_cast<BlockMemory*>(memory));
  iterate(group, plan);
}

/// A launch of one cluster of so many blocks.
class ClusterLaunch {
 public:
  ClusterLaunch(int blocks, cudaStream_t stream) {
    cluster_.id = cudaLaunchAttributeClusterDimension;
    cluster_.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
    config_.gridDim = static_cast<unsigned>(blocks);
    config_.blockDim = threads;
    config_.dynamicSmemBytes = sizeof(BlockMemory);
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

}  // namespace

cudaError_t prepare_cluster_kernel(std::vector<int>* cluster_blocks) {
  cluster_blocks->clear();
  int device = 0;
  int clusters = 0;
  if (const auto error = cudaGetDevice(&device)) return error;
  if (const auto error = cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device))
    return error;
  int shared_memory = 0;
  if (const auto error =
          cudaDeviceGetAttribute(&shared_memory, cudaDevAttrMaxSharedMemoryPerBlockOptin, device))
    return error;
  // Some GPUs with clusters have 99 KiB of shared memory a block.
  if (clusters == 0 || static_cast<std::size_t>(shared_memory) < sizeof(BlockMemory))
    return cudaSuccess;
  if (const auto error =
          cudaFuncSetAttribute(cluster_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(sizeof(BlockMemory))))
    return error;
  // More than 8 blocks are not promised by all devices.
  if (const auto error =
          cudaFuncSetAttribute(cluster_kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1))
    return error;
  for (int blocks = 1; blocks <= most_blocks_of_a_cluster; ++blocks) {
    const ClusterLaunch launch(blocks, nullptr);
    int fitting = 0;
    if (cudaOccupancyMaxActiveClusters(&fitting, cluster_kernel, &launch.config()) == cudaSuccess) {
      if (fitting > 0) cluster_blocks->push_back(blocks);
      continue;
    }
    // Whatever error says that this size does not fit is an answer, and nothing to report later;
    // one that stays on the device is reported by the next call, too.
    (void)cudaGetLastError();
    if (const auto error = cudaDeviceSynchronize()) return error;
  }
  return cudaSuccess;
}

int cluster_kernel_threads() { return threads; }

cudaError_t launch_cluster_kernel(int blocks, const ResidentPlan& plan, cudaStream_t stream) {
  const ClusterLaunch launch(blocks, stream);
  return cudaLaunchKernelEx(&launch.config(), cluster_kernel, plan);
}

}  // namespace wallheat::gpu
