// Launching of the kernels.
#include <algorithm>

#include "solve/gpu/cluster.cuh"
#include "solve/gpu/kernels.hpp"
#include "solve/gpu/streaming.cuh"

namespace wallheat::gpu {
namespace {

/// Launch configuration of one cluster.
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

/// Sets the attributes that the cluster kernel needs. Returns the maximum number of blocks in a
/// cluster; 0 if the device does not support clusters, or has too little shared memory per block
/// (some have 99 KiB).
int prepare_cluster_kernel() {
  constexpr int shared_bytes = sizeof(BlockMemory);
  if (attribute_of_device(cudaDevAttrClusterLaunch) == 0 ||
      attribute_of_device(cudaDevAttrMaxSharedMemoryPerBlockOptin) < shared_bytes)
    return 0;
  const auto allow = [](cudaFuncAttribute attribute, int value) {
    check_preparing(cudaFuncSetAttribute(cluster_kernel, attribute, value));
  };
  allow(cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  // Two blocks on a multiprocessor need more than half of its memory as shared memory.
  allow(cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
  // Allows clusters with more than 8 blocks, if the device supports them.
  allow(cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  int blocks = 0;
  while (blocks < max_cluster_blocks) {
    const ClusterLaunch launch(blocks + 1, cluster_threads, nullptr);
    int fitting = 0;
    if (cudaOccupancyMaxActiveClusters(&fitting, cluster_kernel, &launch.config()) != cudaSuccess) {
      // Any error means that this size does not fit. Clear it, so that later calls do not report
      // it. A persistent error of the device is reported by the next call, too.
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

int min_compute_capability() {
  constexpr int architectures[] = {__CUDA_ARCH_LIST__};  // 750 for 7.5
  return *std::min_element(std::begin(architectures), std::end(architectures)) / 10;
}

DeviceCapacity prepare_kernels() {
  DeviceCapacity capacity{.multiprocessors = attribute_of_device(cudaDevAttrMultiProcessorCount),
                          .block_threads = cluster_threads,
                          .max_cluster_blocks = prepare_cluster_kernel()};
  std::size_t free = 0;
  check_preparing(cudaMemGetInfo(&free, &capacity.memory_bytes));
  return capacity;
}

cudaError_t launch_cluster_kernel(int blocks, int threads, const ClusterKernelArgs& plan,
                                  cudaStream_t stream) {
  const ClusterLaunch launch(blocks, threads, stream);
  return cudaLaunchKernelEx(&launch.config(), cluster_kernel, plan);
}

cudaError_t launch_streaming_kernel(std::size_t regions, const StreamingKernelArgs& plan,
                                    unsigned long long* largest_change, cudaStream_t stream) {
  const bool looks_at_delta = largest_change != nullptr;
  const auto kernel = plan.terms != nullptr ? looks_at_delta ? streaming_kernel<true, true>
                                                             : streaming_kernel<false, true>
                      : looks_at_delta ? streaming_kernel<true, false>
                                            : streaming_kernel<false, false>;
  kernel<<<static_cast<unsigned>(regions), region_threads, 0, stream>>>(plan, largest_change);
  return cudaGetLastError();
}

}  // namespace wallheat::gpu
