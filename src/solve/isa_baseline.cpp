#include "solve/cpu/fused_sweeps.hpp"
#include "solve/isa.hpp"
#include "solve/steady/kernel_loops.hpp"

namespace wallheat {

IsaKernels baseline_loops() { return {sweeps_with<EvenOdd>(), all_kernels}; }

}  // namespace wallheat
