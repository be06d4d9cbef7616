#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "isolation/task_runner.hpp"
#include "plans/plan_source.hpp"
#include "run/plan_selection.hpp"
#include "run/run_options.hpp"
#include "store/result_path.hpp"
#include "store/result_store.hpp"
#include "view/run_progress.hpp"

namespace wallheat {

// What a run takes of a node.

/// About how many bytes the solver process of a plan holds at most on a CPU, by the plan's shape.
/// Throws InputError if the plan cannot be found.
[[nodiscard]] double estimate_memory(const PlanSource& source, const std::string& id,
                                     const SolveConfig& job);

/// What results will take on a disk, in bytes, at the moment when one file is made of the file and
/// its journals: rows are there three times, fields and rooms twice.
struct DiskUsageEstimate {
  double rows = 0;    ///< with their rooms
  double fields = 0;  ///< as if they could not be compressed

  /// The fields of real floor plans become a quarter when they are compressed
  /// (src/store/README.md); one that is nothing but room keeps nearly all.
  [[nodiscard]] double expected() const { return rows + 0.25 * fields; }
};

/// `cells`: of all plans together.
[[nodiscard]] DiskUsageEstimate disk_usage_estimate(const SolveConfig& job, double plans,
                                                    double cells);

/// Nothing if it is not known.
[[nodiscard]] std::optional<double> free_bytes(const std::filesystem::path& folder);

/// A sentence if the results have no room in their folder; empty if they have.
[[nodiscard]] std::string disk_space_warning(const DiskUsageEstimate& need,
                                             const std::filesystem::path& folder);

/// Throws RunError if the GPUs that are asked for are not here.
void require_gpus(const RunOptions& options);

/// One plan to be solved, and how often it was started and failed before.
struct QueuedPlan {
  std::uint32_t index = 0;  ///< in the list of ids
  std::int32_t attempts = 0;
  std::int32_t failures = 0;
};

/// What a run does before it makes its result file, in steps that `--check` takes, too. Each throws
/// RunError if the run cannot start, or StopRequested. Then a run ends, and `--check` goes on.
struct Preparation {
  using RowCallback = std::function<void(const PlanResult&)>;

  /// Compares the number of shards with that of the shard files next to the result file. If all of
  /// them differ, throws UsageError in a task of a job array, because the task may be one of a
  /// larger array that runs again. Otherwise warns about those that differ.
  void check_shard_files() const;
  void find_plans();
  /// That plans have the walls that --wall names.
  void check_walls() const;
  /// How the result file is to be opened, and what for.
  [[nodiscard]] OpenMode open_mode() const;
  [[nodiscard]] ResultFileSpec store_plan() const;
  /// Finds what is left to solve: `hand_over` gives the rows of the result file, or the pending
  /// rows of a new one. Refuses to mix answers to different inputs in one file.
  void collect_pending(const std::function<void(const RowCallback&)>& hand_over);
  /// Warns if plans with sources come without a spacing. Looks at the first plan only, as plans
  /// with and without sources seldom mix.
  void warn_if_spacing_unknown() const;
  /// What the results of the plans that are left will take, judged by some of them, spread over the
  /// list.
  [[nodiscard]] DiskUsageEstimate estimate_disk_usage() const;

  [[nodiscard]] std::string id_of(std::size_t plan) const {
    return std::string(ids.ids[plans[plan].index]);
  }

  const RunOptions& options;
  std::function<void(const std::string& message)> warn;  ///< of what keeps no run from starting
  bool resumes = options.resume && has_results(options.out);
  SharedPlanSource source{};
  PlanIds ids{};
  std::vector<QueuedPlan> plans{};  ///< those of this shard that are left, in the order of the ids
  RunTally tally{};                 ///< of this shard, as the result file has its plans
};

}  // namespace wallheat
