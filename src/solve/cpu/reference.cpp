#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/cell_statistics.hpp"
#include "solve/heat_source.hpp"
#include "solve/stencil.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

/// Returns the error estimate of the other solvers, which compute only some of these deltas.
double estimate_of_others(Convergence convergence, const std::vector<double>& deltas) {
  while (!convergence.finished() && convergence.iterations() < std::ssize(deltas)) {
    // A delta after the end of `deltas` is unknown. NaN is not accepted, so the last check interval
    // is replayed sweep by sweep, as the other solvers do it.
    const auto last =
        static_cast<std::size_t>(convergence.iterations() + convergence.sweeps_to_next_check() - 1);
    (void)convergence.accept(last < deltas.size() ? deltas[last]
                                                  : std::numeric_limits<double>::quiet_NaN());
  }
  return convergence.error_estimate();
}

class ReferenceSolver final : public Solver {
 public:
  std::optional<Solution> solve(const FloorPlan& plan, const SolveParameters& limits,
                                const SolveControl& control) override {
    const std::size_t rows = plan.domain.rows;
    const std::size_t cols = plan.domain.cols;
    Solution result{plan.domain, 0, std::numeric_limits<double>::quiet_NaN(), false};
    Grid<double>& field = result.field;
    Grid<double> next = field;
    const Grid<double> terms = source_terms(plan, limits);
    std::vector<double> deltas;
    while (result.iterations < limits.max_iterations && !result.converged) {
      if (control.stop.stop_requested()) return std::nullopt;
      double delta = 0;
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t col = 0; col < cols; ++col) {
          if (plan.interior(row, col) == 0) continue;
          const double left = value_or_zero(field, row, col - 1);
          const double right = value_or_zero(field, row, col + 1);
          const double up = value_or_zero(field, row - 1, col);
          const double down = value_or_zero(field, row + 1, col);
          next(row, col) = plan.has_heat_source()
                               ? updated_with_source(left, right, up, down, terms(row, col))
                               : updated(left, right, up, down);
          delta = nan_max(delta, std::abs(next(row, col) - field(row, col)));
        }
      }
      if (limits.norm == Norm::l2) delta = l2_distance(next, field);
      std::swap(field.cells, next.cells);
      ++result.iterations;
      result.last_delta = delta;
      deltas.push_back(delta);
      result.converged = has_converged(delta, limits.tolerance);
      constexpr std::int64_t report_interval = 256;
      if (control.progress && result.iterations % report_interval == 0)
        control.progress(result.iterations, delta);
    }
    result.error_estimate = per_cell_estimate(
        estimate_of_others(make_convergence(plan, terms, limits), deltas), plan, limits.norm);
    return result;
  }
};

}  // namespace

std::unique_ptr<Solver> make_reference_solver() { return std::make_unique<ReferenceSolver>(); }

}  // namespace wallheat
