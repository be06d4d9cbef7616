#pragma once

#include <cstdint>

#include "core/result_columns.hpp"
#include "wallheat/grid.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// What a solve will cost, estimated from the plan before it is solved.
struct WorkEstimate {
  std::int64_t interior_cells = 0;
  std::int64_t iterations = 0;  ///< predicted, at most SolveParameters::max_iterations
  double updates = 0;           ///< jacobi's: their product; time is proportional to it
};

/// Predicts the work from the mask alone, in a few looks at each of its cells.
///
/// After a while the largest change of an iteration shrinks by the factor 1 - lambda / 4 each time,
/// lambda being the smallest eigenvalue of the five-point Laplacian of the rooms with zeros on all
/// that is fixed. The widest room decides: with D the largest Euclidean distance from an interior
/// cell to one that is not (or to the ring around the grid),
///
///     lambda = 3.85 / D^2
///     iterations = max(1, ln(20 °C * lambda / 4 / tolerance)) / -ln(1 - lambda / 4)
///
/// as some 20 °C of the start error lie in the slowest mode, and change by lambda / 4 of themselves
/// in an iteration. In the continuum lambda D^2 is 5.78 for a disc, 4.93 for a square and 2.47 for
/// an endless corridor; rooms with doors lie between. Both numbers are fitted to 72 generated plans
/// of 128 to 512 cells a side. On 60 others of these sizes the median of predicted / actual is 1.00
/// to 1.03, nine of ten are within a factor of 1.16 and all within 1.25; the three real plans are
/// within 1.12. Other wall temperatures enter by the logarithm only. A plan that is one corridor
/// takes up to twice as long as predicted, and so do most with tolerances above 0.01 °C.
///
/// That is jacobi's work. Of n iterations fastforward makes about 9.4 sqrt(n) sweeps, from 1000 on.
/// Not for steady.
[[nodiscard]] WorkEstimate estimate_work(const Grid<std::uint8_t>& interior,
                                         const SolveParameters& limits,
                                         SolverKind solver = SolverKind::jacobi);

/// The same for steady: a cell costs as much as 300 of jacobi's updates, whatever the plan looks
/// like.
[[nodiscard]] WorkEstimate estimate_steady_work(std::int64_t interior_cells,
                                                const SolveParameters& limits);

/// The square of D: the largest squared distance, in cells, from an interior cell to the nearest
/// cell that is not interior or lies outside the grid; 0 if no cell is interior.
[[nodiscard]] std::int64_t max_wall_distance_squared(const Grid<std::uint8_t>& interior);

}  // namespace wallheat
