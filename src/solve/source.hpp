#pragma once

#include "solve/convergence.hpp"
#include "wallheat/floor_plan.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// What an update adds to the sum of a cell's neighbours: spacing^2 f at interior cells, 0 at the
/// others, in °C; shape of the plan, which has a source. Throws InputError if an iterate could
/// become larger than largest_value, or if the square of the spacing is not a normal number.
[[nodiscard]] Grid<double> source_terms(const FloorPlan& plan, const Limits& limits);

/// A magnitude that nothing exceeds, in °C, of what such terms alone make from a start of 0; 0
/// where there are none.
[[nodiscard]] double largest_made_by(const Grid<double>& terms);

/// A magnitude that no value of an iterate exceeds, in °C, for a start field and what
/// source_terms() gives; nothing is added to the largest of the start field where there are none.
/// Throws InputError as check_values() does.
[[nodiscard]] double largest_iterate(const FloorPlan& plan, const Grid<double>& terms);

/// When the iteration of a plan ends; `terms` are source_terms(), or empty.
[[nodiscard]] Convergence convergence_of(const FloorPlan& plan, const Grid<double>& terms,
                                         const Limits& limits);

template <class T>
[[nodiscard]] Grid<T> transposed(const Grid<T>& grid) {
  Grid<T> turned(grid.cols, grid.rows);
  for (std::size_t row = 0; row < grid.rows; ++row)
    for (std::size_t col = 0; col < grid.cols; ++col) turned(col, row) = grid(row, col);
  return turned;
}

/// What solve(plan, terms) answers, without a source for no terms. With one it gets both
/// transposed: the order of the sum of updated_with_source() is the usual one with rows and columns
/// exchanged.
template <class Solve>
[[nodiscard]] std::optional<Solution> solve_with_terms(const FloorPlan& plan, const Limits& limits,
                                                       const Solve& solve) {
  if (!plan.has_source()) return solve(plan, Grid<double>());
  auto solution = solve(FloorPlan{transposed(plan.domain), transposed(plan.interior)},
                        transposed(source_terms(plan, limits)));
  if (solution) solution->field = transposed(solution->field);
  return solution;
}

}  // namespace wallheat
