// What g++-12's static C++ library takes from a glibc newer than 2.31.
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

// From 2.32 on. 0: there may be several threads, which is always safe to say.
char __libc_single_threaded = 0;

// From 2.36 on.
uint32_t arc4random(void) {
  uint32_t number;
  if (getentropy(&number, sizeof number) != 0) abort();
  return number;
}
