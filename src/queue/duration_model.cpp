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
  latest_[learnt_ % window] = {updates, seconds};
  ++learnt_;
  constexpr std::size_t share = 8;  // the more is known, the less one plan changes
  if (latest_.size() < share || learnt_ % (latest_.size() / share) == 0) fit();
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

/// Tukey's resistant line: through the medians of the third with the least work and of the third
/// with the most. If plans are too few or too much alike to tell a constant, the line goes through
/// the origin.
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
  constexpr std::size_t enough = 3;  // in a third, so that one that was held up is not its median
  const double low = third >= enough ? middle_of(0, third, &Plan::updates) : 0;
  const double high = third >= enough ? middle_of(last, plans.size(), &Plan::updates) : 0;
  if (high > 2 * low) {
    const double rise_s =
        middle_of(last, plans.size(), &Plan::seconds) - middle_of(0, third, &Plan::seconds);
    slope_s_ = std::max(0.0, rise_s / (high - low));
    std::vector<double> rests;
    for (const Plan& plan : plans) rests.push_back(plan.seconds - slope_s_ * plan.updates);
    constant_s_ = std::max(0.0, median(std::move(rests)));
    if (constant_s_ > 0) return;
  }
  std::vector<double> slopes;
  for (const Plan& plan : plans)
    if (plan.updates > 0) slopes.push_back(plan.seconds / plan.updates);
  constant_s_ = slopes.empty() ? middle_of(0, plans.size(), &Plan::seconds) : 0;
  slope_s_ = slopes.empty() ? 0 : median(std::move(slopes));
}

}  // namespace wallheat
