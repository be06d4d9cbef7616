#include "queue/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace wallheat {
namespace {

constexpr std::size_t window = 256;

/// Running sums of a weighted straight line.
struct Line {
  double w = 0, wu = 0, wuu = 0, ws = 0, wus = 0;

  void add(double weight, double updates, double seconds) {
    w += weight;
    wu += weight * updates;
    wuu += weight * updates * updates;
    ws += weight * seconds;
    wus += weight * updates * seconds;
  }

  struct Fit {
    double constant;
    double slope;
  };
  /// True where the plans differ enough in size to tell the constant from the slope: twice as much
  /// work in one half as in the other.
  [[nodiscard]] bool is_wide() const { return w * wuu - wu * wu > 0.1 * w * wuu; }
  /// The best line with neither number below 0, through the origin if there shall be no constant.
  [[nodiscard]] Fit best(bool with_constant) const {
    if (wuu == 0) return {ws / w, 0};
    const double spread = w * wuu - wu * wu;
    if (!with_constant || spread <= 0) return {0, wus / wuu};
    const Fit fit{(ws * wuu - wus * wu) / spread, (w * wus - wu * ws) / spread};
    if (fit.slope < 0) return {ws / w, 0};
    return fit.constant < 0 ? Fit{0, wus / wuu} : fit;
  }
};

}  // namespace

bool CostModel::observe(double updates_predicted, double seconds) {
  if (!std::isfinite(seconds) || seconds <= 0 || !std::isfinite(updates_predicted)) return false;
  const double predicted = predict_s(updates_predicted);
  // A prediction of 0, as for a plan without work before the constant is known, has no ratio.
  if (predicted > 0) ratios_.add(seconds / predicted);

  const Observation observation{updates_predicted, seconds};
  if (latest_.size() < window) {
    latest_.push_back(observation);
  } else {
    latest_[next_] = observation;
  }
  next_ = (next_ + 1) % window;
  // The more is known, the less one plan changes.
  const std::size_t share = observed_ < window ? 16 : 8;
  ++observed_;
  if (++since_fit_ * share < latest_.size()) return false;
  fit();
  return true;
}

double CostModel::predict_s(double updates) const { return constant_s_ + slope_s_ * updates; }

double CostModel::updates_within(double seconds) const {
  constexpr double any = std::numeric_limits<double>::infinity();
  if (std::isnan(constant_s_)) return any;
  if (slope_s_ > 0) return (seconds - constant_s_) / slope_s_;
  return constant_s_ <= seconds ? any : -1;
}

CostModel::Totals CostModel::latest() const {
  Totals totals;
  for (const auto& [updates, seconds] : latest_) {
    totals.seconds += seconds;
    totals.predicted_s += predict_s(updates);
  }
  return totals;
}

void CostModel::fit() {
  since_fit_ = 0;
  // Least squares of the relative error, then a few rounds with each plan weighted by the inverse
  // of its error, which tends to least absolute errors.
  Line line;
  for (const auto& [updates, seconds] : latest_)
    line.add(1 / (seconds * seconds), updates, seconds);
  // Two or three plans that were disturbed could deny that time grows with work.
  constexpr std::size_t few = 8;
  const bool with_constant = latest_.size() >= few && line.is_wide();
  Line::Fit best = line.best(with_constant);
  constexpr int rounds = 8;
  constexpr double least_error = 1e-3;  // relative: no plan's weight may become infinite
  for (int round = 0; round < rounds; ++round) {
    line = {};
    for (const auto& [updates, seconds] : latest_) {
      const double error = std::abs(best.constant + best.slope * updates - seconds) / seconds;
      line.add(1 / (seconds * seconds * std::max(error, least_error)), updates, seconds);
    }
    best = line.best(with_constant);
  }
  constant_s_ = best.constant;
  slope_s_ = best.slope;
}

namespace {

constexpr double log_of_step = 1e-3;
/// Of the middle of the ratios that this step counts.
double ratio_of(std::int32_t step) { return std::exp(log_of_step * step); }

/// The step at which the first `rank` + 1 of the counts, in order, end.
std::int32_t step_of_rank(const std::map<std::int32_t, std::size_t>& counts, std::size_t rank) {
  for (const auto& [step, count] : counts) {
    if (rank < count) return step;
    rank -= count;
  }
  return counts.rbegin()->first;
}

}  // namespace

void PredictionRatios::add(double ratio) {
  constexpr double most = 1e6;  // steps: what a clock that jumps makes of a ratio stays a number
  ++counts_[static_cast<std::int32_t>(
      std::lround(std::clamp(std::log(ratio) / log_of_step, -most, most)))];
}

void PredictionRatios::add(const PredictionRatios& others) {
  for (const auto& [step, count] : others.counts_) counts_[step] += count;
}

PredictionQuality PredictionRatios::quality() const {
  PredictionQuality quality;
  std::map<std::int32_t, std::size_t> factors;  // either way
  for (const auto& [step, count] : counts_) {
    quality.plans += count;
    factors[std::abs(step)] += count;
  }
  if (quality.plans == 0) return quality;
  quality.median_ratio = ratio_of(step_of_rank(counts_, quality.plans / 2));
  quality.factor_90 = ratio_of(step_of_rank(factors, (quality.plans * 9 + 9) / 10 - 1));
  quality.worst_factor = ratio_of(factors.rbegin()->first);
  return quality;
}

}  // namespace wallheat
