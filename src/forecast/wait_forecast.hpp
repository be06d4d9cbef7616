#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forecast/job_listing.hpp"

// Forecast of the wait of a job in a scheduler queue, from the waits of earlier jobs. A bound is
// one of the sorted waits; its confidence does not depend on the distribution of waits. README.md
// describes how often the bounds held in generated queues.

namespace wallheat {

/// The wait of one job. Times are in s since 1970.
struct Wait {
  std::int64_t eligible_s = 0;  ///< time from which the job could have started
  std::int64_t wait_s = 0;      ///< until it started, or was last seen waiting
  bool started = true;          ///< false: still waiting, or cancelled before it started
  std::size_t job = 0;          ///< index of its record in the listing
};

/// Forecast of the wait of a job, from the waits of others in the same queue.
struct WaitForecast {
  std::size_t jobs = 0;          ///< number of jobs that started
  std::size_t waiting = 0;       ///< number of jobs that did not start: still waiting, or cancelled
  std::int64_t from_s = 0;       ///< earliest eligibility of these jobs
  std::int64_t to_s = 0;         ///< latest eligibility
  std::int64_t used_from_s = 0;  ///< earliest eligibility of the jobs that are used
  /// Number of jobs for which a 95 % bound existed when they became eligible, and that started or
  /// have waited longer than the bound.
  std::size_t tested = 0;
  std::size_t covered = 0;  ///< of these, jobs for which the bound held
  /// Waits of the latest jobs that started, at most 1,000, ascending, in s. Bounds and
  /// probabilities are computed from them.
  std::vector<std::int64_t> waits_s = {};
  /// Waits of the jobs that were cancelled, or last seen waiting, after the first job of waits_s
  /// had started; ascending, in s.
  std::vector<std::int64_t> pending_waits_s = {};

  [[nodiscard]] std::size_t used() const { return waits_s.size(); }
  /// Returns an upper bound, with 95 % confidence (quantile_rank), of a quantile of the wait, in s.
  /// `quantile` is at least 0.5. Returns nullopt if too few jobs are used, and infinity if the
  /// bound exceeds all waits that have ended. A job that did not start counts as a longer wait if
  /// it has waited longer than the bound.
  [[nodiscard]] std::optional<double> bound_s(double quantile) const;
  /// Returns the share of jobs that wait at most `seconds`; nullopt if there are fewer than five
  /// jobs.
  [[nodiscard]] std::optional<double> probability_within(std::int64_t seconds) const;
};

/// Returns the rank of the sorted sample, of n samples, that bounds a quantile from above: the
/// smallest rank k, from 1, with P(Bin(n, quantile) <= k - 1) >= 0.95. This holds for every
/// distribution (Conover, Practical Nonparametric Statistics, 1999, chapter 3.2). Returns 0 if n
/// samples do not suffice: fewer than 59 for the quantile 0.95, fewer than 5 for the median.
[[nodiscard]] std::size_t quantile_rank(std::size_t n, double quantile);

/// Backtests and forecasts the waits of a queue (one partition, optionally one size class). Replays
/// its history in time order, so that the 95 % bound at each moment is tested on the jobs that
/// became eligible then. Returns the forecast for the end of the history, computed in the same way.
[[nodiscard]] WaitForecast forecast_waits(const std::vector<Wait>& waits);

/// Size classes of jobs by the requested core hours (cores times the time limit) or GB hours (10^9
/// bytes of memory times the time limit). The four classes are: below `first`, up to `first *
/// factor`, up to `first * factor^2`, and above.
struct SizeClasses {
  static constexpr std::size_t count = 4;
  double first = 4;
  double factor = 4;
  bool by_memory = false;

  /// Returns the class of a job. A job without a time limit is in the last class, because it
  /// requests more than any other. Returns nullopt if the memory is unknown.
  [[nodiscard]] std::optional<std::size_t> of(const JobRecord& job) const;
  [[nodiscard]] std::size_t of_hours(double hours) const;
  /// Returns "< 4 CPU hours", "4 - 16 CPU hours", ..., "> 64 CPU hours".
  [[nodiscard]] std::array<std::string, count> names() const;
};

/// Waits of one partition.
struct PartitionWaits {
  std::string name;
  std::vector<Wait> waits;
};

/// Numbers of jobs in a listing.
struct JobCounts {
  std::size_t records = 0;
  std::size_t started = 0;           ///< waits that ended with a start
  std::size_t waiting = 0;           ///< waits without a start: still waiting, or cancelled
  std::size_t burst_duplicates = 0;  ///< tasks of an array that started with another task
  std::size_t never_eligible = 0;    ///< held, dependent, or with contradictory times
};

/// Waits in a listing.
struct JobWaits {
  std::vector<PartitionWaits> partitions;  ///< ascending by name
  JobCounts counts;
};

/// Returns the waits in a listing. A wait is the time from a job's eligibility to its start,
/// without the time in which it was held or depended on other jobs. A job whose eligibility is
/// unknown has no wait. Each stay of a requeued job counts. If tasks of an array start at most one
/// minute after each other, only the first counts. Only jobs of these partitions and of this
/// quality of service count; empty: all jobs.
[[nodiscard]] JobWaits extract_waits(const JobListing& listing,
                                     const std::vector<std::string>& partitions = {},
                                     const std::string& qos = {});

}  // namespace wallheat
