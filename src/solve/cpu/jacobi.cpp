#include <algorithm>
#include <cmath>
#include <string>

#include "solve/convergence.hpp"
#include "solve/cpu/active_blocks.hpp"
#include "solve/cpu/isa.hpp"
#include "wallheat/error.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

/// Sweeps that a pass makes at most.
constexpr std::size_t sweeps_a_pass = 64;

/// How many fronts a pass goes on by at a time, for grids of so many columns. The rows that it uses
/// meanwhile should stay in the second-level cache; the numbers were measured.
constexpr std::size_t fronts_at_a_time(std::size_t cols) { return cols > 1024 ? 16 : 64; }

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
    blocks_.assign(plan.interior, sweeps_.levels);
    fields_.resize(blocks_.size());
    current_ = fields_[0];
    odd_ = fields_[1];
    even_ = fields_[2];
    const Runs all = blocks_.runs(0, blocks_.fronts());
    // All three start alike: a sweep only writes blocks that hold interior cells.
    const bool fourfold = fourfold_is_exact(plan);
    blocks_.load(plan.domain, current_);
    std::copy_n(current_, blocks_.size(), even_);
    std::transform(current_, current_ + blocks_.size(), odd_,
                   [&](double value) { return fourfold ? 4 * value : value; });
    const auto sweep = fourfold ? sweeps_.fourfold : sweeps_.plain;
    const auto sweep_from_odd = fourfold ? sweeps_.with_delta_from_fourfold : sweeps_.with_delta;

    double largest_value = 0;
    for (const double value : plan.domain.cells)
      largest_value = std::max(largest_value, std::abs(value));
    Convergence convergence(limits.tolerance, limits.max_iterations, largest_value);
    while (!convergence.finished()) {
      const std::int64_t window = convergence.window();
      // From `current`, which is kept to go back to, to and fro between the other two. All sweeps
      // but the last are an odd number, so that it goes from `odd` to `even`.
      const double* from = current_;
      for (auto left = static_cast<std::size_t>(window - 1); left > 0;) {
        const std::size_t count = std::min(left, sweeps_a_pass);
        if (!make_pass(sweep, from, count, fronts_at_a_time(plan.domain.cols), control.stop))
          return std::nullopt;
        left -= count;
        from = even_;
      }
      if (control.stop.stop_requested()) return std::nullopt;
      const double delta =
          window == 1 ? sweeps_.with_delta(current_, even_, all) : sweep_from_odd(odd_, even_, all);
      if (!convergence.accept(delta)) continue;
      std::swap(current_, even_);
      if (control.progress) control.progress(convergence.iterations(), delta);
    }
    Solution result{plan.domain, convergence.iterations(), convergence.last_delta(),
                    convergence.converged()};
    blocks_.store(current_, result.field);
    return result;
  }

 private:
  /// Makes `count` sweeps, of which the first reads `start`, in groups of as many as are fused. The
  /// groups take turns, each with `step` fronts, at a distance of as many rows as it has levels:
  /// what it reads has just been finished by the group before. So a row is read from an outer cache
  /// once per pass. Two fields suffice: a sweep overwrites what the sweep before the last has made,
  /// and the last has gone past it. Returns false if a stop was requested.
  bool make_pass(decltype(Sweeps::plain) sweep, const double* start, std::size_t count,
                 std::size_t step, const std::stop_token& stop) {
    const auto levels = static_cast<std::size_t>(sweeps_.levels);
    const std::size_t fronts = blocks_.fronts();
    const std::size_t last_lag = (count - 1) / levels * levels;
    for (std::size_t front = 0; front < fronts + last_lag; front += step) {
      for (std::size_t lag = 0; lag <= last_lag; lag += levels) {
        if (stop.stop_requested()) return false;
        const std::size_t begin = std::max(front, lag) - lag;
        const std::size_t end = std::min(std::max(front + step, lag) - lag, fronts);
        if (begin >= end) continue;
        sweep({lag == 0 ? start : even_, odd_, even_}, blocks_.runs(begin, end),
              static_cast<int>(std::min(levels, count - lag)));
      }
    }
    return true;
  }

  Sweeps sweeps_;
  ActiveBlocks blocks_;
  CompactFields fields_;
  double* current_ = nullptr;
  double* odd_ = nullptr;
  double* even_ = nullptr;
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
