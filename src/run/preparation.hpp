#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/machine.hpp"
#include "isolation/task_runner.hpp"
#include "monitor/run_progress.hpp"
#include "plans/plan_source.hpp"
#include "run/plan_selection.hpp"
#include "run/run_options.hpp"
#include "solve/gpu/device.hpp"
#include "store/result_path.hpp"
#include "store/result_store.hpp"

namespace wallheat {

// The resources that a run takes, and its preparation.

/// Returns the estimated maximum memory, in bytes, of a solver process that solves the plan on a
/// CPU. Throws InputError if the plan cannot be found.
[[nodiscard]] double estimate_memory(const PlanSource& source, const std::string& id,
                                     const SolveConfig& config);

/// Space that the results take on a disk, in bytes, at the end of the compaction, when both the old
/// file with its journals and the new file exist: rows are stored three times, fields and rooms
/// twice.
struct DiskUsageEstimate {
  double rows = 0;    ///< rows and rooms
  double fields = 0;  ///< fields without compression

  /// Returns the expected size. Fields of real floor plans are compressed to a quarter
  /// (src/store/README.md); a field without fixed cells is hardly compressed.
  [[nodiscard]] double expected() const { return rows + 0.25 * fields; }
};

/// Returns the space for the results of `plans` plans with `cells` cells in total.
[[nodiscard]] DiskUsageEstimate disk_usage_estimate(const SolveConfig& config, double plans,
                                                    double cells);

/// Returns the free space of a file system, in bytes; nullopt if it is unknown.
[[nodiscard]] std::optional<double> free_bytes(const std::filesystem::path& folder);

/// Returns a message if the results do not fit into the folder; otherwise an empty string.
[[nodiscard]] std::string disk_space_warning(const DiskUsageEstimate& need,
                                             const std::filesystem::path& folder);

/// Returns the GPUs that this process, or a solver command that it starts, can use.
[[nodiscard]] GpuSupport usable_gpus(const RunOptions& options);
/// Returns this machine with these GPUs.
[[nodiscard]] Machine usable_machine(const RunOptions& options);

/// Throws RunError if `--device gpu` is set and this host has no usable GPU.
void require_gpus(const RunOptions& options);

/// A plan to solve, with its attempts and failures in earlier sessions.
struct QueuedPlan {
  std::uint32_t index = 0;  ///< row index; see PlanResult::index
  std::int32_t attempts = 0;
  std::int32_t failures = 0;
};

/// The steps of a run before it creates its result file; `--check` takes them, too. Each step
/// throws RunError if the run cannot start, or StopRequested. After an exception a run ends, and
/// `--check` continues with the next step.
struct Preparation {
  using RowCallback = std::function<void(const PlanResult&)>;

  /// Compares the number of shards of this run with that of the shard files next to the result
  /// file. In an array task, throws UsageError if no shard file has the same number: probably some
  /// tasks of a larger array were submitted again as a smaller array, and shard K of N would be
  /// other plans. Otherwise warns about the files with another number.
  void check_shard_files() const;
  void find_plans();
  /// Throws RunError if a wall of --wall does not exist. See require_walls().
  void check_walls() const;
  /// Returns whether the result file is created, resumed or replaced.
  [[nodiscard]] OpenMode open_mode() const;
  /// Returns what a new result file contains: plan IDs, settings, and whether fields are saved.
  [[nodiscard]] ResultFileSpec result_file_spec() const;
  /// Fills `plans` with the plans of this shard that are left to solve, and `tally`. `hand_over`
  /// passes each row of the result file, or a pending row per plan for a new file. Throws RunError
  /// if the input of a solved plan has changed, because the file would then mix results of
  /// different inputs.
  void collect_pending(const std::function<void(const RowCallback&)>& hand_over);
  /// Warns if plans have heat sources and the grid spacing is unknown. Checks the first plan only,
  /// because plans with and without heat sources are rarely mixed.
  void warn_if_spacing_unknown() const;
  /// Estimates the space for the results of `plans`, from up to 100 plans that are spread over the
  /// list.
  [[nodiscard]] DiskUsageEstimate estimate_disk_usage() const;

  [[nodiscard]] std::string id_of(QueueIndex plan) const {
    return std::string(ids.ids[plans[plan].index]);
  }

  const RunOptions& options;
  /// Called with messages about problems that do not keep a run from starting.
  std::function<void(const std::string& message)> warn;
  bool resumes = options.resume && has_results(options.out);
  SharedPlanSource source{};
  PlanIds ids{};
  /// Plans of this shard that are left to solve, in the order of the IDs.
  QueueVector<QueuedPlan> plans{};
  RunTally tally{};  ///< counts of this shard, according to the result file
};

}  // namespace wallheat
