#include "run/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/text.hpp"
#include "monitor/file_status.hpp"
#include "node/driver_gpus.hpp"
#include "node/local_machine.hpp"
#include "run/stop_signals.hpp"
#include "store/journal.hpp"
#include "view/advice.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

/// The constants fit the measured `peak_memory` of generated floor plans with 64 to 1024 cells per
/// side, of which a third are interior cells. Plans with interior cells only take up to 50 % more.
double estimate_memory(const PlanSource& source, const std::string& id, const SolveConfig& config) {
  constexpr double process = 14e6;  // bytes of code, libraries and a partly used huge page
  const GridShape shape = source.shape(id);
  const SolverKind kind = config.solver.kind;
  const double a_cell = (kind == SolverKind::jacobi        ? 34
                         : kind == SolverKind::fastforward ? 65
                                                           : 74) +
                        (config.save_fields ? 16 : 0) + (config.solver.door ? 10 : 0) +
                        (source.has_source(id) ? 30 : 0);
  return process + config.solver.command.memory_gb * 1e9 +
         a_cell * static_cast<double>(shape.rows) * static_cast<double>(shape.cols);
}

DiskUsageEstimate disk_usage_estimate(const SolveConfig& config, double plans, double cells) {
  constexpr double rooms_of_a_plan = 40;  // rooms of a real floor plan
  const double rooms = config.solver.door ? 2 * rooms_of_a_plan * sizeof(RoomResult) : 0;
  return {plans * (3 * sizeof(store::ResultRow) + rooms),
          config.save_fields ? 2 * cells * sizeof(double) : 0};
}

std::optional<double> free_bytes(const std::filesystem::path& folder) {
  std::error_code unknown;
  const auto space = std::filesystem::space(folder, unknown);
  return unknown ? std::nullopt : std::optional(static_cast<double>(space.available));
}

std::string disk_space_warning(const DiskUsageEstimate& need, const std::filesystem::path& folder) {
  const double bytes = free_bytes(folder).value_or(need.expected());
  if (need.expected() <= bytes) return {};
  return fmt::format(
      "not enough disk space in {}: {} available, about {} needed; free some space or choose "
      "another --out",
      folder.string(), bytes_text(bytes), bytes_text(need.expected()));
}

GpuSupport usable_gpus(const RunOptions& options) {
  return options.solve.solver.kind == SolverKind::command ? driver_gpus() : gpu_support();
}

Machine usable_machine(const RunOptions& options) {
  Machine machine = local_machine();
  if (options.solve.solver.kind != SolverKind::command || options.device != DeviceChoice::gpu)
    return machine;
  GpuSupport support = usable_gpus(options);
  machine.gpus = std::move(support.gpus);
  machine.no_gpu_reason = std::move(support.reason);
  return machine;
}

void require_gpus(const RunOptions& options) {
  if (options.device != DeviceChoice::gpu) return;
  const GpuSupport support = usable_gpus(options);
  if (support.gpus.empty())
    throw RunError("--device gpu is not possible on this host: " + support.reason);
}

void Preparation::check_shard_files() const {
  const Shard& shard = options.shard;
  if (shard.count == 1 && !options.shard_is_from_array) return;
  std::vector<Shard> others = shards_next_to(options.merged_out);
  const auto erased =
      std::erase_if(others, [&](const Shard& other) { return other.count == shard.count; });
  if (others.empty()) return;
  const std::string files = join_first(others.size(), [&](std::size_t k) {
    return shard_path(options.merged_out, others[k]).string();
  });
  if (!options.shard_is_from_array || erased > 0)
    return warn(
        fmt::format("shard files of a different number of shards exist ({}); this run will solve "
                    "their plans again",
                    files));
  const char* const variable =
      std::getenv("SLURM_ARRAY_TASK_ID") != nullptr ? "SLURM_ARRAY_TASK_ID" : "LSB_JOBINDEX";
  const char* const task = std::getenv(variable);
  const std::size_t count = others.front().count;
  throw UsageError(fmt::format(
      "this task is shard {} of its job array, but shard files of another array exist ({}); use "
      "--shard {}/{} (in the job script: --shard \"${}/{}\"), or choose another --out",
      shard.text(), files, task != nullptr ? task : "K", count, variable, count));
}

void Preparation::find_plans() {
  source = open_plan_source(options.solve.data);
  ids = requested_plans(*source, options.ids, options.ids_file, options.first);
  if (!ids.duplicates.empty())
    warn(fmt::format(
        "{} named more than once and solved once: {}",
        count_text(ids.duplicates.size(), "plan is", "plans are"),
        join_first(ids.duplicates.size(), [this](std::size_t k) { return ids.duplicates[k]; })));
}

void Preparation::check_walls() const {
  require_walls(*source, ids.ids, options.solve.solver.walls);
}

OpenMode Preparation::open_mode() const {
  return resumes ? OpenMode::resume : options.overwrite ? OpenMode::overwrite : OpenMode::create;
}

ResultFileSpec Preparation::result_file_spec() const {
  ResultFileSpec spec{ids.ids, options.solve.solver.settings(), options.solve.save_fields};
  if (options.solve.solver.kind == SolverKind::command)
    spec.program_settings.assign(command_identity_settings.begin(),
                                 command_identity_settings.end());
  spec.accepts_changed_program = options.allow_changed_solver;
  return spec;
}

void Preparation::collect_pending(const std::function<void(const RowCallback&)>& hand_over) {
  InputChanges changes;
  hand_over([&](const PlanResult& row) {
    if (stop_requested()) throw StopRequested();
    check_input_change(*source, row, changes);
    if (!options.shard.contains(row.index)) return;
    ++tally.total;
    if (is_solved(row.status)) {
      ++tally.restored;
    } else if (row.failures >= options.max_attempts && !options.retry_failed) {
      ++tally.given_up;
    } else {
      plans.push_back({row.index, row.attempts, options.retry_failed ? 0 : row.failures});
    }
  });
  if (const std::string found = input_changes_text(changes, *source); !found.empty())
    throw RunError(fmt::format(
        "{}: {}; restore the old input files, or solve everything again with --overwrite",
        options.out.string(), found));
}

void Preparation::warn_if_spacing_unknown() const {
  if (options.solve.solver.spacing_is_known || plans.empty()) return;
  try {
    if (source->has_source(id_of(QueueIndex{0}))) warn(unknown_spacing);
  } catch (const InputError&) {
    // The worker that is assigned this plan reports the error.
  }
}

DiskUsageEstimate Preparation::estimate_disk_usage() const {
  constexpr std::size_t most = 100;
  const std::size_t checks = options.solve.save_fields ? std::min(most, plans.size()) : 0;
  double cells = 0;
  for (std::size_t k = 0; k < checks; ++k) {
    try {
      const GridShape shape =
          source->shape(id_of(static_cast<QueueIndex>(k * plans.size() / checks)));
      cells += static_cast<double>(shape.rows) * static_cast<double>(shape.cols);
    } catch (const InputError&) {
      // The worker that is assigned this plan reports the error.
    }
  }
  const auto all = static_cast<double>(plans.size());
  if (checks > 0) cells *= all / static_cast<double>(checks);
  return disk_usage_estimate(options.solve, all, cells);
}

}  // namespace wallheat
