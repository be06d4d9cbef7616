#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "solve/cache_sizes.hpp"
#include "solve/isa.hpp"
#include "solve/padded_field.hpp"
#include "solve/stencil.hpp"
#include "wallheat/error.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

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

  /// Sweeps until the next look at delta.
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
    window_ = forecast < static_cast<double>(longest)
                  ? std::max<std::int64_t>(1, static_cast<std::int64_t>(0.9 * forecast))
                  : longest;
  }

 private:
  static constexpr std::int64_t longest = 256;
  double tolerance_;
  double margin_per_sweep_;
  double last_delta_ = std::numeric_limits<double>::quiet_NaN();
  std::int64_t window_ = 16;
  std::int64_t careful_ = 0;
};

/// How many sweeps to make in one pass. The rows in flight, of two fields, should fit the
/// first-level cache; where not even those of a few sweeps do, half of the second-level cache, with
/// many sweeps in a pass. (Strips of columns that do fit the first-level cache were slower: their
/// short rows defeat the prefetcher.)
std::int64_t sweeps_per_pass(std::size_t row_bytes) {
  constexpr std::size_t few = 4;
  constexpr std::size_t many = 32;
  const CacheSizes cache = cache_sizes();
  if (row_bytes * 2 * (few + 2) <= cache.first * 3 / 4) return few;
  const std::size_t rows = cache.second / 2 / (2 * row_bytes);
  return static_cast<std::int64_t>(std::clamp(rows, few + 2, many + 2) - 2);
}

class JacobiSolver final : public Solver {
 public:
  explicit JacobiSolver(Sweeps sweeps) : sweeps_(sweeps) {}

  std::optional<Solution> solve(const FloorPlan& plan, const Limits& limits,
                                std::stop_token stop) override {
    const PaddedLayout layout({plan.domain.rows, plan.domain.cols});
    segments_.assign(layout, plan.interior);
    const ActiveRows rows = segments_.view();
    const std::int64_t pass = sweeps_per_pass(segments_.mean_row_bytes());
    // All three start alike, so cells that no sweep writes hold the same in each.
    for (PaddedField& field : fields_) field.assign(layout, plan.domain);
    double* current = fields_[0].data();
    std::array<double*, 2> spare{fields_[1].data(), fields_[2].data()};

    double largest_value = 0;
    for (const double value : plan.domain.cells)
      largest_value = std::max(largest_value, std::abs(value));
    CheckSchedule schedule(limits.tolerance, largest_value);

    Solution result;
    result.last_delta = std::numeric_limits<double>::quiet_NaN();
    while (result.iterations < limits.max_iterations && !result.converged) {
      const std::int64_t window =
          std::min(schedule.window(), limits.max_iterations - result.iterations);
      // The sweeps go to and fro between the two spare fields; `current` is kept to go back to.
      const double* from = current;
      for (std::int64_t left = window - 1; left > 0;) {
        if (stop.stop_requested()) return std::nullopt;
        const int count = static_cast<int>(std::min(left, pass));
        sweeps_.plain({from, spare[0], spare[1]}, rows, count);
        left -= count;
        // The newest field becomes spare[1], so that the next sweep goes to spare[0].
        if (count % 2 == 1) std::swap(spare[0], spare[1]);
        from = spare[1];
      }
      if (stop.stop_requested()) return std::nullopt;
      const double delta = sweeps_.with_delta(from, spare[0], rows);
      if (window > 1 && !schedule.proves_unconverged(delta, window)) {
        schedule.repeat(window);
        continue;
      }
      std::swap(current, spare[0]);
      result.iterations += window;
      result.last_delta = delta;
      result.converged = has_converged(delta, limits.tolerance);
      schedule.advance(delta, window);
    }
    result.field = Grid<double>(plan.domain.rows, plan.domain.cols);
    field_holding(current).copy_to(layout, result.field);
    return result;
  }

 private:
  [[nodiscard]] const PaddedField& field_holding(const double* data) const {
    return *std::find_if(fields_.begin(), fields_.end(),
                         [&](const PaddedField& field) { return field.data() == data; });
  }

  Sweeps sweeps_;
  SegmentList segments_;
  std::array<PaddedField, 3> fields_{PaddedField(0), PaddedField(1), PaddedField(2)};
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
