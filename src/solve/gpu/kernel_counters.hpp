#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

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
  [[nodiscard]] Count of(const std::string& kernel) const {
    const std::scoped_lock lock(mutex_);
    const auto count = counts_.find(kernel);
    return count == counts_.end() ? Count{} : count->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Count> counts_;
};

}  // namespace wallheat::gpu
