#include "solve/steady/error_bound.hpp"

#include <cmath>
#include <limits>

#include "core/cell_statistics.hpp"
#include "solve/heat_source.hpp"
#include "solve/isa.hpp"
#include "solve/steady/conjugate_gradients.hpp"

namespace wallheat {
namespace {

/// Returns the largest magnitude of the residual, sum of the four neighbours + source term - 4 u,
/// in the interior cells.
double largest_residual(const Grid<double>& field, const Grid<std::uint8_t>& interior,
                        const Grid<double>& terms) {
  double largest = 0;
  for (std::size_t row = 0; row < field.rows; ++row) {
    for (std::size_t col = 0; col < field.cols; ++col) {
      if (interior(row, col) == 0) continue;
      double sum =
          neighbour_sum(value_or_zero(field, row, col - 1), value_or_zero(field, row, col + 1),
                        value_or_zero(field, row - 1, col), value_or_zero(field, row + 1, col));
      if (!terms.cells.empty()) sum += terms(row, col);
      largest = nan_max(largest, std::abs(sum - 4 * field(row, col)));
    }
  }
  return largest;
}

}  // namespace

double proven_error_bound(const FloorPlan& plan, const SolveParameters& limits,
                          const Grid<double>& field) {
  const Grid<double> terms = source_terms(plan, limits);
  Grid<double> w(plan.interior.rows, plan.interior.cols);
  ConjugateGradients gradients(baseline_loops().steady);
  gradients.assign(plan.interior);
  gradients.solve_bound_function({});
  gradients.store(1, w);
  const Grid<double> ones(w.rows, w.cols, 1);
  const double error =
      error_per_residual(largest_magnitude(w), largest_residual(w, plan.interior, ones));
  const double largest = largest_residual(field, plan.interior, terms);
  const double bound =
      error_bound_of(error, largest, largest_magnitude(field), largest_magnitude(terms));
  return std::isfinite(bound) ? bound : std::numeric_limits<double>::infinity();
}

}  // namespace wallheat
