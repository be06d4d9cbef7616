// Selection of an instruction set, and other code that is specific to x86-64.
#include "solve/isa.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <algorithm>

#include "wallheat/error.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return "baseline";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "unknown";
}

std::vector<Isa> available_isas() {
  std::vector<Isa> isas{Isa::baseline};
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) isas.push_back(Isa::avx2);
  if (__builtin_cpu_supports("avx512f")) isas.push_back(Isa::avx512);
#endif
  return isas;
}

IsaKernels kernels_for(Isa isa) {
  if (std::ranges::count(available_isas(), isa) == 0)
    throw RunError("this processor does not support " + std::string(to_string(isa)) +
                   "; use another --isa, or omit the option");
#ifdef __x86_64__
  if (isa == Isa::avx512) return avx512_loops();
  if (isa == Isa::avx2) return avx2_loops();
#endif
  return baseline_loops();
}

#ifdef __x86_64__
FlushSubnormals::FlushSubnormals() : before_(_mm_getcsr()) {
  constexpr unsigned flush_to_zero = 0x8000;
  constexpr unsigned denormals_are_zeros = 0x0040;
  _mm_setcsr(before_ | flush_to_zero | denormals_are_zeros);
}
FlushSubnormals::~FlushSubnormals() { _mm_setcsr(before_); }
#else
FlushSubnormals::FlushSubnormals() = default;
FlushSubnormals::~FlushSubnormals() { before_ = 0; }
#endif

}  // namespace wallheat
