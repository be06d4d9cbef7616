#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "forecast/campaign_choices.hpp"
#include "forecast/cluster_data.hpp"
#include "forecast/wait_forecast.hpp"
#include "report/report.hpp"

namespace wallheat {

/// Waits of some jobs of a partition.
struct QueueWaits {
  WaitForecast forecast;
  double mean_s = 0;  ///< mean wait of the jobs that started; NaN if there are none
};

struct PartitionForecast {
  std::string partition;
  QueueWaits all;
  std::vector<QueueWaits> of_size;  ///< by index of the size class
};

struct QueueForecast {
  SizeClasses classes;
  bool own_jobs = false;  ///< true if jobs of other users were not visible
  JobCounts counts;
  std::vector<PartitionForecast> queues;
};

/// Forecasts the waits of partitions. `partitions` selects partitions and their order; empty: all.
/// Throws RunError if no job in the listing was in one of them.
[[nodiscard]] QueueForecast queue_forecast(const JobListing& listing, const SizeClasses& classes,
                                           const std::vector<std::string>& partitions,
                                           const std::string& qos);

[[nodiscard]] Report make_report(const QueueForecast& queues);
/// Returns a table with one row per partition and one column per class: the mean wait and the
/// number of jobs, such as "8.2 m (40150)"; NA if there are no jobs.
[[nodiscard]] Report means_report(const QueueForecast& queues);

/// Choices for running a campaign, and the data from which they were predicted.
struct Advice {
  std::size_t plans = 0;  ///< number of pending plans
  /// Core hours of these plans, on the cores that were measured; NaN: unknown.
  double core_hours = 0;
  std::string speed_source;        ///< origin of the speed of a core, for text output
  std::string gpu_speed_source;    ///< origin of the speed of a GPU; empty: no choice has GPUs
  std::int64_t now_s = 0;          ///< seconds since 1970
  std::vector<Choice> choices;     ///< sorted, best choice first
  std::vector<MachineTime> here;   ///< the cores and the GPUs of this machine, for comparison
  std::string reason;              ///< why the first choice is the best
  std::vector<std::string> notes;  ///< messages about unknown data
};

/// Pending plans of a campaign, and the cluster that may solve them.
struct CampaignOnCluster {
  PlanTimes plans;               ///< of the pending plans
  std::string speed_source;      ///< origin of the speed of a core, for text output
  std::string gpu_speed_source;  ///< origin of the speed of a GPU, for text output
  std::vector<Partition> partitions;
  ChoiceLimits limits;
  JobHistory history;              ///< empty: waits are unknown
  std::size_t local_cores = 0;     ///< of this machine
  std::size_t local_gpus = 0;      ///< of this machine
  std::vector<std::string> notes;  ///< messages about unknown data
};

/// Returns the choices for the campaign, sorted by `order`, or none if no plan is pending. `now_s`
/// is in seconds since 1970. The forecast for a choice is the first of these with enough history
/// for the 95 % bound: of jobs on at least as many nodes, of jobs on at least half as many, of jobs
/// of the same size class; otherwise that of all jobs of the partition. The first two are used only
/// for numbers of nodes above one: for jobs on one node, the size class is the first.
[[nodiscard]] Advice make_advice(const CampaignOnCluster& campaign, ChoiceOrder order,
                                 std::int64_t now_s);

/// Text output shows the first `first` choices, and times in the local time zone of this machine.
[[nodiscard]] Report make_report(const Advice& advice, std::size_t first);

/// Returns a report on the same campaign without a scheduler: the times on the cores and GPUs of
/// this machine and on other machines. Ignores the partitions and the history of jobs.
[[nodiscard]] Report make_report(const CampaignOnCluster& campaign);

/// Formats a choice as options of `wallheat submit`, on one line.
[[nodiscard]] std::string submit_options(const Choice& choice);

}  // namespace wallheat
