#pragma once

#include <limits>

#include "wallheat/floor_plan.hpp"
#include "wallheat/solver.hpp"

// How a residual bounds the error, rounding included.

namespace wallheat {

/// The most that a computed sum of neighbours + source - 4 u can be wrong, for values up to
/// `largest`: the additions round values up to 2, 3 and 4 times that, each by half an epsilon; and
/// a half more for good measure. A source up to `largest_source` is spacing^2 f, rounded twice, and
/// its addition rounds values up to 4 times the largest and itself.
inline double residual_rounding_bound(double largest, double largest_source) {
  const double with_source = largest_source > 0 ? 2 * largest + 2 * largest_source : 0;
  return std::numeric_limits<double>::epsilon() * (5 * largest + with_source);
}

/// What FlushSubnormals adds to that, in units of 1 / scale °C. A number below the least
/// normal one counts as 0, before it is scaled and after: four neighbours and a source, five
/// results and the value that is stored, which counts four times.
inline double flush_to_zero_bound(double scale) {
  constexpr double roundings = 4 + 1 + 5 + 4;
  return roundings * (1 + scale) * std::numeric_limits<double>::min();
}

/// A factor W so that no cell is farther than W times the largest residual from the steady state:
/// for any w that is 0 outside the rooms with A w >= c > 0 inside, |A e| <= r means |e| <= w r / c,
/// by the discrete maximum principle (Varga, "Matrix iterative analysis", 1962, section 3.5: A is
/// an M-matrix). So w, about the solution of A w = 1, need not be precise. The
/// arguments are its largest value and the largest residual, 1 - A w either way. Infinite if A w
/// may not be positive.
inline double error_per_residual(double largest_w, double residual) {
  constexpr double slack = 1 + 4 * std::numeric_limits<double>::epsilon();
  const double least = 1 - residual - residual_rounding_bound(largest_w, 1);
  return least > 0 ? largest_w / least * slack : std::numeric_limits<double>::infinity();
}

/// How far from the steady state a cell of a field can be, of which the largest residual and the
/// largest value are given, and the largest value of the source.
inline double error_bound_of(double error_per_residual, double residual, double largest,
                             double largest_source) {
  constexpr double slack = 1 + 4 * std::numeric_limits<double>::epsilon();
  return error_per_residual * (slack * residual + residual_rounding_bound(largest, largest_source));
}

/// Proves how far a field can be from a plan's steady state: no cell is farther than this, in °C.
/// It takes nothing on trust: the residual is computed from the field, and the function that turns
/// it into a bound (see steady.cpp) is found by the steady solver, but checked here, by plain
/// loops.
/// `field` has the plan's shape; its fixed cells are the plan's. Of the limits, only the spacing
/// matters. Infinite if nothing is proven. Throws InputError as source_terms() does.
[[nodiscard]] double proven_error_bound(const FloorPlan& plan, const SolveParameters& limits,
                                        const Grid<double>& field);

}  // namespace wallheat
