#include "solve/steady/isa_kernels.hpp"

namespace wallheat {

SteadyKernels steady_kernels_for(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return avx512_steady_kernels();
    case Isa::avx2:
      return avx2_steady_kernels();
    default:
      return baseline_steady_kernels();
  }
}

}  // namespace wallheat
