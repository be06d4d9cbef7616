#include "forecast/wait_forecast.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "forecast/change_detector.hpp"
#include "forecast/quantile_rank.hpp"
#include "forecast/wait_window.hpp"

namespace wallheat {
namespace {

constexpr double stated = 0.95;  // the quantile by which changes are found
constexpr std::size_t least_jobs = 5;

/// The places of those waits that fulfil a condition, ascending in a time.
template <class Condition, class Time>
std::vector<std::uint32_t> in_order(const std::vector<Wait>& waits, Condition condition,
                                    Time time) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> keyed;
  keyed.reserve(waits.size());
  for (std::size_t i = 0; i < waits.size(); ++i)
    if (condition(waits[i])) keyed.emplace_back(time(waits[i]), static_cast<std::uint32_t>(i));
  if (!std::is_sorted(keyed.begin(), keyed.end())) std::sort(keyed.begin(), keyed.end());
  std::vector<std::uint32_t> places;
  places.reserve(keyed.size());
  for (const auto& [key, place] : keyed) places.push_back(place);
  return places;
}

bool has_started(const Wait& wait) { return wait.started; }
std::int64_t eligible(const Wait& wait) { return wait.eligible_s; }
std::int64_t start(const Wait& wait) { return wait.eligible_s + wait.wait_s; }

}  // namespace

std::size_t WaitForecast::waiting_longer_than(std::int64_t seconds) const {
  const auto longer = std::upper_bound(unended_.begin(), unended_.end(), seconds);
  return static_cast<std::size_t>(unended_.end() - longer);
}

std::optional<double> WaitForecast::bound_s(double quantile) const {
  QuantileRank rank(quantile);
  // The higher the bound, the fewer wait longer, and the lower is the rank that it must have.
  std::size_t low = 1;
  std::size_t high = waits_.size() + 1;
  const auto suffices = [&](std::size_t k) {
    const std::size_t needed = rank.of(waits_.size() + waiting_longer_than(waits_[k - 1]));
    return needed != 0 && k >= needed;
  };
  if (rank.of(waits_.size()) == 0) return std::nullopt;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (suffices(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  if (low > waits_.size()) return std::numeric_limits<double>::infinity();
  return static_cast<double>(waits_[low - 1]);
}

std::optional<double> WaitForecast::chance_within(std::int64_t seconds) const {
  const std::size_t all = waits_.size() + waiting_longer_than(seconds);
  if (all < least_jobs) return std::nullopt;
  const auto within = std::upper_bound(waits_.begin(), waits_.end(), seconds) - waits_.begin();
  return static_cast<double>(within) / static_cast<double>(all);
}

WaitForecast forecast_waits(const std::vector<Wait>& waits,
                            const std::function<void(const StatedWait&)>& tell) {
  WaitForecast forecast;
  if (waits.empty()) return forecast;
  const auto by_eligible = in_order(waits, has_started, eligible);
  const auto by_start = in_order(waits, has_started, start);
  const auto [first, last] =
      std::minmax_element(waits.begin(), waits.end(),
                          [](const Wait& a, const Wait& b) { return a.eligible_s < b.eligible_s; });
  forecast.from_s = first->eligible_s;
  forecast.to_s = last->eligible_s;
  forecast.jobs = by_start.size();
  forecast.waiting = waits.size() - by_start.size();

  std::vector<std::int64_t> values;
  values.reserve(by_start.size());
  for (const std::uint32_t job : by_start) values.push_back(waits[job].wait_s);
  WaitWindow window(std::move(values));
  QuantileRank rank(stated);
  QuantileRank rank_75(0.75);
  Likeness likeness;
  ChangeDetector detector;
  constexpr std::int64_t untold = -1;
  std::vector<std::int64_t> told(waits.size(), untold);  // the bound of each job

  std::size_t started = 0;
  std::int64_t latest_change_s = forecast.from_s;
  const auto start_before = [&](std::int64_t now_s) {
    for (; started < by_start.size() && start(waits[by_start[started]]) < now_s; ++started) {
      window.add(waits[by_start[started]].wait_s);
    }
  };
  // Jobs are judged in the order in which they were told their bounds. In the order of their starts
  // the misses would come together whenever fewer jobs are submitted, as those that start late are
  // then the only ones left. A job is judged when it has started, or has waited for too long.
  std::size_t judged = 0;
  const auto judge = [&](std::size_t told_jobs, std::int64_t now_s) {
    for (; judged < told_jobs; ++judged) {
      const std::uint32_t job = by_eligible[judged];
      if (told[job] == untold) continue;
      if (std::min(start(waits[job]), eligible(waits[job]) + told[job]) >= now_s) return;
      likeness.add(std::min(waits[job].wait_s, now_s - eligible(waits[job])));
      // What was told before a change does not show that there is another one.
      if (eligible(waits[job]) < latest_change_s) continue;
      const auto keep = detector.add(waits[job].wait_s > told[job], likeness);
      if (!keep || *keep >= window.size()) continue;
      window.keep_latest(*keep);
      ++forecast.changes;
      latest_change_s = now_s;
    }
  };
  for (std::size_t next = 0; next < by_eligible.size(); ++next) {
    const std::uint32_t job = by_eligible[next];
    start_before(eligible(waits[job]));
    judge(next, eligible(waits[job]));
    const std::size_t known = window.size();
    if (const std::size_t k = rank.of(known); k != 0) {
      told[job] = window.ranked(k);
      ++forecast.scored;
      forecast.held += waits[job].wait_s <= told[job] ? 1 : 0;
    }
    if (tell && known >= least_jobs) {
      const std::size_t k_75 = rank_75.of(known);
      constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
      tell({job, static_cast<double>(window.ranked((known + 1) / 2)),
            k_75 == 0 ? unknown : static_cast<double>(window.ranked(k_75)),
            told[job] == untold ? unknown : static_cast<double>(told[job])});
    }
  }
  start_before(std::numeric_limits<std::int64_t>::max());

  const auto used = by_start.end() - static_cast<std::ptrdiff_t>(window.size());
  forecast.used_from_s = forecast.to_s;
  for (auto job = used; job != by_start.end(); ++job) {
    forecast.waits_.push_back(waits[*job].wait_s);
    forecast.used_from_s = std::min(forecast.used_from_s, waits[*job].eligible_s);
  }
  std::sort(forecast.waits_.begin(), forecast.waits_.end());
  // Those that did not start, since the first start that is used.
  const std::int64_t since = used == by_start.end() ? forecast.from_s : start(waits[*used]);
  for (const Wait& wait : waits)
    if (!wait.started && start(wait) >= since) forecast.unended_.push_back(wait.wait_s);
  std::sort(forecast.unended_.begin(), forecast.unended_.end());
  return forecast;
}

}  // namespace wallheat
