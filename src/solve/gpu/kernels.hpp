#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <vector>

#include "solve/gpu/device.hpp"
#include "solve/gpu/stream.hpp"

// The kernels and how to start them.

namespace wallheat::gpu {

/// Throws DeviceFault with CUDA's reason where `status` is an error; `doing` says at what.
void check(cudaError_t status, const std::string& doing);
/// The same of what comes before the first plan.
inline void check_preparing(cudaError_t status) { check(status, "preparing its kernels"); }

/// The current device's kernels.
struct PreparedKernels {
  Capacity capacity;               ///< what they can take
  std::vector<GpuKernel> kernels;  ///< what they need
};

/// The least compute capability that this build has code for, as 75 for 7.5.
[[nodiscard]] int oldest_gpu();

/// As people know a kernel: by its tiles and the threads of a block.
[[nodiscard]] std::string kernel_name(const GroupSize& group);
[[nodiscard]] std::string streaming_kernel_name();

[[nodiscard]] int attribute_of_device(cudaDeviceAttr attribute);
/// What a kernel takes on the current device, with blocks of so many threads.
[[nodiscard]] GpuKernel describe_kernel(const void* kernel, std::string name, int threads,
                                        std::size_t dynamic_shared_bytes);

/// Allows the cluster kernels what they need and finds what clusters the current device can have;
/// none where it has not enough shared memory, or no clusters at all. This and the next two add
/// what there is to `prepared`. A launch returns what CUDA says.
void prepare_cluster_kernels(PreparedKernels& prepared);
[[nodiscard]] cudaError_t launch_cluster_kernel(const GroupSize& group, const ResidentPlan& plan,
                                                cudaStream_t stream);

/// Finds how many blocks of the grid kernel are resident at a time; 0 where they cannot wait for
/// each other.
void prepare_grid_kernel(PreparedKernels& prepared);
[[nodiscard]] cudaError_t launch_grid_kernel(const GroupSize& group, const ResidentPlan& plan,
                                             cudaStream_t stream);

void prepare_streaming_kernel(PreparedKernels& prepared);
[[nodiscard]] cudaError_t launch_streaming_kernel(std::size_t regions, const StreamedPlan& plan,
                                                  unsigned long long* largest_change,
                                                  cudaStream_t stream);

}  // namespace wallheat::gpu
