#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

// A library to preload: the wall clock jumps one day ahead at each reading, as if the user set it
// all the time. Other clocks are unchanged.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static std::atomic<time_t> days{0};
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += ++days * 86400;
  return result;
}
