#include "solve/steady/error_bound.hpp"

#include <cmath>
#include <limits>

#include "core/larger.hpp"
#include "solve/largest_value.hpp"
#include "solve/source.hpp"
#include "solve/steady/conjugate_gradients.hpp"
#include "solve/steady/rounding.hpp"

namespace wallheat {
namespace {

/// What the sum of a field's four neighbours and the source is above four times its value, at
/// interior cells.
struct Residuals {
  double largest = 0;  ///< either way
  double highest = -std::numeric_limits<double>::infinity();
};

Residuals residuals_of(const Grid<double>& field, const Grid<std::uint8_t>& interior,
                       const Grid<double>& terms) {
  const auto at = [&](std::size_t row, std::size_t col) {
    return row < field.rows && col < field.cols ? field(row, col) : 0.0;
  };
  Residuals found;
  for (std::size_t row = 0; row < field.rows; ++row) {
    for (std::size_t col = 0; col < field.cols; ++col) {
      if (interior(row, col) == 0) continue;
      // Row and column -1 wrap to the largest number, which `at` sees as outside, too.
      double sum = ((at(row, col - 1) + at(row, col + 1)) + at(row - 1, col)) + at(row + 1, col);
      if (!terms.cells.empty()) sum += terms(row, col);
      const double residual = sum - 4 * field(row, col);
      found.largest = larger(found.largest, std::abs(residual));
      found.highest = larger(found.highest, residual);
    }
  }
  return found;
}

}  // namespace

double proven_error_bound(const FloorPlan& plan, const Limits& limits, const Grid<double>& field) {
  const Grid<double> terms = plan.has_source() ? source_terms(plan, limits) : Grid<double>();
  Grid<double> w(plan.interior.rows, plan.interior.cols);
  ConjugateGradients gradients(baseline_steady_kernels());
  gradients.assign(plan.interior);
  gradients.solve_for_ones({});
  gradients.store(1, w);
  const double error =
      error_per_residual(largest_magnitude(w), residuals_of(w, plan.interior, {}).highest);
  const double largest = residuals_of(field, plan.interior, terms).largest;
  const double bound =
      error_bound_of(error, largest, largest_magnitude(field), largest_magnitude(terms));
  return std::isfinite(bound) ? bound : std::numeric_limits<double>::infinity();
}

}  // namespace wallheat
