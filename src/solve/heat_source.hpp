#pragma once

#include "solve/convergence.hpp"
#include "solve/norms.hpp"
#include "wallheat/floor_plan.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

// Support for plans with a heat source f, which solve -laplace(u) = f. The update of a cell with
// grid spacing h is u = (sum of the four neighbours + h^2 f) / 4.

/// Returns the terms h^2 f that an update adds to the sum of a cell's neighbours, in °C: an array
/// with the shape of the plan and zeros in fixed cells, or an empty one if the plan has no heat
/// source. Throws InputError if an iterate could exceed max_magnitude, or if h^2 is not a normal
/// number.
[[nodiscard]] Grid<double> source_terms(const FloorPlan& plan, const SolveParameters& limits);

/// Returns a magnitude, in °C, that no iterate exceeds if the iteration starts at 0 with these
/// terms. Returns 0 if there are no terms.
[[nodiscard]] double source_magnitude_bound(const Grid<double>& terms);

/// Returns a magnitude, in °C, that no iterate of the plan with these source_terms() exceeds.
/// Throws InputError like require_finite_values().
[[nodiscard]] double iterate_magnitude_bound(const FloorPlan& plan, const Grid<double>& terms);

/// Returns the convergence criterion of a plan with these source_terms().
[[nodiscard]] Convergence make_convergence(const FloorPlan& plan, const Grid<double>& terms,
                                           const SolveParameters& limits);

template <class T>
[[nodiscard]] Grid<T> transposed(const Grid<T>& grid) {
  Grid<T> result(grid.cols, grid.rows);
  for (std::size_t row = 0; row < grid.rows; ++row)
    for (std::size_t col = 0; col < grid.cols; ++col) result(col, row) = grid(row, col);
  return result;
}

/// Calls solve(plan, terms) and returns its result. A plan with a heat source is transposed before,
/// and its field is transposed back, because updated_with_source() adds the neighbours in the order
/// in which updated() adds them with rows and columns exchanged.
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

/// Returns l2_distance(one, other), with the sum in the order of the plan. `is_transposed` states
/// that both fields are transposed as above.
[[nodiscard]] inline double l2_distance_in_plan_order(const Grid<double>& one,
                                                      const Grid<double>& other,
                                                      bool is_transposed) {
  return is_transposed ? l2_distance(transposed(one), transposed(other)) : l2_distance(one, other);
}

}  // namespace wallheat
