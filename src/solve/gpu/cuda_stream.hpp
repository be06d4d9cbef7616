#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "solve/gpu/stream.hpp"

namespace wallheat::gpu {

/// Throws DeviceFault with CUDA's reason where `status` is an error; `doing` says at what.
void check(cudaError_t status, const std::string& doing);

/// What the current device's kernels can take; allows them what they need. Throws DeviceFault.
[[nodiscard]] Capacity prepare_kernels();

/// A CUDA stream of its own on a device. Throws DeviceFault.
[[nodiscard]] std::unique_ptr<Stream> make_cuda_stream(int ordinal, const Capacity& capacity);

}  // namespace wallheat::gpu
