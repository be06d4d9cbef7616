#pragma once

#include <algorithm>
#include <chrono>

namespace wallheat {

/// Tells how much time passed between looks at it. A process that was stopped, or that waited for a
/// disk, must not take its own sleep for the silence of others: one lap counts at most a quarter of
/// a second.
class Stopwatch {
 public:
  double lap_s() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> passed = now - last_;
    last_ = now;
    return std::min(passed.count(), longest_lap_s);
  }

 private:
  static constexpr double longest_lap_s = 0.25;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace wallheat
