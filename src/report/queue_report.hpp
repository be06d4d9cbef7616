#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "forecast/campaign_choices.hpp"
#include "forecast/wait_forecast.hpp"
#include "report/report.hpp"

namespace wallheat {

/// How long some jobs of a partition wait.
struct QueueWaits {
  WaitForecast forecast;
  double mean_s = 0;  ///< of all that started; NaN if none did
};

struct PartitionForecast {
  std::string partition;
  QueueWaits all;
  std::vector<QueueWaits> of_size;  ///< by number of class
  /// Of jobs on at least 2, 4, 8, ... nodes, which must find all their nodes free at a time, as far
  /// as there is history enough for the 95 % bound. Only add_wide_waits() fills it.
  std::vector<WaitForecast> wide = {};
};

struct QueueForecast {
  SizeClasses classes;
  bool own_jobs = false;  ///< no jobs of others were to be seen
  JobCounts counts;
  std::vector<PartitionForecast> queues;
};

/// `partitions`: only these, in this order; empty: all. Throws RunError if no
/// job in the listing was in one of them.
[[nodiscard]] QueueForecast queue_forecast(const JobListing& listing, const SizeClasses& classes,
                                           const std::vector<std::string>& partitions,
                                           const std::string& qos);
void add_wide_waits(const JobListing& listing, QueueForecast& forecast);

/// The forecast for jobs on `nodes` nodes (a power of two) with `core_hours`. It is the first
/// that has history enough for the 95 % bound: of jobs on at least as many nodes, on half as many,
/// of the same class of sizes, in the partition. Null if the partition has none.
[[nodiscard]] const WaitForecast* forecast_for(const QueueForecast& report,
                                               const std::string& partition, std::size_t nodes,
                                               double core_hours);

[[nodiscard]] Report make_report(const QueueForecast& queues);
/// A row a partition, a column a class: "8.2 m (40150)", the mean wait and the number of jobs; NA
/// if there are none.
[[nodiscard]] Report means_report(const QueueForecast& queues);

/// The ways to run a campaign, and what they were foreseen from.
struct Advice {
  std::size_t plans = 0;           ///< left to solve
  double core_hours = 0;           ///< that they take on the cores that were measured; NaN: unknown
  std::string speed_source;        ///< where the speed of a core is from, for people
  std::int64_t now_s = 0;          ///< s since 1970
  std::vector<Choice> choices;     ///< the best first
  std::string reason;              ///< why it is
  std::vector<std::string> notes;  ///< what was not known, a sentence each
};

/// People see the first `first` choices, and times in the local time of this machine.
[[nodiscard]] Report make_report(const Advice& advice, std::size_t first);
/// A choice as options of wallheat submit, on one line.
[[nodiscard]] std::string submit_options(const Choice& choice);

}  // namespace wallheat
