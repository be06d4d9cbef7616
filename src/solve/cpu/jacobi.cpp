#include <algorithm>
#include <cmath>
#include <string>

#include "solve/convergence.hpp"
#include "solve/cpu/active_blocks.hpp"
#include "solve/distance.hpp"
#include "solve/source.hpp"
#include "wallheat/error.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

/// True where fields may be kept fourfold: no value can become so small or large that a factor of
/// four costs it digits.
///
/// Small values come of what spreads from the nearest fixed cell: at a distance of d cells, at
/// least 4^-d of its temperature, as nothing is negative and one path leads there; before it
/// arrives, a start value decays no faster. A row of interior cells that ends at a fixed cell above
/// zero bounds d by its length.
bool fourfold_is_exact(const FloorPlan& plan) {
  constexpr double least = 0x1p-20;
  constexpr double most = 0x1p+20;
  constexpr std::ptrdiff_t farthest = 480;  // 0x1p-20 * 4^-480 is far above the smallest normal
  const auto harmless = [](double value) {
    return value == 0 || (value >= least && value <= most);
  };
  if (!std::all_of(plan.domain.cells.begin(), plan.domain.cells.end(), harmless)) return false;
  for (std::size_t row = 0; row < plan.domain.rows; ++row) {
    const double* values = &plan.domain(row, 0);
    const std::uint8_t* begin = &plan.interior(row, 0);
    const std::uint8_t* end = begin + plan.domain.cols;
    const auto is_interior = [](std::uint8_t cell) { return cell != 0; };
    for (const std::uint8_t* cell = begin; cell != end;) {
      const std::uint8_t* first = std::find_if(cell, end, is_interior);
      const std::uint8_t* last = std::find_if_not(first, end, is_interior);
      const bool warm_end = (first != begin && values[first - begin - 1] > 0) ||
                            (last != end && values[last - begin] > 0);
      if (first != last && (!warm_end || last - first > farthest)) return false;
      cell = last;
    }
  }
  return true;
}

class JacobiSolver final : public Solver {
 public:
  explicit JacobiSolver(Sweeps sweeps) : sweeps_(sweeps) {}

  std::optional<Solution> solve(const FloorPlan& plan, const Limits& limits,
                                const SolveControl& control) override {
    if (!plan.has_source()) return iterate(plan, {}, limits, control);
    // The order of the sum is that of updated_with_source(), which is the usual one with rows and
    // columns exchanged.
    auto solution = iterate({transposed(plan.domain), transposed(plan.interior)},
                            transposed(source_terms(plan, limits)), limits, control);
    if (solution) solution->field = transposed(solution->field);
    return solution;
  }

 private:
  /// `terms`: what an update adds to the sum of the neighbours; then the plan is transposed.
  std::optional<Solution> iterate(const FloorPlan& plan, const Grid<double>& terms,
                                  const Limits& limits, const SolveControl& control) {
    const bool with_source = !terms.cells.empty();
    blocks_.assign(plan.interior, sweeps_);
    fields_.resize(with_source ? 4 : 3, blocks_.size());
    current_ = fields_[0];
    odd_ = fields_[1];
    even_ = fields_[2];
    source_ = with_source ? fields_[3] : nullptr;
    if (with_source) blocks_.load(terms, source_);
    const Runs all = blocks_.runs(0, blocks_.fronts());
    // All three start alike: a sweep only writes blocks that hold interior cells.
    const bool fourfold = !with_source && fourfold_is_exact(plan);
    blocks_.load(plan.domain, current_);
    std::copy_n(current_, blocks_.size(), even_);
    std::transform(current_, current_ + blocks_.size(), odd_,
                   [&](double value) { return fourfold ? 4 * value : value; });
    const auto sweep = with_source ? sweeps_.with_source
                       : fourfold  ? sweeps_.fourfold
                                   : sweeps_.plain;
    /// Makes the last sweep of a window and returns its delta.
    const auto look = [&](const double* from) {
      const bool from_fourfold = fourfold && from == odd_;
      const double largest = with_source ? sweeps_.with_source_and_delta(from, even_, source_, all)
                             : from_fourfold ? sweeps_.with_delta_from_fourfold(from, even_, all)
                                             : sweeps_.with_delta(from, even_, all);
      return limits.norm == Norm::max
                 ? largest
                 : distance_between(from, from_fourfold ? 0.25 : 1, plan.domain, with_source);
    };

    Convergence convergence = convergence_of(plan, terms, limits);
    while (!convergence.finished()) {
      const std::int64_t window = convergence.window();
      // From `current`, which is kept to go back to, to and fro between the other two. All sweeps
      // but the last are an odd number, so that it goes from `odd` to `even`.
      const double* from = current_;
      for (auto left = static_cast<std::size_t>(window - 1); left > 0;) {
        const std::size_t count = std::min(left, sweeps_a_pass);
        const bool made =
            blocks_.pass(count, control.stop, [&](std::size_t first, const Runs& runs, int levels) {
              sweep({first == 0 ? from : even_, odd_, even_, source_}, runs, levels);
            });
        if (!made) return std::nullopt;
        left -= count;
        from = even_;
      }
      if (control.stop.stop_requested()) return std::nullopt;
      const double delta = look(window == 1 ? current_ : odd_);
      if (!convergence.accept(delta)) continue;
      std::swap(current_, even_);
      if (control.progress) control.progress(convergence.iterations(), delta);
    }
    Solution result{plan.domain, convergence.iterations(), convergence.last_delta(),
                    convergence.converged()};
    result.error_estimate = estimate_of_a_cell(convergence.error_estimate(), plan, limits.norm);
    blocks_.store(current_, result.field);
    return result;
  }

  /// The 2-norm of even_ - factor * from.
  double distance_between(const double* from, double factor, const Grid<double>& domain,
                          bool is_transposed) {
    // What is not stored does not change.
    before_ = after_ = Grid<double>(domain.rows, domain.cols);
    blocks_.store(from, before_);
    blocks_.store(even_, after_);
    for (double& value : before_.cells) value *= factor;
    return is_transposed ? distance(transposed(after_), transposed(before_))
                         : distance(after_, before_);
  }

  Sweeps sweeps_;
  ActiveBlocks blocks_;
  CompactFields fields_;
  double* current_ = nullptr;
  double* odd_ = nullptr;
  double* even_ = nullptr;
  double* source_ = nullptr;
  Grid<double> before_;  ///< of which the 2-norm is computed
  Grid<double> after_;
};

}  // namespace

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return "baseline";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "unknown";
}

void require_isa(Isa isa) {
  const auto available = available_isas();
  if (std::find(available.begin(), available.end(), isa) == available.end()) {
    throw RunError("this processor has no " + std::string(to_string(isa)) +
                   "; choose another --isa or leave the choice to wallheat");
  }
}

std::unique_ptr<Solver> make_jacobi_solver(Isa isa) {
  require_isa(isa);
  return std::make_unique<JacobiSolver>(sweeps_for(isa));
}

}  // namespace wallheat
