#pragma once

#include "solve/steady/kernels.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// The loops of an instruction set that is available.
[[nodiscard]] SteadyKernels steady_kernels_for(Isa isa);

}  // namespace wallheat
