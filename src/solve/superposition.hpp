#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "wallheat/floor_plan.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

// The steady state as a linear function of the wall temperatures.
//
// The wall with nominal temperature t consists of all fixed cells that have the value t in the
// plan. Because the equations are linear, the steady state u for other wall temperatures follows
// from a few solves (principle of superposition):
//
//     u = u0 + sum over walls of (temperature - nominal temperature) * unit response
//
// where u0 is the steady state of the plan, and the unit response of a wall is the steady state of
// the plan with 1 °C in the cells of this wall, 0 °C in all other fixed cells, and no heat source.
// Cells outside the grid are at 0 °C.

/// Values of the interior cells of a plan, in row-major order, with an error bound that holds for
/// each of them.
struct BoundedCells {
  std::vector<double> cells;
  double bound = 0;
};

/// Influence of one wall on the interior cells.
struct WallInfluence {
  double nominal = 0;       ///< nominal temperature in °C
  std::size_t cells = 0;    ///< number of its cells
  BoundedCells per_degree;  ///< unit response, from 0 to 1
};

/// The steady state of a plan as a function of its wall temperatures.
struct Superposition {
  BoundedCells now;  ///< steady state with the nominal temperatures, in °C
  std::vector<WallInfluence> walls;

  /// Returns the steady state for these wall temperatures in °C, which are in the order of `walls`.
  /// The error bound is the sum of the bounds of all terms, and of the rounding errors.
  [[nodiscard]] BoundedCells at(std::span<const double> temperatures) const;
};

/// Solves a plan with its nominal temperatures, and once for each of the walls with the nominal
/// temperatures `kinds`. The plan may lack some of these walls. `steady` must be a steady solver.
/// limits.accuracy is the accuracy of the plan's solution, in °C; unit responses have the same
/// accuracy relative to the temperatures of the plan. Throws InputError like the solver.
[[nodiscard]] Superposition solve_superposition(const FloorPlan& plan,
                                                const std::vector<double>& kinds, Solver& steady,
                                                const SolveParameters& limits);

/// A value with its error bound: the exact value is within `bound` of `value`.
struct BoundedValue {
  double value = 0;
  double bound = 0;
};

/// Returns the mean of values that all have the error bound `bound`. The bound of the result
/// includes the rounding errors of the sum.
[[nodiscard]] BoundedValue bounded_mean(std::span<const double> values, double bound);

/// The lowest wall temperature, in °C, that reaches a goal, with proven lower and upper bounds.
/// Infinity: no temperature reaches the goal; minus infinity: every temperature does.
struct RequiredTemperature {
  double value = 0;
  double lower = 0;
  double upper = 0;
};

/// A temperature that depends linearly on the temperature of a wall.
struct LinearInWall {
  double from = 0;          ///< temperature of the wall, in °C
  BoundedValue now;         ///< the dependent temperature at that wall temperature, in °C
  BoundedValue per_degree;  ///< its rise per °C of the wall; not negative
};

/// Returns the wall temperature at which `value` reaches `target`, in °C.
[[nodiscard]] RequiredTemperature needed_temperature(const LinearInWall& value, double target);

/// Returns for each interior cell the temperature of wall number `wall` at which the cell reaches
/// `target`, with the other walls at their nominal temperatures.
[[nodiscard]] std::vector<RequiredTemperature> needed_of_cells(const Superposition& superposition,
                                                               std::size_t wall, double target);

/// Returns the lowest temperature that reaches `count` (at least 1) of these goals: the `count`-th
/// smallest. Its bounds are the `count`-th smallest bounds, because if no element is below its
/// lower bound, the k-th smallest element is not below the k-th smallest lower bound.
[[nodiscard]] RequiredTemperature needed_for_count(std::span<const RequiredTemperature> each,
                                                   std::size_t count);

/// Returns the smallest integer that is at least share * of: 19 for 0.95 of 20, and 20 for 0.95
/// of 21.
[[nodiscard]] std::size_t share_to_count(double share, std::size_t of);

}  // namespace wallheat
