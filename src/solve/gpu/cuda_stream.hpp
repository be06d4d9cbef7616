#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "solve/gpu/kernels.hpp"

namespace wallheat::gpu {

/// What the kernels of a device have done so far, by name. All streams of the device add to it.
class KernelCounters {
 public:
  struct Count {
    std::int64_t launches = 0;
    double seconds = 0;
  };
  void add(const std::string& kernel, std::int64_t launches, double seconds) {
    const std::scoped_lock lock(mutex_);
    Count& count = counts_[kernel];
    count.launches += launches;
    count.seconds += seconds;
  }
  /// The device hangs. What waits for it, or frees memory of it, would do so for ever.
  void note_silence() { silent_ = true; }
  [[nodiscard]] bool is_silent() const { return silent_; }
  /// 0, 1, ... for each that asks.
  [[nodiscard]] std::int32_t new_stream() {
    const std::scoped_lock lock(mutex_);
    return streams_++;
  }
  [[nodiscard]] Count of(const std::string& kernel) const {
    const std::scoped_lock lock(mutex_);
    const auto count = counts_.find(kernel);
    return count == counts_.end() ? Count{} : count->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Count> counts_;
  std::int32_t streams_ = 0;
  std::atomic<bool> silent_ = false;
};

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
