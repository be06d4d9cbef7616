#pragma once

#include <cstddef>
#include <span>
#include <vector>

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
  double nominal = 0;       ///< °C, the value of its cells in the plan
  std::size_t cells = 0;    ///< of this kind
  BoundedCells per_degree;  ///< the rise of each cell for each °C of the wall, 0 to 1
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
[[nodiscard]] Superposition solve_superposition(const FloorPlan& plan,
                                                const std::vector<double>& kinds, Solver& steady,
                                                const SolveParameters& limits);

struct BoundedValue {
  double value = 0;
  double bound = 0;  ///< it is not farther than that from the true one
};

/// A mean of values that may all be off by `bound`; its own bound takes in what the sum rounds.
[[nodiscard]] BoundedValue bounded_mean(std::span<const double> values, double bound);

/// The least temperature of a wall with which a goal is reached, and what it is proven to lie
/// between, in °C. Infinite: no temperature reaches it; minus infinite: any does.
struct RequiredTemperature {
  double value = 0;
  double lower = 0;
  double upper = 0;
};

/// Something in °C that is linear in a wall's temperature.
struct LinearInWall {
  double from = 0;          ///< °C: the wall's temperature
  BoundedValue now;         ///< what it is with that
  BoundedValue per_degree;  ///< what each °C of the wall adds, which is not negative
};

/// Which wall makes it at least `target`.
[[nodiscard]] RequiredTemperature needed_temperature(const LinearInWall& value, double target);

/// The same for each interior cell and the wall number `wall`, while the others are as they are.
[[nodiscard]] std::vector<RequiredTemperature> needed_of_cells(const Superposition& superposition,
                                                               std::size_t wall, double target);

/// The `count`-th lowest of these, counted from 1: with it `count` goals are reached.
/// What is proven of all holds for it, too: if no temperature is less than its `lower`, the k-th
/// lowest is not less than the k-th lowest of these.
[[nodiscard]] RequiredTemperature needed_for_count(std::span<const RequiredTemperature> each,
                                                   std::size_t count);

/// The least number that is at least this share of `of`: 0.95 of 20 is 19, of 21 it is 20.
[[nodiscard]] std::size_t share_to_count(double share, std::size_t of);

}  // namespace wallheat
