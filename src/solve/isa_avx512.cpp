#include "solve/cpu/fused_sweeps.hpp"
#include "solve/isa.hpp"
#include "solve/steady/kernel_loops.hpp"

namespace wallheat {

IsaKernels avx512_loops() { return {all_sweeps, all_kernels}; }

}  // namespace wallheat
