#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/larger.hpp"
#include "solve/distance.hpp"
#include "solve/source.hpp"
#include "solve/stencil.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

/// The error's estimate that other solvers make of the deltas that they look at.
class EstimateOfOthers {
 public:
  explicit EstimateOfOthers(const Convergence& convergence) : convergence_(convergence) {}

  void add(double delta) {
    window_.push_back(delta);
    if (static_cast<std::int64_t>(window_.size()) == convergence_.window()) end_window(delta);
  }
  /// After the last delta. The window in which the iteration ended is gone through once more.
  [[nodiscard]] double value() {
    if (!window_.empty()) end_window(std::numeric_limits<double>::quiet_NaN());
    return convergence_.error_estimate();
  }

 private:
  void end_window(double delta) {
    if (!convergence_.accept(delta))
      for (const double each : window_) (void)convergence_.accept(each);
    window_.clear();
  }

  Convergence convergence_;
  std::vector<double> window_;
};

class ReferenceSolver final : public Solver {
 public:
  std::optional<Solution> solve(const FloorPlan& plan, const Limits& limits,
                                const SolveControl& control) override {
    const std::size_t rows = plan.domain.rows;
    const std::size_t cols = plan.domain.cols;
    Solution result{plan.domain, 0, std::numeric_limits<double>::quiet_NaN(), false};
    Grid<double>& field = result.field;
    Grid<double> next = field;
    const Grid<double> terms = plan.has_source() ? source_terms(plan, limits) : Grid<double>();
    // The grid lies in a ring of zeros that is never updated.
    const auto at = [&](std::size_t row, std::size_t col) {
      return row < rows && col < cols ? field(row, col) : 0.0;
    };
    EstimateOfOthers estimate(convergence_of(plan, terms, limits));
    while (result.iterations < limits.max_iterations && !result.converged) {
      if (control.stop.stop_requested()) return std::nullopt;
      double delta = 0;
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t col = 0; col < cols; ++col) {
          if (plan.interior(row, col) == 0) continue;
          // Row and column -1 wrap to the largest number, which `at` sees as outside, too.
          const double left = at(row, col - 1);
          const double right = at(row, col + 1);
          const double up = at(row - 1, col);
          const double down = at(row + 1, col);
          next(row, col) = plan.has_source()
                               ? updated_with_source(left, right, up, down, terms(row, col))
                               : updated(left, right, up, down);
          delta = larger(delta, std::abs(next(row, col) - field(row, col)));
        }
      }
      if (limits.norm == Norm::l2) delta = distance(next, field);
      std::swap(field.cells, next.cells);
      ++result.iterations;
      result.last_delta = delta;
      estimate.add(delta);
      result.converged = has_converged(delta, limits.tolerance);
      constexpr std::int64_t report_interval = 256;
      if (control.progress && result.iterations % report_interval == 0)
        control.progress(result.iterations, delta);
    }
    result.error_estimate = estimate_of_a_cell(estimate.value(), plan, limits.norm);
    return result;
  }
};

}  // namespace

std::unique_ptr<Solver> make_reference_solver() { return std::make_unique<ReferenceSolver>(); }

}  // namespace wallheat
