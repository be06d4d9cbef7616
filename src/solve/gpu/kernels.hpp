#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "solve/gpu/stream.hpp"

// The kernels, how to start them, and streams that do so.

namespace wallheat::gpu {

/// Throws DeviceFault with CUDA's reason if `status` is an error; `doing` says at what.
void check(cudaError_t status, const std::string& doing);

/// The least compute capability that this build has code for, as 75 for 7.5.
[[nodiscard]] int min_compute_capability();

/// Allows the kernels what they need on the current device, and finds what it can take. Throws
/// DeviceFault.
[[nodiscard]] DeviceLimits prepare_kernels();

/// Both return what CUDA says.
[[nodiscard]] cudaError_t launch_cluster_kernel(int blocks, int threads,
                                                const ClusterKernelArgs& plan, cudaStream_t stream);
[[nodiscard]] cudaError_t launch_streaming_kernel(std::size_t regions,
                                                  const StreamingKernelArgs& plan,
                                                  unsigned long long* largest_change,
                                                  cudaStream_t stream);

/// What the streams of a device have in common.
struct DeviceState {
  /// The device hangs. What waits for it, or frees memory of it, would do so for ever.
  std::atomic<bool> has_timed_out = false;
  std::atomic<std::int32_t> streams = 0;  ///< made so far
};

/// A CUDA stream of its own on a device. Throws DeviceFault.
[[nodiscard]] std::unique_ptr<Stream> make_cuda_stream(int ordinal, const DeviceLimits& capacity,
                                                       std::shared_ptr<DeviceState> shared);

}  // namespace wallheat::gpu
