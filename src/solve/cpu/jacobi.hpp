#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "solve/cpu/sweep.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// Returns the Jacobi solver that uses these sweeps.
[[nodiscard]] std::unique_ptr<Solver> make_jacobi_solver(const SweepKernels& sweeps);

/// Measures how fast delta decays if the Jacobi iteration continues from the field of a plan.
/// Returns the deltas, in °C and in the norm of the parameters, of the first iteration and of one
/// that is a number of iterations later. Throws InputError if the solver would.
using DeltaDecay = std::function<std::array<double, 2>(const FloorPlan&, const SolveParameters&)>;

/// Returns a DeltaDecay over `iterations` iterations, an even number. It keeps its memory from plan
/// to plan.
[[nodiscard]] DeltaDecay make_delta_decay(const SweepKernels& sweeps, std::int64_t iterations);

}  // namespace wallheat
