#pragma once

#include "solve/cpu/sweep.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// The sweeps of an instruction set that is available.
[[nodiscard]] Sweeps sweeps_for(Isa isa);

}  // namespace wallheat
