#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/write_lock.hpp"
#include "queue/shard.hpp"
#include "store/result_store.hpp"
#include "view/json_forward.hpp"
#include "view/run_status.hpp"

namespace wallheat {

/// What has become of a file's last run.
enum class RunState { closed, being_written, killed, unknown };

/// Everything that is known of a file at one moment.
struct FileStatus {
  std::filesystem::path file;
  RunState state = RunState::unknown;
  LockHolder writer;
  bool is_whole = true;          ///< all results are in the HDF5 file
  std::optional<RunStatus> run;  ///< as the status file says
  double age_s = 0;              ///< of the status file
  std::string note;              ///< why there is none; may be empty
  Shard shard;
  std::size_t campaign = 0;  ///< plans of all shards
  std::string solver;        ///< name and version; empty if the file does not say
  Attributes session;        ///< the last one's
  std::size_t solved = 0;
  std::size_t pending = 0;
  std::vector<PlanResult> failed;
  std::size_t of_session = 0;  ///< plans that the last session solved or gave up

  /// Of the running session, else of the last if it ended by itself.
  [[nodiscard]] std::optional<double> plans_per_s() const;
  [[nodiscard]] std::optional<double> seconds_left() const;
  [[nodiscard]] std::string advice() const;
  [[nodiscard]] int exit_status() const;
  /// "running", "done", "failed" (some plans), "left" (work is) or "killed".
  [[nodiscard]] std::string_view word() const;
  /// How the last session ended, as an ExitStatus: one that was left open with 1 if it had solved
  /// nothing. It goes on only if a process is seen to hold the lock: a fresh status is no sign.
  [[nodiscard]] int session_exit_status() const;
  /// Names the last session, and says what came of it.
  [[nodiscard]] std::string session_text() const;
};

/// Looks at a result file and what lies beside it without changing anything. Throws RunError.
[[nodiscard]] FileStatus status_of(const std::filesystem::path& file);

/// Whether a living process has the right to write this file, which may not be there yet.
[[nodiscard]] bool is_being_written(const std::filesystem::path& file);

/// "done", "failed" or "left", of how a look at a closed file ends.
[[nodiscard]] std::string_view word_of(int exit_status);
/// "closed", "being written", ...
[[nodiscard]] std::string_view to_string(RunState state);
[[nodiscard]] Json to_json(const FileStatus& look);

/// Why a plan waits, failed or was not simply solved at its first start: a sentence.
struct PlanReason {
  std::string id;  ///< empty: of all plans that were never started
  std::string reason;
};
/// Of all such plans of the file, in its order. Throws RunError.
[[nodiscard]] std::vector<PlanReason> reasons_of(const FileStatus& look);

/// Prints it to stdout, for people.
void print_text(const FileStatus& look);
/// The same in one line, with the time of day (UTC).
void print_line(const FileStatus& look);

}  // namespace wallheat
