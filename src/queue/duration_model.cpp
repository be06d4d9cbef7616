#include "queue/duration_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/cell_statistics.hpp"

namespace wallheat {
namespace {

constexpr std::size_t window = 256;

}  // namespace

void DurationModel::add_sample(double updates, double seconds) {
  if (!std::isfinite(seconds) || seconds <= 0 || !std::isfinite(updates)) return;
  if (latest_.size() < window) latest_.emplace_back();
  latest_[sample_count_ % window] = {updates, seconds};
  ++sample_count_;
  constexpr std::size_t share = 8;  // fits again when an eighth of the samples is new
  if (latest_.size() < share || sample_count_ % (latest_.size() / share) == 0) fit();
}

double DurationModel::max_updates_within(double seconds) const {
  constexpr double any = std::numeric_limits<double>::infinity();
  if (std::isnan(constant_s_)) return any;
  if (slope_s_ > 0) return (seconds - constant_s_) / slope_s_;
  return constant_s_ <= seconds ? any : -1;
}

DurationModel::Totals DurationModel::recent_totals() const {
  Totals totals;
  for (const auto& [updates, seconds] : latest_) {
    totals.seconds += seconds;
    totals.predicted_s += predict_seconds(updates);
  }
  return totals;
}

/// Fits Tukey's resistant line: the slope is that between the medians of the third with the least
/// work and of the third with the most work. If the plans are too few or too similar to determine a
/// constant, the line passes through the origin.
void DurationModel::fit() {
  std::vector<Plan> plans = latest_;
  std::sort(plans.begin(), plans.end(),
            [](const Plan& a, const Plan& b) { return a.updates < b.updates; });
  const auto middle_of = [&](std::size_t from, std::size_t to, double Plan::*part) {
    std::vector<double> values;
    for (std::size_t i = from; i < to; ++i) values.push_back(plans[i].*part);
    return median(std::move(values));
  };
  const std::size_t third = plans.size() / 3;
  const std::size_t last = plans.size() - third;
  constexpr std::size_t min_third =
      3;  // so that one delayed plan cannot be the median of its third
  const double low = third >= min_third ? middle_of(0, third, &Plan::updates) : 0;
  const double high = third >= min_third ? middle_of(last, plans.size(), &Plan::updates) : 0;
  if (high > 2 * low) {
    const double rise_s =
        middle_of(last, plans.size(), &Plan::seconds) - middle_of(0, third, &Plan::seconds);
    slope_s_ = std::max(0.0, rise_s / (high - low));
    std::vector<double> residuals;
    for (const Plan& plan : plans) residuals.push_back(plan.seconds - slope_s_ * plan.updates);
    constant_s_ = std::max(0.0, median(std::move(residuals)));
    if (constant_s_ > 0) return;
  }
  std::vector<double> slopes;
  for (const Plan& plan : plans)
    if (plan.updates > 0) slopes.push_back(plan.seconds / plan.updates);
  constant_s_ = slopes.empty() ? middle_of(0, plans.size(), &Plan::seconds) : 0;
  slope_s_ = slopes.empty() ? 0 : median(std::move(slopes));
}

}  // namespace wallheat
