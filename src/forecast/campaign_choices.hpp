#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forecast/wait_forecast.hpp"

namespace wallheat {

/// A partition of a cluster, or a queue of LSF.
struct Partition {
  std::string name;
  std::size_t nodes = 0;          ///< of the most frequent kind
  std::size_t cores = 0;          ///< of such a node
  std::size_t gpus = 0;           ///< of such a node
  std::int64_t limit_s = 0;       ///< the longest run time of a job; 0: none
  std::size_t max_nodes = 0;      ///< of a job; 0: no limit
  std::int64_t memory_bytes = 0;  ///< of such a node; 0: unknown
  friend bool operator==(const Partition&, const Partition&) = default;
};

/// Reads what `sinfo -h -o FORMAT` prints, without what is down; the memory, which stands last, may
/// be left out. Throws RunError, which tells the line.
[[nodiscard]] std::vector<Partition> parse_sinfo(const std::string& name, std::string_view text);
inline constexpr const char* sinfo_format = "%R|%a|%D|%c|%G|%l|%s|%m";

/// How many tasks, numbered from 1, an array can have, by what `scontrol show config` prints: one
/// less than MaxArraySize. Throws RunError if it is missing.
[[nodiscard]] std::size_t max_array_tasks(const std::string& name, std::string_view text);

/// A processor that works where the data are, and a GPU to which they must go. Operations are of
/// any kind, as long as it is the same for both: floating point, or updates of cells.
struct Offload {
  double bytes_per_s = 0;  ///< between host and GPU
  double cpu_per_s = 0;    ///< operations
  double gpu_per_s = 0;    ///< operations
  double start_s = 0;      ///< what each hand-over costs beside the bytes
};

/// From how many operations on it pays to hand `bytes` to the GPU (and back, if they are
/// counted): n* = (start + bytes / B) / (1 / C - 1 / G), at which start + bytes / B + n* / G = n* /
/// C. Infinite if the GPU is no faster.
[[nodiscard]] constexpr double break_even_operations(const Offload& offload, double bytes) {
  const double gain_s = 1 / offload.cpu_per_s - 1 / offload.gpu_per_s;
  if (!(gain_s > 0)) return std::numeric_limits<double>::infinity();
  return (offload.start_s + bytes / offload.bytes_per_s) / gain_s;
}

/// One way to run a campaign.
struct Choice {
  std::string partition;
  std::size_t nodes = 1;           ///< of each job
  std::size_t jobs = 1;            ///< more than one: an array, in which each solves its share
  std::size_t max_concurrent = 1;  ///< of these jobs; the others are started as these end
  std::size_t cores = 0;           ///< that are taken at a time
  std::int64_t limit_s = 0;        ///< time limit to ask for
  std::size_t start_count = 1;     ///< of each job: more than one if it exceeds the limit
  /// How long the longest job runs, all its starts together; if not all jobs can run at a time, how
  /// long all of them do.
  double run_s = 0;
  std::optional<double> wait_s;     ///< of all jobs together: the bound of the median
  std::optional<double> wait_95_s;  ///< the 95 % bound
  double core_hours = 0;            ///< of all jobs and all their starts

  /// From now until all is solved: half of the campaigns at most need longer.
  [[nodiscard]] std::optional<double> completion_s() const;
  /// 5 % at most.
  [[nodiscard]] std::optional<double> completion_95_s() const;
};

enum class ChoiceOrder { median, bound, core_hours };

struct ChoiceLimits {
  std::size_t max_array_tasks = 0;  ///< 0: no arrays
  std::size_t cores_per_node = 0;   ///< that a job takes; 0: all
  double start_up_s = 5;  ///< from a job's start to its first plan, and from its last to its end
};

/// How long jobs with these nodes and core hours wait in a partition; nullptr: unknown.
using WaitLookup = std::function<const WaitForecast*(const std::string& partition,
                                                     std::size_t nodes, double core_hours)>;

/// One job on 1, 2, 4, ... nodes, and arrays of 2, 4, 8, ... one-node jobs, in each partition; the
/// best first. `plans_s`: what each plan takes on a core. If the measure of the order is unknown, a
/// choice comes last; choices that differ by less than 2 % are ordered by core hours.
/// Arrays have up to sixteen times as many jobs as nodes: small jobs, which need a short time limit
/// each and so fit into gaps of the queue, and of which so many run at a time as there are nodes.
///
/// Plans are scheduled longest first on the cores of a job, as `wallheat run` does. The time limit
/// is a quarter more than that, and at most the partition's. An array waits until as many of its
/// jobs run as may at a time: the bound on the longest of N waits is that on the quantile q^(1/N)
/// of one wait, as if they were independent; jobs that wait in the same queue wait alike, so this
/// is on the safe side. If too few waits are known for that quantile, as of 20 jobs at a time and
/// more, it is the longest of them. Its further jobs start as these end: they have been in the
/// queue for as long as the first ones, before whatever came since. A job that is started again
/// waits anew.
[[nodiscard]] std::vector<Choice> campaign_choices(const std::vector<double>& plans_s,
                                                   const std::vector<Partition>& partitions,
                                                   const ChoiceLimits& limits,
                                                   const WaitLookup& waits, ChoiceOrder order);

/// Why the first is the best, in one sentence. There must be one.
[[nodiscard]] std::string recommendation_text(const std::vector<Choice>& choices,
                                              ChoiceOrder order);

/// "2 nodes of medium", "an array of 8 jobs on medium, 4 at a time".
[[nodiscard]] std::string choice_text(const Choice& choice);

}  // namespace wallheat
