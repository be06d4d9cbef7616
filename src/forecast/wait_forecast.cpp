#include "forecast/wait_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace wallheat {

namespace {

/// Maximum number of waits that are used. More would describe the past, fewer would contain too few
/// long waits.
constexpr std::size_t max_used = 1000;
constexpr double tested_quantile = 0.95;

std::int64_t end_of(const Wait& wait) { return wait.eligible_s + wait.wait_s; }

/// Returns the bound from sorted waits. `longer(s)` is the number of other jobs that have waited
/// longer than s without a start; `rank` is quantile_rank().
template <class Rank, class Longer>
std::optional<double> bound_of(const std::vector<std::int64_t>& waits_s, Rank rank, Longer longer) {
  const std::size_t n = waits_s.size();
  std::size_t k = rank(n);
  if (k == 0) return std::nullopt;
  for (; k <= n; ++k) {
    // If there are as many others as waits, no rank suffices for a median, so the count is limited
    // to n.
    const std::size_t others = std::min<std::size_t>(longer(waits_s[k - 1]), n);
    const std::size_t needed = rank(n + others);
    if (needed != 0 && k >= needed) return static_cast<double>(waits_s[k - 1]);
  }
  return std::numeric_limits<double>::infinity();
}

std::size_t longer_than(const std::vector<std::int64_t>& ascending, std::int64_t seconds) {
  return static_cast<std::size_t>(ascending.end() - std::ranges::upper_bound(ascending, seconds));
}

/// Replays a history of waits in time order.
class History {
 public:
  explicit History(const std::vector<Wait>& waits) : waits_(waits) {}

  WaitForecast forecast() {
    std::vector<std::size_t> jobs(waits_.size());
    for (std::size_t job = 0; job < jobs.size(); ++job) jobs[job] = job;
    std::ranges::stable_sort(jobs, {}, [&](std::size_t job) { return waits_[job].eligible_s; });
    for (const std::size_t job : jobs) {
      const Wait& wait = waits_[job];
      advance_to(wait.eligible_s);
      judge(wait);
      (wait.started ? forecast_.jobs : forecast_.waiting) += 1;
      waiting_since_.insert(wait.eligible_s);
      ends_.emplace(end_of(wait), job);
    }
    advance_to(std::numeric_limits<std::int64_t>::max());
    forecast_.from_s = waits_[jobs.front()].eligible_s;
    forecast_.to_s = forecast_.used_from_s = waits_[jobs.back()].eligible_s;
    for (const std::size_t job : used_)
      forecast_.used_from_s = std::min(forecast_.used_from_s, waits_[job].eligible_s);
    forecast_.pending_waits_s.assign(unended_s_.begin(), unended_s_.end());
    return std::move(forecast_);
  }

 private:
  /// Processes all ends of waits before `now_s`.
  void advance_to(std::int64_t now_s) {
    for (now_s_ = now_s; !ends_.empty() && ends_.top().first < now_s; ends_.pop()) {
      const std::size_t job = ends_.top().second;
      const Wait& wait = waits_[job];
      waiting_since_.erase(waiting_since_.find(wait.eligible_s));
      if (wait.started) {
        use(job);
      } else {
        unended_.push_back(job);
        unended_s_.insert(wait.wait_s);
      }
    }
  }

  void use(std::size_t job) {
    std::vector<std::int64_t>& sorted = forecast_.waits_s;
    used_.push_back(job);
    if (used_.size() > max_used) {
      sorted.erase(std::ranges::lower_bound(sorted, waits_[used_.front()].wait_s));
      used_.pop_front();
    }
    sorted.insert(std::ranges::upper_bound(sorted, waits_[job].wait_s), waits_[job].wait_s);
    for (const std::int64_t since_s = end_of(waits_[used_.front()]);
         !unended_.empty() && end_of(waits_[unended_.front()]) < since_s; unended_.pop_front())
      unended_s_.erase(unended_s_.find(waits_[unended_.front()].wait_s));
  }

  /// Tests the bound on a job that becomes eligible now. A job is not tested if there is no finite
  /// bound yet, or if it did not start and has not waited longer than the bound.
  void judge(const Wait& wait) {
    const auto bound_s = bound_of(
        forecast_.waits_s, [this](std::size_t n) { return rank(n); },
        [this](std::int64_t seconds) { return waiting_longer_than(seconds); });
    if (!bound_s || std::isinf(*bound_s)) return;
    const bool holds = static_cast<double>(wait.wait_s) <= *bound_s;
    if (!wait.started && holds) return;
    ++forecast_.tested;
    forecast_.covered += holds ? 1 : 0;
  }

  /// Returns the number of jobs that are waiting now, or ended without a start, and that have
  /// waited longer than `seconds`. The two counts are limited to max_used each, because more do not
  /// matter.
  [[nodiscard]] std::size_t waiting_longer_than(std::int64_t seconds) const {
    std::size_t count = 0;
    for (auto since = waiting_since_.begin();
         since != waiting_since_.end() && now_s_ - *since > seconds && count < max_used; ++since)
      ++count;
    for (auto wait = unended_s_.rbegin();
         wait != unended_s_.rend() && *wait > seconds && count < max_used; ++wait)
      ++count;
    return count;
  }

  std::size_t rank(std::size_t n) {
    while (ranks_.size() <= n) ranks_.push_back(quantile_rank(ranks_.size(), tested_quantile));
    return ranks_[n];
  }

  using End = std::pair<std::int64_t, std::size_t>;  // time, and index of the job

  const std::vector<Wait>& waits_;
  std::int64_t now_s_ = 0;
  /// Ends of the waits that have begun.
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  /// Times of eligibility of the jobs that are waiting now.
  std::multiset<std::int64_t> waiting_since_;
  std::deque<std::size_t> used_;  ///< indices of jobs, in the order of their starts
  /// Indices of jobs that ended without a start since the first of these.
  std::deque<std::size_t> unended_;
  std::multiset<std::int64_t> unended_s_;  ///< their waits
  std::vector<std::size_t> ranks_;         ///< ranks for 0, 1, 2, ... samples
  WaitForecast forecast_;
};

}  // namespace

std::size_t quantile_rank(std::size_t n, double quantile) {
  constexpr double confidence = 0.95;
  // Uses logarithms, because the first of the probabilities may underflow.
  double log_probability = static_cast<double>(n) * std::log(quantile);
  double at_least_k = 0;
  for (std::size_t k = n; k > 0; --k) {
    at_least_k += std::exp(log_probability);
    if (at_least_k > 1 - confidence) return k < n ? k + 1 : 0;
    log_probability += std::log(static_cast<double>(k) / static_cast<double>(n - k + 1) *
                                (1 - quantile) / quantile);
  }
  return n == 0 ? 0 : 1;
}

std::optional<double> WaitForecast::bound_s(double quantile) const {
  return bound_of(
      waits_s, [&](std::size_t n) { return quantile_rank(n, quantile); },
      [&](std::int64_t seconds) { return longer_than(pending_waits_s, seconds); });
}

std::optional<double> WaitForecast::probability_within(std::int64_t seconds) const {
  constexpr std::size_t min_jobs = 5;
  const std::size_t longer = longer_than(waits_s, seconds);
  const std::size_t all = waits_s.size() + longer_than(pending_waits_s, seconds);
  if (all < min_jobs) return std::nullopt;
  return static_cast<double>(waits_s.size() - longer) / static_cast<double>(all);
}

WaitForecast forecast_waits(const std::vector<Wait>& waits) {
  if (waits.empty()) return {};
  return History(waits).forecast();
}

namespace {

/// Returns for each job whether it is a task of an array that starts within a minute of an earlier
/// task.
std::vector<bool> later_in_bursts(const std::vector<JobRecord>& jobs) {
  constexpr std::int64_t gap_s = 60;
  using Task = std::tuple<std::uint64_t, std::string_view, std::int64_t, std::size_t>;
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs[i].array != 0 && jobs[i].start_s != 0)
      tasks.emplace_back(jobs[i].array, jobs[i].partition, jobs[i].start_s, i);
  std::sort(tasks.begin(), tasks.end());
  std::vector<bool> is_later(jobs.size());
  for (std::size_t i = 1; i < tasks.size(); ++i) {
    const auto& [array, partition, start_s, job] = tasks[i];
    const auto& [array_before, partition_before, start_before_s, job_before] = tasks[i - 1];
    is_later[job] =
        array == array_before && partition == partition_before && start_s - start_before_s <= gap_s;
  }
  return is_later;
}

}  // namespace

std::size_t SizeClasses::of_hours(double hours) const {
  double bound = first;
  for (std::size_t k = 0; k + 1 < count; ++k, bound *= factor)
    if (k == 0 ? hours < bound : hours <= bound) return k;
  return count - 1;
}

std::optional<std::size_t> SizeClasses::of(const JobRecord& job) const {
  constexpr double hour_s = 3600;
  const double size = by_memory ? job.memory_bytes * 1e-9 : job.cpus;
  if (by_memory && size == 0) return std::nullopt;
  if (job.limit_s == 0) return count - 1;
  return of_hours(size * static_cast<double>(job.limit_s) / hour_s);
}

std::array<std::string, SizeClasses::count> SizeClasses::names() const {
  const char* const unit = by_memory ? "GB hours" : "CPU hours";
  const double second = first * factor;
  const double third = second * factor;
  return {fmt::format("< {:g} {}", first, unit), fmt::format("{:g} - {:g} {}", first, second, unit),
          fmt::format("{:g} - {:g} {}", second, third, unit),
          fmt::format("> {:g} {}", third, unit)};
}

JobWaits extract_waits(const JobListing& listing, const std::vector<std::string>& names,
                       const std::string& qos) {
  JobWaits all;
  JobCounts& counts = all.counts;
  std::map<std::string, PartitionWaits> partitions;
  const std::vector<bool> is_later = later_in_bursts(listing.jobs);
  for (std::size_t i = 0; i < listing.jobs.size(); ++i) {
    const JobRecord& job = listing.jobs[i];
    if (!qos.empty() && job.qos != qos) continue;
    if (!names.empty() && std::ranges::count(names, job.partition) == 0) continue;
    ++counts.records;
    const bool started = job.start_s != 0;
    const std::int64_t wait_s = (started ? job.start_s : job.last_seen_s) - job.eligible_s;
    if (is_later[i]) {
      ++counts.burst_duplicates;
    } else if (job.eligible_s == 0 || wait_s < 0) {
      ++counts.never_eligible;
    } else {
      ++(started ? counts.started : counts.waiting);
      partitions[job.partition].waits.push_back({job.eligible_s, wait_s, started, i});
    }
  }
  for (auto& [name, partition] : partitions) {
    partition.name = name;
    all.partitions.push_back(std::move(partition));
  }
  return all;
}

}  // namespace wallheat
