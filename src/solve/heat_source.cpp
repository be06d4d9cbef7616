#include "solve/heat_source.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/cell_statistics.hpp"
#include "core/text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

Grid<double> source_terms(const FloorPlan& plan, const SolveParameters& limits) {
  if (!plan.has_heat_source()) return {};
  const double area = limits.spacing * limits.spacing;
  if (!std::isnormal(area))
    throw InputError("its heat source cannot be used with a spacing of " +
                     format_repr(limits.spacing) +
                     ", whose square is beyond the range of double precision; use another "
                     "--spacing");
  Grid<double> terms(plan.source.rows, plan.source.cols);
  for (std::size_t cell = 0; cell < terms.cells.size(); ++cell)
    if (plan.interior.cells[cell] != 0) terms.cells[cell] = area * plan.source.cells[cell];
  if (!(iterate_magnitude_bound(plan, terms) <= max_magnitude))
    throw InputError("its heat source, with a spacing of " + format_repr(limits.spacing) +
                     ", could cause temperatures beyond 1e300 °C; use a smaller --spacing");
  return terms;
}

double source_magnitude_bound(const Grid<double>& terms) {
  if (terms.cells.empty()) return 0;
  // All rooms are inside a strip of this width w between walls at 0 °C. By the discrete maximum
  // principle, the temperatures that a heat source causes in the strip are upper bounds of those
  // that it causes in the rooms. A term of 1 in every cell causes w^2 / 8 in the middle of the
  // strip. A term of 1 in one cell causes at most 1/4 + ln(w) / (2 pi) there. (Green's function of
  // the strip, summed for widths up to 65536, is 0.06 less.)
  const double width = static_cast<double>(std::min(terms.rows, terms.cols)) + 1;
  double sum = 0;
  for (const double term : terms.cells) sum += std::abs(term);
  const double of_each = sum * (0.25 + std::log(width) / (2 * std::numbers::pi));
  const double largest = largest_magnitude(terms);
  return nan_min(largest * (width * width / 8), of_each);
}

double iterate_magnitude_bound(const FloorPlan& plan, const Grid<double>& terms) {
  const double largest = largest_magnitude(plan.domain);
  if (!(largest <= max_magnitude)) require_finite_values(plan.domain, "its initial field");
  return largest + source_magnitude_bound(terms);
}

Convergence make_convergence(const FloorPlan& plan, const Grid<double>& terms,
                             const SolveParameters& limits) {
  double largest = iterate_magnitude_bound(plan, terms);
  // Convergence bounds the rounding error of delta by a multiple of this magnitude. The 2-norm of
  // equal errors in all cells is the square root of the number of cells times as large. The
  // rounding error of the sum of squares, which is proportional to delta, is far smaller.
  if (limits.norm == Norm::l2)
    largest = nan_max(largest, limits.tolerance) *
              std::sqrt(static_cast<double>(plan.domain.cells.size()));
  return {limits.tolerance, limits.max_iterations, largest};
}

}  // namespace wallheat
