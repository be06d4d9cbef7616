#pragma once

#include <cstdint>
#include <memory>

#include "solve/convergence.hpp"
#include "solve/cpu/sweep.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// Returns the Jacobi solver that uses these sweeps. Its first convergence check, whose delta it
/// passes to SolveControl::progress, is after `first_check` sweeps: 1 or an even number. Only the
/// error estimate depends on this number.
[[nodiscard]] std::unique_ptr<Solver> make_jacobi_solver(
    const SweepKernels& sweeps, std::int64_t first_check = Convergence::first_check_interval);

}  // namespace wallheat
