#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <vector>

#include "solve/gpu/device.hpp"
#include "solve/gpu/stream.hpp"

// The kernels and how to start them. All return what CUDA says; an error stays until it is fetched.

namespace wallheat::gpu {

/// The least compute capability that this build has code for, as 75 for 7.5.
[[nodiscard]] int oldest_gpu();

/// As people know a kernel: by its tiles and the threads of a block.
[[nodiscard]] std::string kernel_name(const GroupSize& group);
[[nodiscard]] std::string streaming_kernel_name(int region_rows, int region_cols);

/// What a kernel takes on the current device, with blocks of so many threads.
[[nodiscard]] cudaError_t describe_kernel(const void* kernel, std::string name, int threads,
                                          std::size_t dynamic_shared_bytes, GpuKernel* described);

/// Allows the cluster kernels what they need and finds what clusters the current device can have;
/// none where it has not enough shared memory, or no clusters at all. This and the next two add
/// what there is to `kernels`.
[[nodiscard]] cudaError_t prepare_cluster_kernels(std::vector<ClusterShape>* clusters,
                                                  std::vector<GpuKernel>* kernels);
[[nodiscard]] cudaError_t launch_cluster_kernel(const GroupSize& group, const ResidentPlan& plan,
                                                cudaStream_t stream);

/// Finds how many blocks of the grid kernel are resident at a time; 0 where they cannot wait for
/// each other.
[[nodiscard]] cudaError_t prepare_grid_kernel(int* most_blocks, std::vector<GpuKernel>* kernels);
[[nodiscard]] int grid_kernel_threads();
[[nodiscard]] cudaError_t launch_grid_kernel(const GroupSize& group, const ResidentPlan& plan,
                                             cudaStream_t stream);

/// Chooses the largest region whose inboxes fit the current device's shared memory.
[[nodiscard]] cudaError_t prepare_streaming_kernel(int* region_rows, int* region_cols,
                                                   std::vector<GpuKernel>* kernels);
[[nodiscard]] cudaError_t launch_streaming_kernel(int region_rows, int region_cols,
                                                  std::size_t regions, const StreamedPlan& plan,
                                                  unsigned long long* largest_change,
                                                  cudaStream_t stream);

}  // namespace wallheat::gpu
