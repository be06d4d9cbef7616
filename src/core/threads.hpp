#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <ctime>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace wallheat {

/// Seconds in which the calling thread has had a core so far; a difference of two tells how much of
/// a stretch of wall time was work of this thread.
[[nodiscard]] inline double thread_cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Calls step(i) once for each i below `count`, on several threads. Each has a step of its own,
/// which make_step() gives. The first exception ends it and is thrown on.
template <class MakeStep>
void parallel_for(std::size_t threads, std::size_t count, const MakeStep& make_step) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failing;
  const auto work = [&] {
    try {
      auto step = make_step();
      for (std::size_t i = next++; i < count; i = next++) step(i);
    } catch (...) {
      next = count;
      const std::scoped_lock lock(failing);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> workers;
    try {
      for (std::size_t thread = 0; thread < std::min(threads, count); ++thread)
        workers.emplace_back(work);
    } catch (const std::system_error&) {
      work();  // at the limit of threads, this thread and those that were started do all steps
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace wallheat
