#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace wallheat {

/// How long plans take on devices of one kind: seconds = constant + slope * updates, both at least
/// 0, learnt from the latest 256 plans by medians, so that plans that were held up do not count.
class DurationModel {
 public:
  /// Times that are not positive and finite, as a jumping clock gives them, are ignored.
  void add_sample(double updates, double seconds);
  /// NaN before the first plan.
  [[nodiscard]] double predict_seconds(double updates) const {
    return constant_s_ + slope_s_ * updates;
  }
  /// The most updates that take no longer than `seconds`: infinite if any number does or nothing is
  /// known, negative if even none takes longer.
  [[nodiscard]] double max_updates_within(double seconds) const;
  /// What the latest plans took, and what is predicted for them. As predictions are for plans that
  /// nothing holds up, the sums differ if cores are shared.
  struct Totals {
    double seconds = 0, predicted_s = 0;
  };
  [[nodiscard]] Totals recent_totals() const;

 private:
  struct Plan {
    double updates, seconds;
  };
  void fit();

  std::vector<Plan> latest_;  ///< a ring
  std::size_t learnt_ = 0;
  double constant_s_ = std::numeric_limits<double>::quiet_NaN();
  double slope_s_ = std::numeric_limits<double>::quiet_NaN();  ///< seconds an update
};

}  // namespace wallheat
