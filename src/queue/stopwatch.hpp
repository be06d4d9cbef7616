#pragma once

#include <algorithm>
#include <chrono>

#include "core/runtime.hpp"

namespace wallheat {

/// Tells how much time passed between looks at it. A process that was stopped, or that waited for a
/// disk, must not take its own sleep for the silence of others: one lap counts at most
/// `longest_lap_s`.
class Stopwatch {
 public:
  Stopwatch(const Runtime& runtime, double longest_lap_s)
      : runtime_(runtime), longest_lap_s_(longest_lap_s), last_(runtime.now()) {}
  double lap_s() {
    const auto now = runtime_.now();
    const std::chrono::duration<double> passed = now - last_;
    last_ = now;
    return std::min(passed.count(), longest_lap_s_);
  }

 private:
  const Runtime& runtime_;
  double longest_lap_s_;
  Runtime::Clock::time_point last_;
};

}  // namespace wallheat
