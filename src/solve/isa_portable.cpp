// What stands for isa_x86.cpp on other processors.
#include "solve/cpu/sweep.hpp"
#include "solve/steady/flush_subnormals.hpp"
#include "solve/steady/kernels.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

std::vector<Isa> available_isas() { return {Isa::baseline}; }

Sweeps sweeps_for(Isa) { return baseline_sweeps(); }
SteadyKernels steady_kernels_for(Isa) { return baseline_steady_kernels(); }

FlushSubnormals::FlushSubnormals() = default;
FlushSubnormals::~FlushSubnormals() { before_ = 0; }

}  // namespace wallheat
