// Definitions that the static C++ library of g++-12 requires from a glibc newer than 2.31.
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

// In glibc since 2.32. 0: there may be several threads, which is always a safe value.
char __libc_single_threaded = 0;

// In glibc since 2.36.
uint32_t arc4random(void) {
  uint32_t number;
  if (getentropy(&number, sizeof number) != 0) abort();
  return number;
}
