#pragma once

#include <limits>

namespace wallheat {

/// PLACEHOLDER until the forecast branch is merged.
class CostModel {
 public:
  void observe(double updates, double seconds) {
    updates_ += updates;
    seconds_ += seconds;
  }
  [[nodiscard]] double predict_s(double updates) const {
    return updates_ > 0 ? updates * seconds_ / updates_ : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  double updates_ = 0;
  double seconds_ = 0;
};

}  // namespace wallheat
