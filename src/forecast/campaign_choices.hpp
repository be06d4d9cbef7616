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

/// Parses the output of `sinfo -h -o FORMAT`. Skips partitions and nodes that are down. Returns up
/// to two entries per partition: its most frequent type of node without GPUs, and that with GPUs.
/// The last field, the memory, is optional. `name` is used in messages. Throws RunError, whose
/// message contains the line number.
[[nodiscard]] std::vector<Partition> parse_sinfo(const std::string& name, std::string_view text);
inline constexpr const char* sinfo_format = "%R|%a|%D|%c|%G|%l|%s|%m";

/// Parses the output of `scontrol show config`. Returns the maximum number of tasks of a job array,
/// numbered from 1: MaxArraySize minus one. Throws RunError if MaxArraySize is missing.
[[nodiscard]] std::size_t max_array_tasks(const std::string& name, std::string_view text);

/// Predicted durations of the plans of a campaign, in s.
struct PlanTimes {
  std::vector<double> core_s;      ///< of each plan on one core
  std::vector<double> gpu_s = {};  ///< of each plan on one GPU; empty: no plan is solved on GPUs
  bool needs_gpus = false;         ///< true: no plan is solved on cores
};

/// One way to run a campaign.
struct Choice {
  std::string partition = {};
  std::size_t nodes = 1;      ///< per job
  std::size_t gpus = 0;       ///< per node, which solve the plans; 0: its cores solve them
  std::size_t job_cores = 0;  ///< cores per node to request; 0: whole nodes
  std::size_t jobs = 1;       ///< more than one: a job array, in which each job solves one shard
  /// Maximum number of jobs that run concurrently; the others start as these end.
  std::size_t max_concurrent = 1;
  std::size_t cores = 0;        ///< cores in use by all concurrent jobs
  std::int64_t limit_s = 0;     ///< time limit to request
  std::size_t start_count = 1;  ///< starts per job: more than one if the job exceeds the time limit
  /// Run time of the longest job, all its starts together; if not all jobs can run concurrently,
  /// the run time of all jobs.
  double run_s = 0;
  /// Bound of the median wait, for all jobs together. nullopt: too few waits are known; infinity:
  /// jobs have waited longer than all jobs that started (WaitForecast::bound_s).
  std::optional<double> wait_s = {};
  std::optional<double> wait_95_s = {};  ///< 95 % bound for all jobs together; likewise
  double core_hours = 0;                 ///< of all starts of all jobs
  double gpu_hours = 0;                  ///< of all starts of all jobs

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
/// nodes, and job arrays of 2, 4, 8, ... one-node jobs. On nodes with GPUs these choices exist
/// twice, on the cores of the nodes and on all of their GPUs, and also a job on one GPU with its
/// share of the cores. If a partition has nodes without GPUs, too, only these are offered for their
/// cores. A choice is last if the criterion of `order` is unknown or unbounded for it; choices that
/// differ by less than about 2 % are ordered by core hours. Job arrays have up to sixteen times as
/// many jobs as the partition has nodes: small jobs need a short time limit each, so they fit into
/// gaps of the scheduler queue; at most as many run concurrently as there are nodes.
///
/// Plans are scheduled longest first on the cores or GPUs of a job, as `wallheat run` does. A GPU
/// counts as if it solved one plan after the other, because its speed is that of many concurrent
/// plans. The time limit
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
[[nodiscard]] std::vector<Choice> campaign_choices(const PlanTimes& plans,
                                                   const std::vector<Partition>& partitions,
                                                   const ChoiceLimits& limits,
                                                   const WaitLookup& waits, ChoiceOrder order);

/// Returns a text that explains why the first choice is the best. `choices` must not be empty.
[[nodiscard]] std::string recommendation_text(const std::vector<Choice>& choices,
                                              ChoiceOrder order);

/// Returns text such as "2 nodes of medium", "an array of 8 jobs on medium, 4 at a time" or "1 node
/// of gpu with 4 GPUs".
[[nodiscard]] std::string choice_text(const Choice& choice);

/// One machine, or several nodes, for a campaign that no scheduler has to wait for.
struct MachineTime {
  std::string machine;  ///< "4 cores of this machine"
  std::size_t nodes = 1;
  std::size_t cores = 0;  ///< per node, which solve the plans; 0: its GPUs solve them
  std::size_t gpus = 0;   ///< per node
  bool is_here = false;   ///< false: another machine than this one
  double start_up_s = 0;  ///< part of run_s
  double run_s = 0;       ///< without the wait in a scheduler queue
};

/// Returns the time that a campaign takes with the cores and GPUs of this machine, and, for
/// comparison, with one and four nodes of a cluster and with one GPU. Nodes have
/// `limits.cores_per_node` cores; 0: 16. Their cores are as fast as those of this machine.
[[nodiscard]] std::vector<MachineTime> machine_times(const PlanTimes& plans,
                                                     std::size_t local_cores,
                                                     std::size_t local_gpus,
                                                     const ChoiceLimits& limits);

/// Returns a text that compares this machine with the fastest of the others. `machines` must
/// contain both kinds.
[[nodiscard]] std::string recommendation_text(const std::vector<MachineTime>& machines);

}  // namespace wallheat
