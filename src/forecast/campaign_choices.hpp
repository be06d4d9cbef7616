#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forecast/wait_forecast.hpp"

// Choice of a partition, a number of nodes and a job array for a campaign, from the durations of
// its plans, the partitions of the cluster, and wait forecasts. README.md shows how to use it.

namespace wallheat {

/// A partition of Slurm, or a queue of LSF.
struct Partition {
  std::string name;
  std::size_t nodes = 0;          ///< of the most frequent type
  std::size_t cores = 0;          ///< per node
  std::size_t gpus = 0;           ///< per node
  std::int64_t limit_s = 0;       ///< maximum run time of a job; 0: unlimited
  std::size_t max_nodes = 0;      ///< maximum per job; 0: unlimited
  std::int64_t memory_bytes = 0;  ///< per node; 0: unknown
  friend bool operator==(const Partition&, const Partition&) = default;
};

/// Parses the output of `sinfo -h -o FORMAT`. Skips partitions and nodes that are down. The last
/// field, the memory, is optional. `name` is used in messages. Throws RunError, whose message
/// contains the line number.
[[nodiscard]] std::vector<Partition> parse_sinfo(const std::string& name, std::string_view text);
inline constexpr const char* sinfo_format = "%R|%a|%D|%c|%G|%l|%s|%m";

/// Parses the output of `scontrol show config`. Returns the maximum number of tasks of a job array,
/// numbered from 1: MaxArraySize minus one. Throws RunError if MaxArraySize is missing.
[[nodiscard]] std::size_t max_array_tasks(const std::string& name, std::string_view text);

/// One way to run a campaign.
struct Choice {
  std::string partition;
  std::size_t nodes = 1;  ///< per job
  std::size_t jobs = 1;   ///< more than one: a job array, in which each job solves one shard
  /// Maximum number of jobs that run concurrently; the others start as these end.
  std::size_t max_concurrent = 1;
  std::size_t cores = 0;        ///< cores in use by all concurrent jobs
  std::int64_t limit_s = 0;     ///< time limit to request
  std::size_t start_count = 1;  ///< starts per job: more than one if the job exceeds the time limit
  /// Run time of the longest job, all its starts together; if not all jobs can run concurrently,
  /// the run time of all jobs.
  double run_s = 0;
  std::optional<double> wait_s;     ///< bound of the median, for all jobs together
  std::optional<double> wait_95_s;  ///< 95 % bound for all jobs together
  double core_hours = 0;            ///< of all starts of all jobs

  /// Returns the time until all plans are solved: at least half of the campaigns need at most this
  /// time. Returns nullopt if the wait is unknown.
  [[nodiscard]] std::optional<double> completion_s() const;
  /// Returns the time that at most 5 % of the campaigns exceed; nullopt if the wait is unknown.
  [[nodiscard]] std::optional<double> completion_95_s() const;
};

enum class ChoiceOrder { median, bound, core_hours };

struct ChoiceLimits {
  std::size_t max_array_tasks = 0;  ///< 0: job arrays are not available
  std::size_t cores_per_node = 0;   ///< cores that a job uses per node; 0: all
  /// Time from the start of a job to its first plan, plus the time from its last plan to its end.
  double start_up_s = 5;
};

/// Returns the waits of jobs with this number of nodes and these core hours in a partition; nullptr
/// if they are unknown.
using WaitLookup = std::function<const WaitForecast*(const std::string& partition,
                                                     std::size_t nodes, double core_hours)>;

/// Returns the ways to run a campaign in each partition, the best first: one job on 1, 2, 4, ...
/// nodes, and job arrays of 2, 4, 8, ... one-node jobs. `plans_s` is the duration of each plan on
/// one core. A choice is last if the criterion of `order` is unknown for it; choices that differ by
/// less than about 2 % are ordered by core hours. Job arrays have up to sixteen times as many jobs
/// as the partition has nodes: small jobs need a short time limit each, so they fit into gaps of
/// the scheduler queue; at most as many run concurrently as there are nodes.
///
/// Plans are scheduled longest first on the cores of a job, as `wallheat run` does. The time limit
/// is 25 % more than the resulting run time, plus 2 min, rounded up to 5 min, and at most the limit
/// of the partition.
///
/// The wait of a job array ends when as many of its jobs run as may run concurrently. The bound of
/// the longest of N waits is the bound of the quantile q^(1/N) of one wait, as if waits were
/// independent. Jobs in the same queue have similar waits, so this is on the safe side. If too few
/// waits are known for that quantile, as for 20 concurrent jobs and more, the longest known wait is
/// used. The other jobs of the array start as these end, because they have been in the queue for as
/// long as the first ones, and come before jobs that were submitted later. A job that is started
/// again waits again.
[[nodiscard]] std::vector<Choice> campaign_choices(const std::vector<double>& plans_s,
                                                   const std::vector<Partition>& partitions,
                                                   const ChoiceLimits& limits,
                                                   const WaitLookup& waits, ChoiceOrder order);

/// Returns a text that explains why the first choice is the best. `choices` must not be empty.
[[nodiscard]] std::string recommendation_text(const std::vector<Choice>& choices,
                                              ChoiceOrder order);

/// Returns text such as "2 nodes of medium" or "an array of 8 jobs on medium, 4 at a time".
[[nodiscard]] std::string choice_text(const Choice& choice);

}  // namespace wallheat
