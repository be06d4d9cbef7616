#include "solve/cpu/jacobi.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "solve/convergence.hpp"
#include "solve/cpu/active_blocks.hpp"
#include "solve/heat_source.hpp"
#include "solve/isa.hpp"
#include "wallheat/error.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

/// The fields of a plan during the iteration.
class JacobiIteration {
 public:
  explicit JacobiIteration(const SweepKernels& sweeps) : sweeps_(sweeps) {}

  /// Starts with the field of `plan`. `terms` are its source_terms().
  void start(const FloorPlan& plan, const Grid<double>& terms) {
    with_source_ = !terms.cells.empty();
    blocks_.assign(plan.interior, sweeps_);
    fields_.resize(with_source_ ? 4 : 3, blocks_.size());
    current_ = fields_[0];
    odd_ = fields_[1];
    even_ = fields_[2];
    source_ = with_source_ ? fields_[3] : nullptr;
    if (with_source_) blocks_.load(terms, source_);
    // All three fields start with the same values, because a sweep only writes blocks that contain
    // interior cells.
    blocks_.load(plan.domain, current_);
    std::copy_n(current_, blocks_.size(), odd_);
    std::copy_n(current_, blocks_.size(), even_);
  }

  /// Makes `window` sweeps from the current field, which it keeps. Returns the delta of the last
  /// sweep in °C; nullopt if a stop was requested. `plan` is that of start().
  std::optional<double> sweep(std::int64_t window, const FloorPlan& plan, Norm norm,
                              const std::stop_token& stop) {
    // The sweeps start from `current`, which is kept for a rollback, and alternate between the
    // other two fields. The number of sweeps before the last one is odd, so the last one goes from
    // `odd` to `even`.
    const double* from = current_;
    for (auto remaining = static_cast<std::size_t>(window - 1); remaining > 0;) {
      const std::size_t count = std::min(remaining, max_sweeps_per_pass);
      const bool made =
          blocks_.pass(count, stop, [&](std::size_t first, const BlockRuns& runs, int levels) {
            sweeps_.sweep({first == 0 ? from : even_, odd_, even_, source_}, runs, levels);
          });
      if (!made) return std::nullopt;
      remaining -= count;
      from = even_;
    }
    if (stop.stop_requested()) return std::nullopt;
    from = window == 1 ? current_ : odd_;
    const double delta =
        sweeps_.sweep_with_delta({from, even_, even_, source_}, blocks_.runs(0, blocks_.fronts()));
    return norm == Norm::max ? delta : distance_between(from, plan.domain);
  }

  /// Makes the result of sweep() the current field.
  void accept() { std::swap(current_, even_); }

  /// Copies the interior cells of the current field into `grid`.
  void store(Grid<double>& grid) const { blocks_.store(current_, grid); }

 private:
  /// Returns the 2-norm of even_ - from.
  double distance_between(const double* from, const Grid<double>& domain) {
    // Cells that the blocks do not store keep their values, so their difference is 0.
    before_ = after_ = Grid<double>(domain.rows, domain.cols);
    blocks_.store(from, before_);
    blocks_.store(even_, after_);
    return l2_distance_in_plan_order(after_, before_, with_source_);
  }

  SweepKernels sweeps_;
  ActiveBlocks blocks_;
  CompactFields fields_;
  bool with_source_ = false;
  double* current_ = nullptr;
  double* odd_ = nullptr;
  double* even_ = nullptr;
  double* source_ = nullptr;
  Grid<double> before_;  ///< field before the last sweep, for the 2-norm
  Grid<double> after_;   ///< field after the last sweep
};

class JacobiSolver final : public Solver {
 public:
  explicit JacobiSolver(const SweepKernels& sweeps) : iteration_(sweeps) {}

  std::optional<Solution> solve(const FloorPlan& plan, const SolveParameters& limits,
                                const SolveControl& control) override {
    return solve_with_terms(plan, limits,
                            [&](const FloorPlan& transposed, const Grid<double>& terms) {
                              return iterate(transposed, terms, limits, control);
                            });
  }

 private:
  std::optional<Solution> iterate(const FloorPlan& plan, const Grid<double>& terms,
                                  const SolveParameters& limits, const SolveControl& control) {
    iteration_.start(plan, terms);
    Convergence convergence = make_convergence(plan, terms, limits);
    while (!convergence.finished()) {
      const auto delta =
          iteration_.sweep(convergence.sweeps_to_next_check(), plan, limits.norm, control.stop);
      if (!delta) return std::nullopt;
      if (!convergence.accept(*delta)) continue;
      iteration_.accept();
      if (control.progress) control.progress(convergence.iterations(), *delta);
    }
    Solution result{plan.domain, convergence.iterations(), convergence.last_delta(),
                    convergence.converged()};
    result.error_estimate = per_cell_estimate(convergence.error_estimate(), plan, limits.norm);
    iteration_.store(result.field);
    return result;
  }

  JacobiIteration iteration_;
};

}  // namespace

std::unique_ptr<Solver> make_jacobi_solver(const SweepKernels& sweeps) {
  return std::make_unique<JacobiSolver>(sweeps);
}

std::unique_ptr<Solver> make_jacobi_solver(Isa isa) {
  return make_jacobi_solver(kernels_for(isa).sweeps);
}

DeltaDecay make_delta_decay(const SweepKernels& sweeps, std::int64_t iterations) {
  return [iteration = std::make_shared<JacobiIteration>(sweeps), iterations](
             const FloorPlan& plan, const SolveParameters& limits) {
    std::array<double, 2> deltas{};
    const auto measure = [&](const FloorPlan& transposed, const Grid<double>& terms) {
      iteration->start(transposed, terms);
      deltas[0] = iteration->sweep(1, transposed, limits.norm, {}).value();
      iteration->accept();
      deltas[1] = iteration->sweep(iterations, transposed, limits.norm, {}).value();
      return std::optional<Solution>();  // the field is not needed
    };
    (void)solve_with_terms(plan, limits, measure);
    return deltas;
  };
}

}  // namespace wallheat
