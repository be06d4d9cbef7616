#pragma once

#include <memory>

#include "solve/cpu/sweep.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// Returns the Jacobi solver that uses these sweeps.
[[nodiscard]] std::unique_ptr<Solver> make_jacobi_solver(const SweepKernels& sweeps);

}  // namespace wallheat
