#include <immintrin.h>

#include "solve/steady/flush_subnormals.hpp"

namespace wallheat {

FlushSubnormals::FlushSubnormals() : before_(_mm_getcsr()) {
  constexpr unsigned flush_to_zero = 0x8000;
  constexpr unsigned denormals_are_zeros = 0x0040;
  _mm_setcsr(before_ | flush_to_zero | denormals_are_zeros);
}

FlushSubnormals::~FlushSubnormals() { _mm_setcsr(before_); }

}  // namespace wallheat
