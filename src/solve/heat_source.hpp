#pragma once

#include "solve/convergence.hpp"
#include "solve/norms.hpp"
#include "wallheat/floor_plan.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// What an update adds to the sum of a cell's neighbours: spacing^2 f at interior cells, 0 at the
/// others, in °C; shape of the plan, or empty if it has no source. Throws InputError if an iterate
/// could become larger than max_magnitude, or if the square of the spacing is not a normal number.
[[nodiscard]] Grid<double> source_terms(const FloorPlan& plan, const SolveParameters& limits);

/// A magnitude, in °C, that no iterate from a start of 0 exceeds with these terms; 0 if they are
/// empty.
[[nodiscard]] double source_magnitude_bound(const Grid<double>& terms);

/// A magnitude, in °C, that no iterate of a plan exceeds with these source_terms(). Throws
/// InputError as require_finite_values() does.
[[nodiscard]] double iterate_magnitude_bound(const FloorPlan& plan, const Grid<double>& terms);

/// When the iteration of a plan with these source_terms() ends.
[[nodiscard]] Convergence make_convergence(const FloorPlan& plan, const Grid<double>& terms,
                                           const SolveParameters& limits);

template <class T>
[[nodiscard]] Grid<T> transposed(const Grid<T>& grid) {
  Grid<T> result(grid.cols, grid.rows);
  for (std::size_t row = 0; row < grid.rows; ++row)
    for (std::size_t col = 0; col < grid.cols; ++col) result(col, row) = grid(row, col);
  return result;
}

/// Returns what solve(plan, terms) returns. A plan with a source is transposed for it, as is the
/// answer: updated_with_source() adds as updated() does with rows and columns exchanged.
template <class Solve>
[[nodiscard]] std::optional<Solution> solve_with_terms(const FloorPlan& plan,
                                                       const SolveParameters& limits,
                                                       const Solve& solve) {
  if (!plan.has_heat_source()) return solve(plan, Grid<double>());
  auto solution = solve(FloorPlan{transposed(plan.domain), transposed(plan.interior)},
                        transposed(source_terms(plan, limits)));
  if (solution) solution->field = transposed(solution->field);
  return solution;
}

/// l2_distance(), added in the order of the plan, of fields that may be transposed as above.
[[nodiscard]] inline double l2_distance_in_plan_order(const Grid<double>& one,
                                                      const Grid<double>& other,
                                                      bool is_transposed) {
  return is_transposed ? l2_distance(transposed(one), transposed(other)) : l2_distance(one, other);
}

}  // namespace wallheat
