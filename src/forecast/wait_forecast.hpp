#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace wallheat {

/// What is known of how long a job waited, in s since 1970.
struct Wait {
  std::int64_t eligible_s = 0;  ///< from then on it could have started
  std::int64_t wait_s = 0;      ///< until it started, or until it was last seen waiting
  bool started = true;          ///< false: it waits still, or was cancelled before it started
  std::size_t job = 0;          ///< its record, among those of a listing
};

/// The bounds that a job was told, or would have been, when it became eligible: from the jobs that
/// had started by then.
struct StatedWait {
  std::size_t job = 0;  ///< place among the waits
  double median_s = 0;  ///< not a bound: the middle of the waits
  double bound_75_s = 0;
  double bound_95_s = 0;
};

/// How long a job will wait, by what others waited in the same queue.
struct WaitForecast {
  std::size_t jobs = 0;          ///< that started
  std::size_t waiting = 0;       ///< that did not: they wait, or were cancelled
  std::int64_t from_s = 0;       ///< when the first of them became eligible
  std::int64_t to_s = 0;         ///< and the last
  std::size_t changes = 0;       ///< of the queue, that cut its history
  std::int64_t used_from_s = 0;  ///< when the first became eligible that is used
  /// Jobs for which a 95 % bound could be stated when they became eligible, and that started or
  /// have waited longer.
  std::size_t scored = 0;
  std::size_t held = 0;  ///< those of them that it held for
  /// Of the jobs that started since the last change, ascending, in s: what bounds and chances are
  /// taken from.
  std::vector<std::int64_t> waits_s = {};
  std::vector<std::int64_t> unended_s = {};  ///< of those that did not start since, ascending

  [[nodiscard]] std::size_t used() const { return waits_s.size(); }
  /// An upper bound on a quantile of the wait, in s, with 95 % confidence (QuantileRank). Nothing
  /// where too few jobs are used; infinite where it is longer than any wait that has ended. A job
  /// that did not start counts as a longer wait where it has waited longer than the bound.
  [[nodiscard]] std::optional<double> bound_s(double quantile) const;
  /// The share of jobs that wait at most so long; nothing where there are fewer than five.
  [[nodiscard]] std::optional<double> chance_within(std::int64_t seconds) const;
  /// How many of those that did not start waited longer.
  [[nodiscard]] std::size_t waiting_longer_than(std::int64_t seconds) const;
};

/// Goes through the history of a queue (a partition, maybe one class of sizes) in the order of
/// time. Each job is told a bound from those that had started when it became eligible; where the
/// bounds show that the queue has changed (ChangeDetector), what was before is dropped. `tell`, if
/// it is not empty, hears what each job was told that started. O(n log n).
[[nodiscard]] WaitForecast forecast_waits(const std::vector<Wait>& waits,
                                          const std::function<void(const StatedWait&)>& tell = {});

}  // namespace wallheat
