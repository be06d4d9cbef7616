#include "forecast/wait_forecast.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "forecast/change_detector.hpp"
#include "forecast/quantile_rank.hpp"
#include "forecast/wait_window.hpp"

namespace wallheat {
namespace {

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

using StatedWaitListener = std::function<void(const StatedWait&)>;

/// A history as it happened.
class QueueReplay {
 public:
  QueueReplay(const std::vector<Wait>& waits, const StatedWaitListener& tell)
      : waits_(waits),
        tell_(tell),
        by_eligible_(in_order(
            waits, [](const Wait&) { return true; }, eligible)),
        by_start_(in_order(waits, has_started, start)),
        window_(values_of(waits, by_start_)),
        told_(waits.size(), untold) {}

  WaitForecast run() {
    const auto [first, last] = std::ranges::minmax_element(waits_, {}, &Wait::eligible_s);
    forecast_.from_s = first->eligible_s;
    forecast_.to_s = last->eligible_s;
    forecast_.jobs = by_start_.size();
    forecast_.waiting = waits_.size() - by_start_.size();
    latest_change_s_ = forecast_.from_s;
    std::int64_t latest_s = forecast_.from_s;  // of what is known
    for (const Wait& wait : waits_) latest_s = std::max(latest_s, start(wait));
    for (std::size_t next = 0; next < by_eligible_.size(); ++next) {
      const std::uint32_t job = by_eligible_[next];
      start_before(eligible(waits_[job]));
      judge(next, eligible(waits_[job]));
      tell(job);
    }
    start_before(std::numeric_limits<std::int64_t>::max());
    judge(by_eligible_.size(), latest_s + 1);
    keep_what_is_used();
    return std::move(forecast_);
  }

 private:
  static constexpr std::int64_t untold = -1;

  static std::vector<std::int64_t> values_of(const std::vector<Wait>& waits,
                                             const std::vector<std::uint32_t>& jobs) {
    std::vector<std::int64_t> values;
    values.reserve(jobs.size());
    for (const std::uint32_t job : jobs) values.push_back(waits[job].wait_s);
    return values;
  }

  void start_before(std::int64_t now_s) {
    for (; started_ < by_start_.size() && start(waits_[by_start_[started_]]) < now_s; ++started_)
      window_.add(waits_[by_start_[started_]].wait_s);
  }

  /// Jobs are judged in the order in which they were told their bounds. In the order of their
  /// starts the misses would come together whenever fewer jobs are submitted, as those that start
  /// late are then the only ones left. A job is judged when it has started, or has waited for too
  /// long, whether it started later or never. What was cancelled before, or waits for less yet,
  /// tells nothing.
  void judge(std::size_t told_jobs, std::int64_t now_s) {
    for (; judged_ < told_jobs; ++judged_) {
      const std::uint32_t job = by_eligible_[judged_];
      const Wait& wait = waits_[job];
      if (told_[job] == untold) continue;
      if (std::min(start(wait), eligible(wait) + told_[job]) >= now_s) return;
      if (!is_known(job)) continue;
      likeness_.add(std::min(wait.wait_s, now_s - eligible(wait)));
      // What was told before a change does not show that there is another one.
      if (eligible(wait) < latest_change_s_) continue;
      const auto keep = detector_.add(wait.wait_s > told_[job], likeness_);
      if (!keep || *keep >= window_.size()) continue;
      window_.keep_latest(*keep);
      ++forecast_.changes;
      latest_change_s_ = now_s;
    }
  }

  /// Whether the bound that a job was told has held or failed.
  [[nodiscard]] bool is_known(std::uint32_t job) const {
    return waits_[job].started || waits_[job].wait_s > told_[job];
  }

  void tell(std::uint32_t job) {
    const std::size_t known = window_.size();
    if (const std::size_t k = rank_95_.of(known); k != 0) {
      told_[job] = window_.ranked(k);
      forecast_.scored += is_known(job) ? 1 : 0;
      forecast_.held += is_known(job) && waits_[job].wait_s <= told_[job] ? 1 : 0;
    }
    if (!tell_ || known < least_jobs || !waits_[job].started) return;
    const std::size_t k_75 = rank_75_.of(known);
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    tell_({job, static_cast<double>(window_.ranked((known + 1) / 2)),
           k_75 == 0 ? unknown : static_cast<double>(window_.ranked(k_75)),
           told_[job] == untold ? unknown : static_cast<double>(told_[job])});
  }

  void keep_what_is_used() {
    const auto used = by_start_.end() - static_cast<std::ptrdiff_t>(window_.size());
    forecast_.used_from_s = forecast_.to_s;
    for (auto job = used; job != by_start_.end(); ++job) {
      forecast_.waits_s.push_back(waits_[*job].wait_s);
      forecast_.used_from_s = std::min(forecast_.used_from_s, waits_[*job].eligible_s);
    }
    std::sort(forecast_.waits_s.begin(), forecast_.waits_s.end());
    // Those that did not start, since the first start that is used.
    const std::int64_t since = used == by_start_.end() ? forecast_.from_s : start(waits_[*used]);
    for (const Wait& wait : waits_)
      if (!wait.started && start(wait) >= since) forecast_.unended_s.push_back(wait.wait_s);
    std::sort(forecast_.unended_s.begin(), forecast_.unended_s.end());
  }

  const std::vector<Wait>& waits_;
  const StatedWaitListener& tell_;
  std::vector<std::uint32_t> by_eligible_;
  std::vector<std::uint32_t> by_start_;  ///< those that started
  WaitWindow window_;
  std::vector<std::int64_t> told_;  ///< the 95 % bound of each job, in s
  std::size_t started_ = 0;         ///< of by_start_
  std::size_t judged_ = 0;          ///< of by_eligible_
  std::int64_t latest_change_s_ = 0;
  QuantileRank rank_75_{0.75};
  QuantileRank rank_95_{0.95};  // its misses tell of changes
  Likeness likeness_;
  ChangeDetector detector_;
  WaitForecast forecast_;
};

}  // namespace

std::size_t WaitForecast::waiting_longer_than(std::int64_t seconds) const {
  const auto longer = std::upper_bound(unended_s.begin(), unended_s.end(), seconds);
  return static_cast<std::size_t>(unended_s.end() - longer);
}

std::optional<double> WaitForecast::bound_s(double quantile) const {
  QuantileRank rank(quantile);
  // The higher the bound, the fewer wait longer, and the lower is the rank that it must have.
  std::size_t low = 1;
  std::size_t high = waits_s.size() + 1;
  const auto suffices = [&](std::size_t k) {
    const std::size_t needed = rank.of(waits_s.size() + waiting_longer_than(waits_s[k - 1]));
    return needed != 0 && k >= needed;
  };
  if (rank.of(waits_s.size()) == 0) return std::nullopt;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (suffices(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  if (low > waits_s.size()) return std::numeric_limits<double>::infinity();
  return static_cast<double>(waits_s[low - 1]);
}

std::optional<double> WaitForecast::chance_within(std::int64_t seconds) const {
  const std::size_t all = waits_s.size() + waiting_longer_than(seconds);
  if (all < least_jobs) return std::nullopt;
  const auto within = std::upper_bound(waits_s.begin(), waits_s.end(), seconds) - waits_s.begin();
  return static_cast<double>(within) / static_cast<double>(all);
}

WaitForecast forecast_waits(const std::vector<Wait>& waits,
                            const std::function<void(const StatedWait&)>& tell) {
  if (waits.empty()) return {};
  return QueueReplay(waits, tell).run();
}

}  // namespace wallheat
