#include "solve/steady/kernel_loops.hpp"

namespace wallheat {

SteadyKernels avx2_steady_kernels() { return all_kernels; }

}  // namespace wallheat
