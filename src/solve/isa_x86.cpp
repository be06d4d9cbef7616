// What there is for x86-64 alone: the choice of an instruction set, and subnormal numbers.
#include <immintrin.h>

#include "solve/cpu/sweep.hpp"
#include "solve/steady/flush_subnormals.hpp"
#include "solve/steady/kernels.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

template <class Loops>
Loops chosen(Isa isa, Loops (*avx512)(), Loops (*avx2)(), Loops (*baseline)()) {
  return isa == Isa::avx512 ? avx512() : isa == Isa::avx2 ? avx2() : baseline();
}

}  // namespace

std::vector<Isa> available_isas() {
  std::vector<Isa> isas{Isa::baseline};
  if (__builtin_cpu_supports("avx2")) isas.push_back(Isa::avx2);
  if (__builtin_cpu_supports("avx512f")) isas.push_back(Isa::avx512);
  return isas;
}

Sweeps sweeps_for(Isa isa) { return chosen(isa, avx512_sweeps, avx2_sweeps, baseline_sweeps); }

SteadyKernels steady_kernels_for(Isa isa) {
  return chosen(isa, avx512_steady_kernels, avx2_steady_kernels, baseline_steady_kernels);
}

FlushSubnormals::FlushSubnormals() : before_(_mm_getcsr()) {
  constexpr unsigned flush_to_zero = 0x8000;
  constexpr unsigned denormals_are_zeros = 0x0040;
  _mm_setcsr(before_ | flush_to_zero | denormals_are_zeros);
}

FlushSubnormals::~FlushSubnormals() { _mm_setcsr(before_); }

}  // namespace wallheat
