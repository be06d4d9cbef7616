#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace wallheat {

/// Predicts how long plans take on devices of one type: seconds = constant + slope * updates, with
/// both parameters at least 0. They are fitted to the latest 256 plans by medians, so a minority of
/// delayed plans has no influence.
class DurationModel {
 public:
  /// Adds the duration of a plan. Ignores a time that is not positive and finite, which a clock
  /// that jumps may cause.
  void add_sample(double updates, double seconds);
  /// Returns the predicted duration of a plan; NaN before the first sample.
  [[nodiscard]] double predict_seconds(double updates) const {
    return constant_s_ + slope_s_ * updates;
  }
  /// Returns the largest work that takes no longer than `seconds`, in cell updates. Infinite if
  /// there is no such limit, or no sample; negative if even a plan without work takes longer.
  [[nodiscard]] double max_updates_within(double seconds) const;
  /// Sums over the latest plans: actual and predicted durations. A prediction is for a plan that
  /// nothing delays, so the sums differ if cores are shared.
  struct Totals {
    double seconds = 0, predicted_s = 0;
  };
  [[nodiscard]] Totals recent_totals() const;

 private:
  struct Plan {
    double updates, seconds;
  };
  void fit();

  std::vector<Plan> latest_;      ///< ring buffer
  std::size_t sample_count_ = 0;  ///< of all samples so far
  double constant_s_ = std::numeric_limits<double>::quiet_NaN();
  double slope_s_ = std::numeric_limits<double>::quiet_NaN();  ///< seconds per cell update
};

}  // namespace wallheat
