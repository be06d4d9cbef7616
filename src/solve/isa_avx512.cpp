#include "solve/cpu/fused_sweeps.hpp"
#include "solve/isa.hpp"
#include "solve/steady/kernel_loops.hpp"

namespace wallheat {

IsaKernels avx512_loops() { return {sweeps_with<EvenOdd>(), all_kernels}; }
SweepKernels avx512_sweeps_in_order() { return sweeps_with<InOrder>(); }

}  // namespace wallheat
