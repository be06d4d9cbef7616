// Functions with which the program requires no newer glibc than 2.28. The C++ library of g++-12 and the headers of Debian
// 11 would require newer ones.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// In glibc since 2.32. 0: there may be several threads, which is always a safe value.
char __libc_single_threaded = 0;

// In glibc since 2.36.
uint32_t arc4random(void) {
  uint32_t number;
  if (getentropy(&number, sizeof number) != 0) abort();
  return number;
}

// In glibc since 2.30.
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

// In glibc since 2.30, whose function is used if it exists. Otherwise waits by the real-time clock, as the C++ library does
// with an older glibc: if that clock is changed during a wait, the wait ends earlier or later.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* end) {
  typedef int (*clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
  const clockwait of_glibc = (clockwait)dlsym(RTLD_NEXT, "pthread_cond_clockwait");
  if (of_glibc) return of_glibc(condition, mutex, clock, end);
  struct timespec now, until;
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &until) != 0) abort();
  const long second_ns = 1000000000;
  until.tv_sec += end->tv_sec - now.tv_sec;
  until.tv_nsec += end->tv_nsec - now.tv_nsec;
  if (until.tv_nsec < 0) {
    until.tv_nsec += second_ns;
    --until.tv_sec;
  } else if (until.tv_nsec >= second_ns) {
    until.tv_nsec -= second_ns;
    ++until.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &until);
}

// glibc 2.29 has new versions of these functions, which differ only in how they report errors. The linker replaces the calls
// (--wrap), and the older versions exist in every glibc. Since 2.28 all versions compute the same values.
#define USE_OLD_VERSION(name, parameters, arguments) \
  double old_##name parameters;                      \
  __asm__(".symver old_" #name "," #name "@GLIBC_2.2.5"); \
  double __wrap_##name parameters { return old_##name arguments; }
USE_OLD_VERSION(exp, (double x), (x))
USE_OLD_VERSION(log, (double x), (x))
USE_OLD_VERSION(pow, (double x, double y), (x, y))
