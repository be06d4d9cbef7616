#include "solve/cpu/isa.hpp"

namespace wallheat {

std::vector<Isa> available_isas() {
  std::vector<Isa> isas{Isa::baseline};
  if (__builtin_cpu_supports("avx2")) isas.push_back(Isa::avx2);
  if (__builtin_cpu_supports("avx512f")) isas.push_back(Isa::avx512);
  return isas;
}

Sweeps sweeps_for(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return avx512_sweeps();
    case Isa::avx2:
      return avx2_sweeps();
    case Isa::baseline:
      break;
  }
  return baseline_sweeps();
}

}  // namespace wallheat
