#include "solve/steady/kernel_loops.hpp"

namespace wallheat {

SteadyKernels avx512_steady_kernels() { return all_kernels; }

}  // namespace wallheat
