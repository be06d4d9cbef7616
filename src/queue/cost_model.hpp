#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace wallheat {

/// How good predictions were, as ratios actual / predicted. A prediction counts that was made
/// before the plan's own time was known.
struct PredictionQuality {
  std::size_t plans = 0;  ///< predictions that were put to the test; the ratios are NaN if none
  double median_ratio = std::numeric_limits<double>::quiet_NaN();
  /// Nine of ten ratios lie between its reciprocal and this factor, which is at least 1.
  double factor_90 = std::numeric_limits<double>::quiet_NaN();
  double worst_factor = std::numeric_limits<double>::quiet_NaN();  ///< the same for all
};

/// Ratios actual / predicted, of which there may be tens of millions: counted in steps of 0.1 %.
class PredictionRatios {
 public:
  /// A ratio above 0.
  void add(double ratio);
  void add(const PredictionRatios& others);
  [[nodiscard]] PredictionQuality quality() const;

 private:
  std::map<std::int32_t, std::size_t> counts_;  ///< by the number of steps above 1
};

/// Learns from finished plans how long others will take: seconds = constant + slope * updates, both
/// at least 0. The constant is what reading, hashing and storing a plan costs. It fits the latest
/// 256 plans by least absolute relative error, so that a few plans that were held up do not count,
/// and that a change of pace is followed. One model is for devices of one speed. It has no clock
/// and needs no order.
class CostModel {
 public:
  /// A plan of so many predicted updates took so long. Times that are not positive and finite, as a
  /// jumping clock gives them, are ignored. Returns true where the predictions are others now.
  bool observe(double updates_predicted, double seconds);
  /// NaN before the first observation.
  [[nodiscard]] double predict_s(double updates) const;
  /// The most updates that are predicted to end within so many seconds: infinite where no number
  /// is too much or nothing is known, negative where none is.
  [[nodiscard]] double updates_within(double seconds) const;
  /// What the latest plans took and what is predicted for them now. The predictions are those of a
  /// plan that nothing held up, so the sums differ where cores are shared.
  struct Totals {
    double seconds = 0;
    double predicted_s = 0;
  };
  [[nodiscard]] Totals latest() const;
  /// Of all predictions that were put to the test.
  [[nodiscard]] const PredictionRatios& ratios() const { return ratios_; }

 private:
  struct Observation {
    double updates;
    double seconds;
  };
  void fit();

  std::vector<Observation> latest_;  ///< a ring: after the last comes the first
  std::size_t next_ = 0;
  std::size_t since_fit_ = 0;
  std::size_t observed_ = 0;
  double constant_s_ = std::numeric_limits<double>::quiet_NaN();
  double slope_s_ = std::numeric_limits<double>::quiet_NaN();  ///< seconds an update
  PredictionRatios ratios_;
};

}  // namespace wallheat
