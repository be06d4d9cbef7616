#pragma once

#include <limits>

#include "wallheat/floor_plan.hpp"
#include "wallheat/solver.hpp"

// Error bounds that are computed from a residual, including all rounding errors.

namespace wallheat {

/// Returns a bound of the rounding error of a computed residual, sum of neighbours + source - 4 u,
/// for values with magnitudes up to `largest`. The additions round values up to 2, 3 and 4 times
/// `largest`, each by half an epsilon; the bound adds another half. A source term up to
/// `largest_source` is spacing^2 f, which is rounded twice, and its addition rounds values up to 4
/// times `largest` plus itself.
inline double residual_rounding_bound(double largest, double largest_source) {
  const double with_source = largest_source > 0 ? 2 * largest + 2 * largest_source : 0;
  return std::numeric_limits<double>::epsilon() * (5 * largest + with_source);
}

/// Returns a bound of the additional error caused by FlushSubnormals, in units of 1 / scale °C.
/// Each number below the smallest normal number becomes 0, before and after it is scaled: four
/// neighbours and a source, five results, and the stored value, which is used four times.
inline double flush_to_zero_bound(double scale) {
  constexpr double roundings = 4 + 1 + 5 + 4;
  return roundings * (1 + scale) * std::numeric_limits<double>::min();
}

/// Returns a factor W with the property that no cell is farther from the steady state than W times
/// the largest residual. For any w that is 0 in fixed cells, with A w >= c > 0 in interior cells,
/// |A e| <= r implies |e| <= w r / c, by the discrete maximum principle (Varga, "Matrix iterative
/// analysis", 1962, section 3.5: A is an M-matrix). So an approximate solution w of A w = 1
/// suffices. `largest_w` is the largest value of w, and `residual` the largest magnitude of 1 - A
/// w. Returns infinity if A w may not be positive.
inline double error_per_residual(double largest_w, double residual) {
  constexpr double slack = 1 + 4 * std::numeric_limits<double>::epsilon();
  const double lower = 1 - residual - residual_rounding_bound(largest_w, 1);
  return lower > 0 ? largest_w / lower * slack : std::numeric_limits<double>::infinity();
}

/// Returns the error bound of a field, in °C, given its largest residual, its largest magnitude,
/// and the largest source term.
inline double error_bound_of(double error_per_residual, double residual, double largest,
                             double largest_source) {
  constexpr double slack = 1 + 4 * std::numeric_limits<double>::epsilon();
  return error_per_residual * (slack * residual + residual_rounding_bound(largest, largest_source));
}

/// Returns a proven bound of the distance of a field from the steady state of a plan, in °C;
/// infinity if nothing can be proven. The proof does not depend on the correctness of a solver: the
/// residual is computed from the field, and the function w is computed by the steady solver, but
/// verified by simple loops. `field` has the shape of the plan and its values in fixed cells. Of
/// `limits`, only the spacing is used. Throws InputError like source_terms().
[[nodiscard]] double proven_error_bound(const FloorPlan& plan, const SolveParameters& limits,
                                        const Grid<double>& field);

}  // namespace wallheat
