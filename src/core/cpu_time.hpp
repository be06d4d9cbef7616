#pragma once

#include <ctime>

namespace wallheat {

/// Seconds in which the calling thread has had a core so far; a difference of two tells how much of
/// a stretch of wall time was work of this thread.
[[nodiscard]] inline double thread_cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace wallheat
