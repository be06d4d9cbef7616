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
/// own step, as returned by make_step(). If steps throw, no further steps are started, and the
/// exception of the step with the lowest i is rethrown after all threads have ended. Steps are
/// started in order, so this does not depend on the timing of the threads.
template <class MakeStep>
void parallel_for(std::size_t threads, std::size_t count, const MakeStep& make_step) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::size_t failed_step = count;
  std::mutex failing;
  const auto work = [&] {
    std::size_t i = count;
    try {
      auto step = make_step();
      for (i = next++; i < count; i = next++) step(i);
    } catch (...) {
      next = count;
      const std::scoped_lock lock(failing);
      if (failure && i >= failed_step) return;
      failure = std::current_exception();
      failed_step = i;
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
