#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "monitor/run_status.hpp"
#include "store/result_store.hpp"
#include "store/shard.hpp"
#include "store/write_lock.hpp"
#include "view/json_forward.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// Returns an attribute of a session or of the settings of a file; `fallback` if it does not exist.
[[nodiscard]] inline std::string text_in(const Attributes& attributes, const char* name,
                                         const char* fallback = "?") {
  const auto found = attributes.find(name);
  return found == attributes.end() ? fallback : found->second;
}

/// Returns a numeric attribute; 0 if it does not exist.
[[nodiscard]] inline double number_in(const Attributes& attributes, const char* name) {
  return std::strtod(text_in(attributes, name, "").c_str(), nullptr);
}

/// Attribute `end` of a session after which no plan was pending.
inline constexpr const char* end_finished = "finished";

/// State of the last run of a file. States that need more attention come first.
enum class RunState {
  being_written,
  killed,   ///< the file was not closed, and the run has recorded no exit status
  unknown,  ///< the file was not closed, and its writer may be running on another host
  failed,   ///< the file was not closed, but the run has recorded its exit status: closing failed
  not_started,
  closed
};
/// Returns "being written", "killed", and so on.
[[nodiscard]] std::string_view to_string(RunState state);

/// Counts of the plans of a file, or of several files.
struct PlanCounts {
  std::size_t solved = 0;
  std::size_t failed = 0;
  std::size_t pending = 0;  ///< includes plans in progress, and failed plans that will be retried
  std::size_t running = 0;
  /// Throughput of a run in progress; otherwise of the last run, if it ended.
  std::optional<double> plans_per_s;
  std::optional<double> seconds_left;
};

/// Counts the plans of a file by their status.
[[nodiscard]] PlanCounts counts_of(const ResultReader& reader);

/// Status of a result file at one moment. The file may be a shard file.
struct ShardFileStatus {
  std::filesystem::path file;
  RunState state = RunState::not_started;
  LockHolder writer;
  bool is_whole = true;          ///< true if the HDF5 file alone contains all results
  std::optional<RunStatus> run;  ///< content of the status file; nullopt after the end of the run
  double age_s = 0;              ///< age of the status file in s
  std::string note;              ///< why the status file cannot be read
  std::string run_started_utc;   ///< start of the last run; empty if the status file is missing
  int run_exit_status = -1;      ///< exit status that the last run recorded; negative: none
  Shard shard;
  std::size_t header = 0;  ///< number of plans of all shards; 0 if the file does not exist yet
  /// Number of plans that the longer list of another shard file assigns to this shard, and that
  /// this file does not contain.
  std::size_t new_plans = 0;
  std::string solver;  ///< name and version; empty if unknown
  Attributes session;  ///< attributes of the last session
  PlanCounts plans;
  std::vector<PlanResult> failures;  ///< the failed rows, including those that will be retried
  std::size_t session_plans = 0;     ///< plans that the last session solved or gave up

  [[nodiscard]] std::string name() const { return file.filename().string(); }
  [[nodiscard]] bool is_running() const { return state == RunState::being_written; }
  [[nodiscard]] std::vector<WorkerStatus> workers() const {
    return run ? run->workers : std::vector<WorkerStatus>();
  }
  /// Returns the time to add to the durations in the status file, in s. It is 0 for a run that has
  /// ended.
  [[nodiscard]] double status_age_if_running_s() const { return is_running() ? age_s : 0; }
  [[nodiscard]] int exit_status() const;
  /// Exit status of the last run:
  ///   - the status that it recorded, but 75 in place of 0 or 3 if plans or journals remain;
  ///   - 75 if it has recorded none, and has solved plans or holds the lock;
  ///   - otherwise 1, so that a job is not requeued indefinitely.
  [[nodiscard]] int session_exit_status() const;
  /// Describes the state, and the process that writes the file.
  [[nodiscard]] std::string state_text() const;
  /// Describes the last session and its outcome.
  [[nodiscard]] std::string session_text() const;
};

/// Status of one result file, or of all shard files of a campaign.
struct FileStatus {
  /// The file into which the shard files are merged; empty if several files were given.
  std::filesystem::path file;
  std::vector<ShardFileStatus> parts;
  PlanCounts plans;  ///< sums over all parts; plans_per_s of runs in progress, or of a single file
  /// Counts of the shard files next to a merged file, if they have results or plans that the merged
  /// file lacks.
  std::optional<PlanCounts> unmerged{};

  [[nodiscard]] bool is_array() const { return parts.size() > 1; }
  /// Returns the state of its parts that comes first in RunState.
  [[nodiscard]] RunState state() const;
  [[nodiscard]] int exit_status() const;
  /// Returns "running", "done", "failed" (some plans failed), "left" (plans are pending) or
  /// "killed".
  [[nodiscard]] std::string_view state_word() const;
};

/// Maximum age of the status of a run that counts as running, in s.
inline constexpr double max_status_age_s = max_activity_age_s;

/// Returns the status of files, without changing them: of a single file, or of several given shard
/// files. If a single file does not exist, examines the shard files next to it that are merged into
/// it. Throws RunError.
[[nodiscard]] FileStatus status_of(const std::vector<std::filesystem::path>& files);

/// Returns the shards whose files, or whose event logs or journals, are next to the file into which
/// they belong; in order.
[[nodiscard]] std::vector<Shard> shards_next_to(const std::filesystem::path& whole);

/// Returns true if a running process holds the lock of this file, which need not exist yet.
[[nodiscard]] bool is_being_written(const std::filesystem::path& file);

/// Returns the JSON object that `wallheat status --json` prints and that the command of
/// `wallheat run --notify` receives.
[[nodiscard]] Json to_json(const FileStatus& status);

/// First bytes of every prometheus_text().
inline constexpr const char* prometheus_magic = "# HELP wallheat_";
/// Returns the status in Prometheus' text exposition format, as node_exporter's textfile collector
/// reads it: one sample per file and metric, or per file and worker.
[[nodiscard]] std::string prometheus_text(const FileStatus& status);

}  // namespace wallheat
