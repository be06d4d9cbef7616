// The kernels: the resident one of a cluster of blocks, and the streaming one for every GPU.
#include <algorithm>

#include "solve/gpu/kernels.hpp"
#include "solve/gpu/maximum.cuh"
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#include "solve/gpu/cluster.cuh"
#endif

namespace wallheat::gpu {
namespace {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__global__ void __launch_bounds__(cluster_threads, 2) cluster_kernel(const ResidentPlan plan) {
  extern __shared__ __align__(16) unsigned char memory[];
  ClusterGroup group(*reinterpret_cast<BlockMemory*>(memory));
  iterate(group, plan);
}
#else
/// Older GPUs have no clusters, and are never asked to run it.
__global__ void cluster_kernel(const ResidentPlan) {}
#endif

constexpr int inbox_pairs = streamed_tile.inbox_pairs();
// The inboxes of a streamed region take the 48 KiB that a block has everywhere. Larger regions
// have a smaller rim, but no other block computes while one loads or waits.
constexpr int streamed_rows = 8;
constexpr int streamed_cols = 16;
constexpr int streaming_threads = streamed_rows * streamed_cols;
/// A source's terms are in registers, too.
constexpr int streaming_blocks_a_multiprocessor(bool has_source) { return has_source ? 2 : 4; }

/// The group of a streamed region: a single block, with its inboxes in shared memory.
class BlockGroup {
 public:
  __device__ explicit BlockGroup(Pair* inboxes) : inboxes_(inboxes) {}
  __device__ int slot() const { return static_cast<int>(threadIdx.x); }
  __device__ int region() const { return static_cast<int>(blockIdx.x); }
  __device__ Pair* inbox_of(int slot) const { return inboxes_ + slot; }
  __device__ static constexpr int offset(int buffer, int place) {
    return (buffer * inbox_pairs + place) * streaming_threads;
  }
  __device__ void sync() const { __syncthreads(); }

 private:
  Pair* inboxes_;
};

template <bool looks_at_delta, bool has_source>
__global__ void __launch_bounds__(streaming_threads, streaming_blocks_a_multiprocessor(has_source))
    streaming_kernel(const StreamedPlan plan, unsigned long long* largest_change) {
  constexpr std::size_t bytes = 2 * inbox_pairs * streaming_threads * sizeof(Pair);
  __shared__ __align__(16) unsigned char inboxes[bytes];
  BlockGroup group(reinterpret_cast<Pair*>(inboxes));
  const double change =
      sweep_region<streamed_rows, streamed_cols, looks_at_delta, has_source>(group, plan);
  if (!looks_at_delta) return;
  // The bits of values >= 0 stand, as integers, in the order of the values.
  const auto of_warp = static_cast<unsigned long long>(__double_as_longlong(warp_maximum(change)));
  if (threadIdx.x % warp_threads == 0) atomicMax(largest_change, of_warp);
}

/// A launch of one cluster.
class ClusterLaunch {
 public:
  ClusterLaunch(int blocks, int threads, cudaStream_t stream) {
    cluster_.id = cudaLaunchAttributeClusterDimension;
    cluster_.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
    config_.gridDim = static_cast<unsigned>(blocks);
    config_.blockDim = static_cast<unsigned>(threads);
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

void check_preparing(cudaError_t status) { check(status, "preparing its kernels"); }

int attribute_of_device(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  check_preparing(cudaGetDevice(&device));
  check_preparing(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

/// Allows the cluster kernel what it needs. Returns of how many blocks a cluster can be; 0 if the
/// device has no clusters, or too little shared memory: some have 99 KiB a block.
int prepare_cluster_kernel() {
  constexpr int shared_bytes = sizeof(BlockMemory);
  if (attribute_of_device(cudaDevAttrClusterLaunch) == 0 ||
      attribute_of_device(cudaDevAttrMaxSharedMemoryPerBlockOptin) < shared_bytes)
    return 0;
  const auto allow = [](cudaFuncAttribute attribute, int value) {
    check_preparing(cudaFuncSetAttribute(cluster_kernel, attribute, value));
  };
  allow(cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  // Two blocks of a multiprocessor need more than half of its memory as shared memory.
  allow(cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
  allow(cudaFuncAttributeNonPortableClusterSizeAllowed, 1);  // more than 8 blocks, if it has them
  int blocks = 0;
  while (blocks < most_blocks_of_a_cluster) {
    const ClusterLaunch launch(blocks + 1, cluster_threads, nullptr);
    int fitting = 0;
    if (cudaOccupancyMaxActiveClusters(&fitting, cluster_kernel, &launch.config()) != cudaSuccess) {
      // Whatever error says that this size does not fit is an answer, and nothing to report later;
      // one that stays on the device is reported by the next call, too.
      (void)cudaGetLastError();
      check_preparing(cudaDeviceSynchronize());
      fitting = 0;
    }
    if (fitting == 0) break;
    ++blocks;
  }
  return blocks;
}

}  // namespace

int oldest_gpu() {
  constexpr int architectures[] = {__CUDA_ARCH_LIST__};  // as 750 for 7.5
  return *std::min_element(std::begin(architectures), std::end(architectures)) / 10;
}

Capacity prepare_kernels() {
  Capacity capacity{.multiprocessors = attribute_of_device(cudaDevAttrMultiProcessorCount),
                    .block_threads = cluster_threads,
                    .most_blocks = prepare_cluster_kernel(),
                    .region_rows = streamed_rows,
                    .region_cols = streamed_cols};
  std::size_t free = 0;
  check_preparing(cudaMemGetInfo(&free, &capacity.memory_bytes));
  return capacity;
}

cudaError_t launch_cluster_kernel(int blocks, int threads, const ResidentPlan& plan,
                                  cudaStream_t stream) {
  const ClusterLaunch launch(blocks, threads, stream);
  return cudaLaunchKernelEx(&launch.config(), cluster_kernel, plan);
}

cudaError_t launch_streaming_kernel(std::size_t regions, const StreamedPlan& plan,
                                    unsigned long long* largest_change, cudaStream_t stream) {
  const bool looks_at_delta = largest_change != nullptr;
  const auto kernel = plan.terms != nullptr ? looks_at_delta ? streaming_kernel<true, true>
                                                             : streaming_kernel<false, true>
                      : looks_at_delta ? streaming_kernel<true, false>
                                            : streaming_kernel<false, false>;
  kernel<<<static_cast<unsigned>(regions), streaming_threads, 0, stream>>>(plan, largest_change);
  return cudaGetLastError();
}

}  // namespace wallheat::gpu
