#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "solve/needed_temperature.hpp"
#include "wallheat/floor_plan.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// Values of a plan's interior cells, in row-major order, and how far from the true ones any of
/// them may be.
struct BoundedCells {
  std::vector<double> cells;
  double bound = 0;
};

/// What one kind of wall, the fixed cells of one value, does to a plan.
struct WallInfluence {
  double kind = 0;          ///< °C, the value of its cells in the plan
  std::size_t cells = 0;    ///< of this kind
  BoundedCells per_degree;  ///< by how much each cell rises for each °C of the wall, 0 to 1
};

/// A plan's steady state as a function of its walls' temperatures. The equations are linear, so
///   u = now + sum over kinds of (temperature - kind) per_degree
/// (principle of superposition), where `per_degree` is the steady state of the plan whose cells of
/// this kind are at 1, all others at 0, without the source. Cells beyond the grid stay at 0 °C.
struct Superposition {
  BoundedCells now;  ///< of the plan as it is, °C
  std::vector<WallInfluence> walls;

  /// The steady state with walls at these temperatures, in the order of `walls`, in °C. Its bound
  /// is the sum of those that go into it, and what rounding adds.
  [[nodiscard]] BoundedCells at(std::span<const double> temperatures) const;
};

/// Solves a plan once as it is, and once for each of these kinds of wall, of which it need not have
/// any. `steady` is a steady solver; `limits.accuracy` is that of the plan as it is, and what is
/// found for each °C is as accurate in relation to the plan's temperatures. Throws InputError as
/// the solver does.
[[nodiscard]] Superposition superposition_of(const FloorPlan& plan,
                                             const std::vector<double>& kinds, Solver& steady,
                                             const Limits& limits);

/// The cells of a grid of the plan's shape that are interior, in row-major order; and back: the
/// plan's fixed cells with these values at interior cells.
[[nodiscard]] std::vector<double> interior_of(const FloorPlan& plan, const Grid<double>& field);
[[nodiscard]] Grid<double> field_of(const FloorPlan& plan, std::span<const double> interior);

/// For each interior cell the least temperature of the wall number `wall` with which it is at least
/// at `target`, while the others are as they are.
[[nodiscard]] std::vector<NeededTemperature> needed_of_cells(const Superposition& superposition,
                                                             std::size_t wall, double target);

/// A mean of bounded values and its own bound: that of the values, and what the sum rounds.
struct BoundedMean {
  double value = 0;
  double bound = 0;
};
[[nodiscard]] BoundedMean bounded_mean(std::span<const double> values, double bound);

}  // namespace wallheat
