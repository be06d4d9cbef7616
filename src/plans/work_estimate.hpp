#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/result_columns.hpp"
#include "plans/plan_source.hpp"
#include "wallheat/grid.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// Estimated work of a plan, computed before it is solved.
struct WorkEstimate {
  std::int64_t interior_cells = 0;
  std::int64_t iterations = 0;  ///< predicted, at most SolveParameters::max_iterations
  /// Cell updates, to which the time is proportional. For jacobi: interior_cells * iterations.
  double updates = 0;
};

/// Predicts the work of a solver from the mask alone. Reads each cell of the mask a few times.
///
/// After some iterations, the delta shrinks by the factor 1 - lambda / 4 per iteration. lambda is
/// the smallest eigenvalue of the five-point Laplacian on the interior cells, with zeros in all
/// fixed cells. The widest room determines it: with D the largest Euclidean distance from an
/// interior cell to a cell that is not interior (or to the border around the grid),
///
///     lambda = 3.85 / D^2
///     iterations = max(1, ln(20 °C * lambda / 4 / tolerance)) / -ln(1 - lambda / 4)
///
/// because the slowest mode contains about 20 °C of the initial error, and an iteration changes it
/// by the fraction lambda / 4. In the continuum, lambda D^2 is 5.78 for a disc, 4.93 for a square
/// and 2.47 for an infinite corridor; rooms with doors are between these. Both constants are fitted
/// to 72 generated plans with sides of 128 to 512 cells. On 60 other plans of these sizes, the
/// median of predicted / actual is 1.00 to 1.03, nine of ten plans are within a factor of 1.16, and
/// all are within 1.25; the three real plans are within 1.12. Other wall temperatures only change
/// the logarithm. A plan that consists of one corridor takes up to twice as long as predicted, and
/// so do most plans with a tolerance above 0.01 °C.
///
/// This is the work of jacobi. For n iterations, fastforward makes about 9.4 sqrt(n) sweeps if n is
/// at least 1000. Use estimate_steady_work() for steady.
[[nodiscard]] WorkEstimate estimate_work(const Grid<std::uint8_t>& interior,
                                         const SolveParameters& limits,
                                         SolverKind solver = SolverKind::jacobi);

/// Predicts the work of the steady solver: each interior cell costs as much as 300 cell updates of
/// jacobi, independently of the shape of the rooms.
[[nodiscard]] WorkEstimate estimate_steady_work(std::int64_t interior_cells,
                                                const SolveParameters& limits);

/// Estimates the work of a plan from its mask. Returns nullopt if the mask cannot be read; solving
/// the plan will then fail with an error message. Also returns nullopt for a plan of more than 2^24
/// cells (2^26 for the steady solver, which only counts interior cells), so that rank 0 needs
/// little memory however large a plan is.
[[nodiscard]] std::optional<WorkEstimate> estimate_plan(const PlanSource& source,
                                                        const std::string& id,
                                                        const SolveParameters& limits,
                                                        SolverKind solver);

/// Returns the square of D, in cells: the largest squared distance from an interior cell to the
/// nearest cell that is not interior or is outside the grid. Returns 0 if no cell is interior.
[[nodiscard]] std::int64_t max_wall_distance_squared(const Grid<std::uint8_t>& interior);

}  // namespace wallheat
