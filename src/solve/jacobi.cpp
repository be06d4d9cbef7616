#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "solve/active_blocks.hpp"
#include "solve/cache_sizes.hpp"
#include "solve/isa.hpp"
#include "solve/stencil.hpp"
#include "wallheat/error.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

/// The largest number up to `most` >= 1 that is even or 1.
std::int64_t even_or_one(std::int64_t most) { return most == 1 ? 1 : most - most % 2; }

/// Chooses how many sweeps to run before delta is looked at again.
///
/// In exact arithmetic delta never rises from one iteration to the next (the largest row sum of |J|
/// is at most 1), so a delta that is still too large proves all before it too large. Rounding can
/// raise it by a little: `margin` bounds by how much, and a delta within it proves nothing.
class CheckSchedule {
 public:
  CheckSchedule(double tolerance, double largest_value)
      : tolerance_(tolerance),
        // One update rounds by at most 2.25 largest * epsilon / 2, a difference of two twice that
        // and its own rounding on top: 8 * largest * epsilon covers it with room to spare.
        margin_per_sweep_(8 * largest_value * std::numeric_limits<double>::epsilon()) {}

  /// Sweeps until the next look at delta: one or an even number.
  [[nodiscard]] std::int64_t window() const { return careful_ > 0 ? 1 : window_; }

  /// True where this delta proves that no iteration of the window has converged.
  [[nodiscard]] bool proves_unconverged(double delta, std::int64_t window) const {
    return delta >= tolerance_ + margin_per_sweep_ * static_cast<double>(window);
  }

  /// The window was taken back: its sweeps are repeated with a look at each.
  void repeat(std::int64_t window) { careful_ = window; }

  /// Sets the next window by extrapolating the decay of delta, which slows down as the fast modes
  /// die out: the forecast falls short of the true end and is seldom taken back.
  void advance(double delta, std::int64_t window) {
    if (careful_ > 0) {
      --careful_;
      return;
    }
    const double decay = std::log(last_delta_ / delta) / static_cast<double>(window);
    const double forecast = std::log(delta / tolerance_) / decay;
    last_delta_ = delta;
    // NaN and infinity (first window, no decay, tolerance 0) fall through to the longest window.
    window_ = longest;
    if (forecast < static_cast<double>(longest)) {
      const auto most = std::max<std::int64_t>(1, static_cast<std::int64_t>(0.9 * forecast));
      window_ = even_or_one(most);
    }
  }

 private:
  static constexpr std::int64_t longest = 256;
  double tolerance_;
  double margin_per_sweep_;
  double last_delta_ = std::numeric_limits<double>::quiet_NaN();
  std::int64_t window_ = 16;
  std::int64_t careful_ = 0;
};

/// How many sweeps, an even number, to make in one pass. The rows in flight, of two fields, should
/// fit the first-level cache with room to spare; where not even those of a few sweeps do, half of
/// the second-level cache, with many sweeps in a pass. The shares were measured.
int sweeps_per_pass(std::size_t row_bytes) {
  constexpr std::size_t few = 4;
  constexpr std::size_t many = 64;
  constexpr std::size_t neighbours = 2;  // rows that the last sweep reads ahead and behind
  const CacheSizes cache = cache_sizes();
  const auto fitting = [&](std::size_t bytes) {
    const std::size_t rows = bytes / (2 * std::max<std::size_t>(row_bytes, 1));
    return std::clamp<std::size_t>(rows, neighbours, many + neighbours) - neighbours;
  };
  std::size_t sweeps = fitting(cache.first * 11 / 20);
  if (sweeps < few)
    sweeps = fitting(cache.first * 3 / 4) >= few ? few : fitting(cache.second * 11 / 20);
  return static_cast<int>(std::max(sweeps - sweeps % 2, few));
}

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
                                const Watch& watch) override {
    blocks_.assign(plan.interior);
    const ActiveRows rows = blocks_.rows();
    const int pass = sweeps_per_pass(blocks_.mean_row_bytes());
    // All three start alike: a sweep only writes blocks that hold interior cells.
    const bool fourfold = fourfold_is_exact(plan);
    blocks_.load(plan.domain, 1, current_);
    blocks_.load(plan.domain, fourfold ? 4 : 1, odd_);
    blocks_.load(plan.domain, 1, even_);
    const auto sweep = fourfold ? sweeps_.fourfold : sweeps_.plain;
    const auto sweep_from_odd = fourfold ? sweeps_.with_delta_from_fourfold : sweeps_.with_delta;

    double largest_value = 0;
    for (const double value : plan.domain.cells)
      largest_value = std::max(largest_value, std::abs(value));
    CheckSchedule schedule(limits.tolerance, largest_value);

    Solution result;
    result.last_delta = std::numeric_limits<double>::quiet_NaN();
    while (result.iterations < limits.max_iterations && !result.converged) {
      const std::int64_t window =
          even_or_one(std::min(schedule.window(), limits.max_iterations - result.iterations));
      // From `current`, which is kept to go back to, to and fro between the other two. All sweeps
      // but the last are an odd number, so that it goes from `odd` to `even`.
      const double* from = current_.data();
      for (std::int64_t left = window - 1; left > 0;) {
        if (watch.stop.stop_requested()) return std::nullopt;
        const int count = static_cast<int>(std::min<std::int64_t>(left, pass));
        sweep({from, odd_.data(), even_.data()}, rows, count);
        left -= count;
        from = even_.data();
      }
      if (watch.stop.stop_requested()) return std::nullopt;
      const double delta = window == 1 ? sweeps_.with_delta(current_.data(), even_.data(), rows)
                                       : sweep_from_odd(odd_.data(), even_.data(), rows);
      if (window > 1 && !schedule.proves_unconverged(delta, window)) {
        schedule.repeat(window);
        continue;
      }
      std::swap(current_, even_);
      result.iterations += window;
      result.last_delta = delta;
      result.converged = has_converged(delta, limits.tolerance);
      schedule.advance(delta, window);
      if (watch.progress) watch.progress(result.iterations, delta);
    }
    result.field = plan.domain;
    blocks_.store(current_.data(), result.field);
    return result;
  }

 private:
  Sweeps sweeps_;
  ActiveBlocks blocks_;
  CompactField current_;
  CompactField odd_;
  CompactField even_;
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

std::unique_ptr<Solver> make_jacobi_solver(Isa isa) {
  const auto available = available_isas();
  if (std::find(available.begin(), available.end(), isa) == available.end()) {
    throw RunError("this processor has no " + std::string(to_string(isa)) +
                   "; choose another --isa or leave the choice to wallheat");
  }
  return std::make_unique<JacobiSolver>(sweeps_for(isa));
}

}  // namespace wallheat
