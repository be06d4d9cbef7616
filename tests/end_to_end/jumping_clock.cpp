#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

// To be preloaded: the clock on the wall jumps a day ahead each time that it is looked at, as if
// somebody set it all the time. Other clocks stay as they are.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static std::atomic<time_t> days{0};
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += ++days * 86400;
  return result;
}
