#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forecast/job_listing.hpp"

namespace wallheat {

/// What is known of how long a job waited, in s since 1970.
struct Wait {
  std::int64_t eligible_s = 0;  ///< from then on it could have started
  std::int64_t wait_s = 0;      ///< until it started, or until it was last seen waiting
  bool started = true;          ///< false: it waits still, or was cancelled before it started
  std::size_t job = 0;          ///< its record, among those of a listing
};

/// How long a job will wait, by what others waited in the same queue.
struct WaitForecast {
  std::size_t jobs = 0;          ///< that started
  std::size_t waiting = 0;       ///< that did not: they wait, or were cancelled
  std::int64_t from_s = 0;       ///< when the first of them became eligible
  std::int64_t to_s = 0;         ///< and the last
  std::int64_t used_from_s = 0;  ///< when the first became eligible that is used
  /// Jobs for which there was a 95 % bound when they became eligible, and that started or have
  /// waited longer.
  std::size_t tested = 0;
  std::size_t covered = 0;  ///< those of them that it held for
  /// The waits of the latest jobs that started, at most 1,000, ascending, in s: bounds and chances
  /// are taken from them.
  std::vector<std::int64_t> waits_s = {};
  /// How long jobs have waited that did not start since the first of these did, ascending, in s.
  std::vector<std::int64_t> pending_waits_s = {};

  [[nodiscard]] std::size_t used() const { return waits_s.size(); }
  /// An upper bound on a quantile (from 0.5 on) of the wait, in s, with 95 % confidence
  /// (quantile_rank). Nothing if too few jobs are used; infinite if it is longer than any wait that
  /// has ended. A job that did not start counts as a longer wait if it has waited longer than the
  /// bound.
  [[nodiscard]] std::optional<double> bound_s(double quantile) const;
  /// The share of jobs that wait at most `seconds`; nothing if there are fewer than five.
  [[nodiscard]] std::optional<double> probability_within(std::int64_t seconds) const;
};

/// Which of n sorted samples bounds a quantile from above: the smallest rank k, from 1, with
/// P(Bin(n, quantile) <= k - 1) >= 0.95, whatever the distribution (Conover, Practical
/// Nonparametric Statistics, 1999, chapter 3.2). 0 if n samples do not suffice: fewer than 59 for
/// the quantile 0.95, fewer than 5 for the median.
[[nodiscard]] std::size_t quantile_rank(std::size_t n, double quantile);

/// Goes through the history of a queue (a partition, maybe one class of sizes) in the order of
/// time, so that the 95 % bound of each moment is judged by the jobs that became eligible then. The
/// forecast is that of the last moment, made in the same way.
[[nodiscard]] WaitForecast forecast_waits(const std::vector<Wait>& waits);

/// Jobs by what they ask for: core hours (cores times the time limit), or GB hours (10^9 bytes of
/// memory times the time limit). Four classes: below `first`, up to `first * factor`, up to
/// `first * factor^2`, and above.
struct SizeClasses {
  static constexpr std::size_t count = 4;
  double first = 4;
  double factor = 4;
  bool by_memory = false;

  /// A job without a time limit is in the last class, as it asks for more than any. Nothing if the
  /// memory is not known.
  [[nodiscard]] std::optional<std::size_t> of(const JobRecord& job) const;
  [[nodiscard]] std::size_t of_hours(double hours) const;
  /// "< 4 CPU hours", "4 - 16 CPU hours", ..., "> 64 CPU hours".
  [[nodiscard]] std::array<std::string, count> names() const;
};

/// The waits of one partition.
struct PartitionWaits {
  std::string name;
  std::vector<Wait> waits;
};

/// How many jobs a listing tells of.
struct JobCounts {
  std::size_t records = 0;
  std::size_t started = 0;           ///< waits that have ended
  std::size_t waiting = 0;           ///< that had not: they wait, or were cancelled first
  std::size_t burst_duplicates = 0;  ///< tasks of an array that started with another one
  std::size_t never_eligible = 0;    ///< held, dependent, or with times that contradict each other
};

/// What a listing tells of waiting.
struct JobWaits {
  std::vector<PartitionWaits> partitions;  ///< by name
  JobCounts counts;
};

/// A wait is the time from a job's eligibility to its start: time in which it was held, or depended
/// on others, does not count. If that is unknown there is no wait. Each stay of a requeued job
/// counts. Of an array's tasks that start no more than a minute after each other the first counts.
/// Only jobs of these partitions and of this quality of service count; empty: of all.
[[nodiscard]] JobWaits extract_waits(const JobListing& listing,
                                     const std::vector<std::string>& partitions = {},
                                     const std::string& qos = {});

}  // namespace wallheat
