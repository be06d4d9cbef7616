#include "solve/cpu/jacobi.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "solve/convergence.hpp"
#include "solve/cpu/active_blocks.hpp"
#include "solve/heat_source.hpp"
#include "solve/isa.hpp"
#include "wallheat/error.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

class JacobiSolver final : public Solver {
 public:
  JacobiSolver(const SweepKernels& sweeps, std::int64_t first_check)
      : sweeps_(sweeps), first_check_(first_check) {}

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
    const bool with_source = !terms.cells.empty();
    blocks_.assign(plan.interior, sweeps_);
    fields_.resize(with_source ? 4 : 3, blocks_.size());
    current_ = fields_[0];
    odd_ = fields_[1];
    even_ = fields_[2];
    double* const source = with_source ? fields_[3] : nullptr;
    if (with_source) blocks_.load(terms, source);
    // All three fields start with the same values, because a sweep only writes blocks that contain
    // interior cells.
    blocks_.load(plan.domain, current_);
    std::copy_n(current_, blocks_.size(), odd_);
    std::copy_n(current_, blocks_.size(), even_);

    Convergence convergence = make_convergence(plan, terms, limits);
    convergence.set_next_check(first_check_);
    while (!convergence.finished()) {
      const std::int64_t window = convergence.sweeps_to_next_check();
      // The sweeps start from `current`, which is kept for a rollback, and alternate between the
      // other two fields. The number of sweeps before the last one is odd, so the last one goes
      // from `odd` to `even`.
      const double* from = current_;
      for (auto remaining = static_cast<std::size_t>(window - 1); remaining > 0;) {
        const std::size_t count = std::min(remaining, max_sweeps_per_pass);
        const bool made = blocks_.pass(
            count, control.stop, [&](std::size_t first, const BlockRuns& runs, int levels) {
              sweeps_.sweep({first == 0 ? from : even_, odd_, even_, source}, runs, levels);
            });
        if (!made) return std::nullopt;
        remaining -= count;
        from = even_;
      }
      if (control.stop.stop_requested()) return std::nullopt;
      // Make the last sweep of the check interval, and compute its delta.
      from = window == 1 ? current_ : odd_;
      double delta =
          sweeps_.sweep_with_delta({from, even_, even_, source}, blocks_.runs(0, blocks_.fronts()));
      if (limits.norm == Norm::l2) delta = distance_between(from, plan.domain, with_source);
      if (!convergence.accept(delta)) continue;
      std::swap(current_, even_);
      if (control.progress) control.progress(convergence.iterations(), delta);
    }
    Solution result{plan.domain, convergence.iterations(), convergence.last_delta(),
                    convergence.converged()};
    result.error_estimate = per_cell_estimate(convergence.error_estimate(), plan, limits.norm);
    blocks_.store(current_, result.field);
    return result;
  }

  /// Returns the 2-norm of even_ - from.
  double distance_between(const double* from, const Grid<double>& domain, bool is_transposed) {
    // Cells that the blocks do not store keep their values, so their difference is 0.
    before_ = after_ = Grid<double>(domain.rows, domain.cols);
    blocks_.store(from, before_);
    blocks_.store(even_, after_);
    return l2_distance_in_plan_order(after_, before_, is_transposed);
  }

  SweepKernels sweeps_;
  std::int64_t first_check_;
  ActiveBlocks blocks_;
  CompactFields fields_;
  double* current_ = nullptr;
  double* odd_ = nullptr;
  double* even_ = nullptr;
  Grid<double> before_;  ///< field before the last sweep, for the 2-norm
  Grid<double> after_;   ///< field after the last sweep
};

}  // namespace

std::unique_ptr<Solver> make_jacobi_solver(const SweepKernels& sweeps, std::int64_t first_check) {
  return std::make_unique<JacobiSolver>(sweeps, first_check);
}

std::unique_ptr<Solver> make_jacobi_solver(Isa isa) {
  return make_jacobi_solver(kernels_for(isa).sweeps);
}

}  // namespace wallheat
