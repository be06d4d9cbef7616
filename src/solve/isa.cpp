// Selection of an instruction set, and other code that is specific to x86-64.
#include "solve/isa.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>

#include "wallheat/error.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

#ifdef __x86_64__
namespace {

/// Returns true if this processor shifts 512-bit vectors as fast as it adds them: AMD's Zen 5 and
/// later (family 1Ah). There, blocks of 16 cells with separate even and odd columns were slower
/// than blocks of 8 cells in order, because they save only shifts, and contain more fixed cells.
bool has_fast_vector_shifts() {
  unsigned signature = 0;
  unsigned unused = 0;
  __get_cpuid(1, &signature, &unused, &unused, &unused);
  const unsigned family = (signature >> 8U & 0xfU) + (signature >> 20U & 0xffU);
  constexpr unsigned zen5 = 0x1a;
  return __builtin_cpu_is("amd") && family >= zen5;
}

}  // namespace
#endif

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
  if (isa == Isa::avx512) {
    IsaKernels kernels = avx512_loops();
    if (has_fast_vector_shifts()) kernels.sweeps = avx512_sweeps_in_order();
    return kernels;
  }
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
