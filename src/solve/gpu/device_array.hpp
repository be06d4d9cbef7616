#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <new>

#include "solve/gpu/cuda_stream.hpp"

namespace wallheat::gpu {

/// An array in the current device's memory. Throws std::bad_alloc where there is not enough of it.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) {
    const cudaError_t status = cudaMalloc(&data_, size * sizeof(T));
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();  // reported here, not by the next call
      throw std::bad_alloc();
    }
    check(status, "taking device memory");
  }
  ~DeviceArray() { (void)cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  [[nodiscard]] T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace wallheat::gpu
