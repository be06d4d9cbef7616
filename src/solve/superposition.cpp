#include "solve/superposition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/larger.hpp"
#include "solve/largest_value.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

double largest_of(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = larger(largest, std::abs(value));
  return largest;
}

/// The plan whose walls of this kind are at 1, all else at 0, without a source.
FloorPlan unit_plan(const FloorPlan& plan, double kind) {
  FloorPlan unit{Grid<double>(plan.domain.rows, plan.domain.cols), plan.interior};
  for (std::size_t cell = 0; cell < plan.domain.cells.size(); ++cell)
    if (plan.interior.cells[cell] == 0 && plan.domain.cells[cell] == kind)
      unit.domain.cells[cell] = 1;
  return unit;
}

BoundedCells solved(const FloorPlan& plan, Solver& steady, const Limits& limits) {
  const Solution solution = *steady.solve(plan, limits, {});
  return {interior_of(plan, solution.field), solution.bound};
}

}  // namespace

BoundedCells Superposition::at(std::span<const double> temperatures) const {
  BoundedCells sum = now;
  double largest = largest_of(now.cells);
  for (std::size_t k = 0; k < walls.size(); ++k) {
    const double warmer = temperatures[k] - walls[k].kind;
    if (warmer == 0) continue;
    const BoundedCells& each = walls[k].per_degree;
    for (std::size_t i = 0; i < sum.cells.size(); ++i) sum.cells[i] += warmer * each.cells[i];
    sum.bound += std::abs(warmer) * each.bound;
    largest += std::abs(warmer) * largest_of(each.cells);
  }
  // A difference, a product and a sum for each kind, each rounded by at most half an epsilon of no
  // more than `largest`; and the bounds' own sum.
  const auto roundings = static_cast<double>(walls.size());
  sum.bound += epsilon * (2 * roundings * largest + (2 * roundings + 1) * sum.bound);
  return sum;
}

Superposition superposition_of(const FloorPlan& plan, const std::vector<double>& kinds,
                               Solver& steady, const Limits& limits) {
  Superposition result{solved(plan, steady, limits), {}};
  Limits per_degree = limits;
  per_degree.accuracy /= larger(1, largest_magnitude(plan.domain, [&](std::size_t cell) {
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

std::vector<double> interior_of(const FloorPlan& plan, const Grid<double>& field) {
  std::vector<double> interior;
  interior.reserve(static_cast<std::size_t>(count_interior(plan)));
  for (std::size_t cell = 0; cell < field.cells.size(); ++cell)
    if (plan.interior.cells[cell] != 0) interior.push_back(field.cells[cell]);
  return interior;
}

Grid<double> field_of(const FloorPlan& plan, std::span<const double> interior) {
  Grid<double> field = plan.domain;
  std::size_t next = 0;
  for (std::size_t cell = 0; cell < field.cells.size(); ++cell)
    if (plan.interior.cells[cell] != 0) field.cells[cell] = interior[next++];
  return field;
}

std::vector<NeededTemperature> needed_of_cells(const Superposition& superposition, std::size_t wall,
                                               double target) {
  const auto& [now, now_bound] = superposition.now;
  const WallInfluence& influence = superposition.walls.at(wall);
  std::vector<NeededTemperature> needed;
  needed.reserve(now.size());
  for (std::size_t i = 0; i < now.size(); ++i)
    needed.push_back(needed_temperature({influence.kind, now[i], now_bound,
                                         influence.per_degree.cells[i], influence.per_degree.bound},
                                        target));
  return needed;
}

BoundedMean bounded_mean(std::span<const double> values, double bound) {
  const auto count = static_cast<double>(values.size());
  // numpy_sum() adds a value to at most 16 others in its lane, 3 lanes, 7 halves, and one stretch
  // of 8192 after the other (Higham, "Accuracy and stability of numerical algorithms", 2002,
  // section 4.2).
  const double roundings = 32 + count / 8192;
  return {numpy_sum(values) / count, bound + roundings * epsilon * largest_of(values)};
}

}  // namespace wallheat
