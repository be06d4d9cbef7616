#pragma once

#include <cstddef>
#include <memory>

#include "solve/gpu/kernel_counters.hpp"
#include "solve/gpu/kernels.hpp"

namespace wallheat::gpu {

/// Allows the kernels what they need. Throws DeviceFault.
[[nodiscard]] PreparedKernels prepare_kernels();

/// Memory of the current device. Throws std::bad_alloc where too little is free.
[[nodiscard]] Memory device_memory(std::size_t bytes);

/// A CUDA stream of its own on a device, which counts its launches. Throws DeviceFault.
[[nodiscard]] std::unique_ptr<Stream> make_cuda_stream(int ordinal, const Capacity& capacity,
                                                       std::shared_ptr<KernelCounters> counters);

/// An array in the current device's memory. Throws std::bad_alloc where there is not enough of it.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) : memory_(device_memory(size * sizeof(T))) {}
  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(memory_.get()); }

 private:
  Memory memory_;
};

}  // namespace wallheat::gpu
