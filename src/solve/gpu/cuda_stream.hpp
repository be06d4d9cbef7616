#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "solve/gpu/device.hpp"
#include "solve/gpu/kernel_counters.hpp"
#include "solve/gpu/stream.hpp"

namespace wallheat::gpu {

/// Throws DeviceFault with CUDA's reason where `status` is an error; `doing` says at what.
void check(cudaError_t status, const std::string& doing);

/// The current device's kernels.
struct PreparedKernels {
  Capacity capacity;               ///< what they can take
  std::vector<GpuKernel> kernels;  ///< what they need
};

/// Allows the kernels what they need. Throws DeviceFault.
[[nodiscard]] PreparedKernels prepare_kernels();

/// A CUDA stream of its own on a device, which counts its launches. Throws DeviceFault.
[[nodiscard]] std::unique_ptr<Stream> make_cuda_stream(int ordinal, const Capacity& capacity,
                                                       std::shared_ptr<KernelCounters> counters);

}  // namespace wallheat::gpu
