#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/write_lock.hpp"
#include "queue/shard.hpp"
#include "report/report.hpp"
#include "store/result_store.hpp"
#include "view/run_status.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// What a session or the settings of a file say of something; else `fallback`.
[[nodiscard]] inline std::string text_in(const Attributes& attributes, const char* name,
                                         const char* fallback = "?") {
  const auto found = attributes.find(name);
  return found == attributes.end() ? fallback : found->second;
}

/// 0 if they do not say it.
[[nodiscard]] inline double number_in(const Attributes& attributes, const char* name) {
  return std::strtod(text_in(attributes, name, "").c_str(), nullptr);
}

/// What has become of a file's last run. Those about which there is more to say come first.
enum class RunState {
  being_written,
  killed,   ///< the file is open and the run has recorded no exit status
  unknown,  ///< the file is open, and its writer may run on another host
  failed,   ///< the file is open, but the run has recorded its exit status: it could not close it
  not_started,
  closed
};
/// "being written", "killed", ...
[[nodiscard]] std::string_view to_string(RunState state);

/// What is known of the plans of a file or of several.
struct PlanCounts {
  std::size_t solved = 0;
  std::size_t failed = 0;
  std::size_t pending = 0;  ///< also those that run, or failed before and will run again
  std::size_t running = 0;
  std::optional<double> plans_per_s;  ///< of a run that lives, else of the last if it ended
  std::optional<double> seconds_left;
};

/// A result file at one moment, which may be a part of an array.
struct ShardFileStatus {
  std::filesystem::path file;
  RunState state = RunState::not_started;
  LockHolder writer;
  bool is_whole = true;          ///< all results are in the HDF5 file
  std::optional<RunStatus> run;  ///< as the status file says; nothing once the run has ended
  double age_s = 0;              ///< of the status file
  std::string note;              ///< why the status file cannot be read
  std::string run_started_utc;   ///< start of the last run; empty if the status file is missing
  int run_exit_status = -1;      ///< exit status that the last run recorded; negative: none
  Shard shard;
  std::size_t header = 0;     ///< plans of all shards; 0 before the file is there
  std::size_t new_plans = 0;  ///< pending plans of another shard's longer list that it lacks
  std::string solver;         ///< name and version; empty if the file does not say
  Attributes session;         ///< the last one's
  PlanCounts plans;
  std::vector<PlanResult> failures;  ///< the failed rows, also those that will run again
  std::size_t session_plans = 0;     ///< plans that the last session solved or gave up

  [[nodiscard]] std::string name() const { return file.filename().string(); }
  [[nodiscard]] bool is_running() const { return state == RunState::being_written; }
  [[nodiscard]] std::vector<WorkerStatus> workers() const {
    return run ? run->workers : std::vector<WorkerStatus>();
  }
  /// How much longer than its status says a run has been at something: a dead one stands still.
  [[nodiscard]] double status_age_if_running_s() const { return is_running() ? age_s : 0; }
  [[nodiscard]] int exit_status() const;
  /// Exit status of the last run:
  ///   - the status that it recorded, but 75 in place of 0 or 3 if plans or journals remain;
  ///   - 75 if it has recorded none, and has solved plans or holds the lock;
  ///   - otherwise 1, so that a job is not requeued indefinitely.
  [[nodiscard]] int session_exit_status() const;
  /// Names the last session, and says what came of it.
  [[nodiscard]] std::string session_text() const;
};

/// A result file, which is an array of one part, or the parts of an array.
struct FileStatus {
  std::filesystem::path file;  ///< into which the parts belong; empty if parts were named
  std::vector<ShardFileStatus> parts;
  PlanCounts plans;  ///< of all parts; plans_per_s of those that live, or of a single one
  /// Of the shard files next to a merged file, if they have results or plans that it lacks.
  std::optional<PlanCounts> unmerged{};

  [[nodiscard]] bool is_array() const { return parts.size() > 1; }
  /// The state of its parts that comes first in RunState.
  [[nodiscard]] RunState state() const;
  [[nodiscard]] int exit_status() const;
  /// "running", "done", "failed" (some plans), "left" (work is) or "killed".
  [[nodiscard]] std::string_view state_word() const;
};

/// Maximum age of the status of a run that counts as running, in s.
inline constexpr double max_status_age_s = max_activity_age_s;

/// Looks at files without changing anything: at a single file, or at the parts of an array that are
/// named. If a single file is not there yet, it looks at the parts beside it that belong into it.
/// Throws RunError.
[[nodiscard]] FileStatus status_of(const std::vector<std::filesystem::path>& files);

/// Returns the shards whose files, or whose event logs or journals, are next to the file into which
/// they belong; in order.
[[nodiscard]] std::vector<Shard> shards_next_to(const std::filesystem::path& whole);

/// Whether a living process has the right to write this file, which may not be there yet.
[[nodiscard]] bool is_being_written(const std::filesystem::path& file);
/// All of it; with `why`, a sentence for each plan that was not simply solved at its first start,
/// for which the rows are read again. Throws RunError.
[[nodiscard]] Report make_report(const FileStatus& status, bool why = false);
/// The sums in one line, with the time of day (UTC).
[[nodiscard]] std::string one_line_text(const FileStatus& status);

}  // namespace wallheat
