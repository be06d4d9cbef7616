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

/// Returns the CPU time that the calling thread has used, in s. The difference of two values is the
/// part of an interval of wall time in which the thread was running.
[[nodiscard]] inline double thread_cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Calls step(i) once for each i in [0, count), on at most `threads` threads. Each thread uses its
/// own step, as returned by make_step(). If a step throws, no further steps are started, and the
/// first exception is rethrown after all threads have ended.
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
      // At the limit of threads, this thread and the threads that were started do all steps.
      work();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace wallheat
