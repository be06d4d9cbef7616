#include "solve/steady/isa_kernels.hpp"

namespace wallheat {

SteadyKernels steady_kernels_for(Isa) { return baseline_steady_kernels(); }

}  // namespace wallheat
