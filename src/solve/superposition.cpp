#include "solve/superposition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/cell_statistics.hpp"
#include "solve/norms.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double infinite = std::numeric_limits<double>::infinity();

double largest_of(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = nan_max(largest, std::abs(value));
  return largest;
}

/// Returns a plan without a heat source, in which the wall with this nominal temperature is at 1 °C
/// and all other cells are at 0 °C.
FloorPlan unit_plan(const FloorPlan& plan, double kind) {
  FloorPlan unit{Grid<double>(plan.domain.rows, plan.domain.cols), plan.interior};
  for (std::size_t cell = 0; cell < plan.domain.cells.size(); ++cell)
    if (plan.interior.cells[cell] == 0 && plan.domain.cells[cell] == kind)
      unit.domain.cells[cell] = 1;
  return unit;
}

BoundedCells solved(const FloorPlan& plan, Solver& steady, const SolveParameters& limits) {
  const Solution solution = *steady.solve(plan, limits, {});
  return {interior_values(solution.field, plan.interior), solution.error_bound};
}

}  // namespace

BoundedCells Superposition::at(std::span<const double> temperatures) const {
  BoundedCells sum = now;
  double largest = largest_of(now.cells);
  for (std::size_t k = 0; k < walls.size(); ++k) {
    const double warmer = temperatures[k] - walls[k].nominal;
    if (warmer == 0) continue;
    const BoundedCells& each = walls[k].per_degree;
    for (std::size_t i = 0; i < sum.cells.size(); ++i) sum.cells[i] += warmer * each.cells[i];
    sum.bound += std::abs(warmer) * each.bound;
    largest += std::abs(warmer) * largest_of(each.cells);
  }
  // For each wall, a difference, a product and a sum are rounded, each by at most half an epsilon
  // times `largest`. The sum of the bounds is rounded, too.
  const auto roundings = static_cast<double>(walls.size());
  sum.bound += epsilon * (2 * roundings * largest + (2 * roundings + 1) * sum.bound);
  return sum;
}

Superposition solve_superposition(const FloorPlan& plan, const std::vector<double>& kinds,
                                  Solver& steady, const SolveParameters& limits) {
  Superposition result{solved(plan, steady, limits), {}};
  SolveParameters per_degree = limits;
  per_degree.accuracy /= nan_max(1, largest_magnitude(plan.domain, [&](std::size_t cell) {
                                   return plan.interior.cells[cell] == 0;
                                 }));
  for (const double kind : kinds) {
    const FloorPlan unit = unit_plan(plan, kind);
    const auto cells = static_cast<std::size_t>(
        std::count(unit.domain.cells.begin(), unit.domain.cells.end(), 1.0));
    result.walls.push_back({kind, cells, {std::vector<double>(result.now.cells.size()), 0}});
    if (cells > 0) result.walls.back().per_degree = solved(unit, steady, per_degree);
  }
  return result;
}

BoundedValue bounded_mean(std::span<const double> values, double bound) {
  const auto count = static_cast<double>(values.size());
  // In numpy_sum(), a value passes through at most 16 additions in its accumulator, 3 additions of
  // accumulators, 7 additions of halves, and one addition per chunk of 8192 values. The error is
  // at most the number of these additions times half an epsilon times the sum of the magnitudes
  // (Higham, "Accuracy and stability of numerical algorithms", 2002, section 4.2).
  const double roundings = 32 + count / 8192;
  return {numpy_sum(values) / count, bound + roundings * epsilon * largest_of(values)};
}

RequiredTemperature needed_temperature(const LinearInWall& value, double target) {
  const auto& [from, now, per_degree] = value;
  const double lacking = target - now.value;
  const double lowest = lacking - now.bound;
  const double highest = lacking + now.bound;
  // By the maximum principle, a warmer wall makes no cell colder.
  const double gentlest = nan_max(per_degree.value - per_degree.bound, 0);
  const double steepest = per_degree.value + per_degree.bound;
  // The difference, the bound, the divisor, the quotient and the sum are rounded.
  constexpr double roundings = 4;
  const auto wall = [&](double lack, double slope, double widen) {
    if (slope == 0 && !std::isnan(lack)) return lack > 0 ? infinite : -infinite;
    const double warmer = lack / slope;
    if (std::isinf(warmer)) return warmer;
    const double size = std::abs(value.from) + std::abs(warmer) +
                        (std::abs(target) + std::abs(value.now.value)) / slope;
    return value.from + warmer + widen * roundings * epsilon * size;
  };
  return {wall(lacking, nan_max(per_degree.value, 0), 0),
          wall(lowest, lowest > 0 ? steepest : gentlest, -1),
          wall(highest, highest > 0 ? gentlest : steepest, 1)};
}

std::vector<RequiredTemperature> needed_of_cells(const Superposition& superposition,
                                                 std::size_t wall, double target) {
  const auto& [now, now_bound] = superposition.now;
  const WallInfluence& influence = superposition.walls.at(wall);
  const auto& [rise, rise_bound] = influence.per_degree;
  std::vector<RequiredTemperature> needed;
  needed.reserve(now.size());
  for (std::size_t i = 0; i < now.size(); ++i)
    needed.push_back(needed_temperature(
        {influence.nominal, {now[i], now_bound}, {rise[i], rise_bound}}, target));
  return needed;
}

RequiredTemperature needed_for_count(std::span<const RequiredTemperature> each, std::size_t count) {
  std::vector<double> values(each.size());
  const auto lowest = [&](double RequiredTemperature::*part) {
    std::transform(each.begin(), each.end(), values.begin(),
                   [&](const RequiredTemperature& needed) { return needed.*part; });
    // NaN has no position in an order.
    if (std::any_of(values.begin(), values.end(), [](double one) { return std::isnan(one); }))
      return std::numeric_limits<double>::quiet_NaN();
    const auto chosen = values.begin() + static_cast<std::ptrdiff_t>(count - 1);
    std::nth_element(values.begin(), chosen, values.end());
    return *chosen;
  };
  return {lowest(&RequiredTemperature::value), lowest(&RequiredTemperature::lower),
          lowest(&RequiredTemperature::upper)};
}

std::size_t share_to_count(double share, std::size_t of) {
  // The share 0.07 of 100 is 7, although the rounded product is slightly larger.
  constexpr double rounding = 1e-9;
  const double count = std::ceil(share * static_cast<double>(of) - rounding);
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::max(count, 1.0)), 1, of);
}

}  // namespace wallheat
