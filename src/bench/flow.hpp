#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "wallheat/floor_plan.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// Makes the solver of one of several threads; called in that thread.
using SolverFactory = std::function<std::unique_ptr<Solver>(std::size_t thread)>;

/// Plans from memory that went through several solvers at a time, one host thread each.
struct Flow {
  std::size_t in_flight = 0;  ///< solvers
  std::size_t plans = 0;
  double seconds = 0;
  double updates = 0;  ///< of interior cells
  [[nodiscard]] double plans_per_s() const { return static_cast<double>(plans) / seconds; }
  [[nodiscard]] double updates_per_s() const { return updates / seconds; }
};

/// Solves these plans again and again, `count` at least, and for at least `least_s`. Each solver
/// first makes one iteration, untimed. Throws what solvers throw.
[[nodiscard]] Flow measure_flow(std::size_t in_flight, std::size_t count, double least_s,
                                const SolverFactory& make_solver,
                                const std::vector<FloorPlan>& plans, const Limits& limits);

}  // namespace wallheat
