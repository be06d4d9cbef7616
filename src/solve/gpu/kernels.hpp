#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "solve/gpu/stream.hpp"

// Launching of the kernels, and streams on a CUDA device.

namespace wallheat::gpu {

/// Throws DeviceFault with CUDA's reason if `status` is an error. `doing` is the operation, for the
/// message.
void check(cudaError_t status, const std::string& doing);

/// Returns the lowest compute capability for which this build has code, such as 75 for 7.5.
[[nodiscard]] int min_compute_capability();

/// Sets the attributes of the kernels on the current device, and returns its capacity. Throws
/// DeviceFault.
[[nodiscard]] DeviceCapacity prepare_kernels();

// Launch a kernel on a stream. Return CUDA's error code.
[[nodiscard]] cudaError_t launch_cluster_kernel(int blocks, int threads,
                                                const ClusterKernelArgs& plan, cudaStream_t stream);
[[nodiscard]] cudaError_t launch_streaming_kernel(std::size_t regions,
                                                  const StreamingKernelArgs& plan,
                                                  unsigned long long* largest_change,
                                                  cudaStream_t stream);

/// State that the streams of a device share.
struct DeviceState {
  /// The device hangs. Any further call to CUDA could block forever, so nothing is released.
  std::atomic<bool> has_timed_out = false;
  std::atomic<std::int32_t> streams = 0;  ///< number of streams that were created
};

/// Creates a CUDA stream on a device. Throws DeviceFault.
[[nodiscard]] std::unique_ptr<Stream> make_cuda_stream(int ordinal, const DeviceCapacity& capacity,
                                                       std::shared_ptr<DeviceState> shared);

}  // namespace wallheat::gpu
