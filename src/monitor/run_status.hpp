#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/gpu_stats.hpp"
#include "core/machine.hpp"
#include "core/members.hpp"

namespace wallheat {

class Log;

// The status file has the members of these structures under their names.

/// A plan in progress on a worker.
struct RunningPlan {
  std::string id;
  std::int64_t iterations = 0;
  /// °C; NaN before the first convergence check.
  double delta = std::numeric_limits<double>::quiet_NaN();
  double seconds = 0;  ///< since its start
};
WALLHEAT_MEMBERS(RunningPlan, id, iterations, delta, seconds);

/// State of a worker, as rank 0 knows it.
struct WorkerStatus {
  int rank = 0;
  std::string host;
  std::string device;
  std::size_t threads = 0;
  std::size_t plans = 0;             ///< results stored
  double last_heard_s = 0;           ///< seconds since its last message
  std::string state;                 ///< working, idle, left (departed) or lost
  std::vector<RunningPlan> running;  ///< the plans that have been in progress longest
  std::optional<GpuSample> gpu{};    ///< latest sample of its GPU; nullopt if it has none
  std::size_t running_plans = 0;     ///< number of all plans in progress
  std::int64_t peak_memory = 0;      ///< maximum memory of its process in bytes; 0: unknown
};
WALLHEAT_MEMBERS(WorkerStatus, rank, host, device, threads, plans, last_heard_s, state,
                 running_plans, running, gpu, peak_memory);

/// Interval at which a run replaces its status file.
inline constexpr std::chrono::seconds status_interval{2};
/// Limits of the lists in a status: plans in progress per worker, and workers.
inline constexpr std::size_t max_running_listed = 8;
inline constexpr std::size_t max_workers_listed = 64;

/// Status of a run at one moment. Rank 0 writes it every few seconds for observers. The last status
/// of a run records its exit status, and remains until the next run, merge or repair of the file.
struct RunStatus {
  std::string started_utc;  ///< as in the attributes of the session, which it identifies
  std::string written_utc;
  /// starting, running, draining (after a graceful stop was requested), closing (compacting the
  /// result file) or ended
  std::string state;
  std::string host;          ///< host of rank 0, which writes the status
  int exit_status = -1;      ///< ExitStatus of a run that has ended; negative: unknown
  std::size_t total = 0;     ///< plans of this run (of its shard)
  std::size_t restored = 0;  ///< plans that earlier sessions solved
  std::size_t solved = 0;    ///< in this session
  std::size_t failed = 0;    ///< in this session
  std::size_t running = 0;   ///< plans in progress; a part of `left`
  std::size_t left = 0;      ///< neither solved nor failed, including those in progress
  double plans_per_s = 0;
  std::optional<double> seconds_left;  ///< nullopt while it cannot be predicted
  /// Workers by rank. If there are more than max_workers_listed: those that are lost, that sent no
  /// message for the longest time, or that have been solving a plan for the longest time.
  std::vector<WorkerStatus> workers;
  /// Number of workers in each state, of all workers.
  std::map<std::string, std::size_t> worker_states;
};
WALLHEAT_MEMBERS(RunStatus, started_utc, written_utc, state, host, exit_status, total, restored,
                 solved, failed, running, left, plans_per_s, seconds_left, worker_states, workers);

/// Returns the path of the status file of a result file: FILE.status, where FILE is its
/// result_path().
[[nodiscard]] std::filesystem::path status_file(const std::filesystem::path& result_file);

/// Formats a status as a JSON object. NaN and infinity become null.
[[nodiscard]] std::string status_json(const RunStatus& status);
/// Parses a status. Fields that are missing, or that have another type, as in files of other
/// versions, keep the values of RunStatus{}. Throws DecodeError if the text is not a JSON object.
[[nodiscard]] RunStatus run_status_from_json(std::string_view text);

/// Throws RunError if the file exists and was not written by wallheat.
void require_own_status(const std::filesystem::path& path);
/// Replaces the status file; a reader sees the old one or the new one. If no file can be created,
/// overwrites the old one in place. Throws RunError, also if wallheat did not write the old one;
/// whatever happens to this file, the results are safe.
void write_run_status(const std::filesystem::path& path, const RunStatus& status);
/// Returns nullopt if the file does not exist. Throws RunError if it is damaged or cannot be read.
[[nodiscard]] std::optional<RunStatus> read_run_status(const std::filesystem::path& path);
/// Removes the status file if wallheat wrote it. Throws RunError.
void remove_run_status(const std::filesystem::path& path);

/// Publishes the status file of a run. Launchers and other hosts conclude from the age of the file
/// whether the run is alive, so it must be written regularly. Writes in a background thread, so
/// that a slow file system cannot block the run.
class LiveStatus {
 public:
  /// Logs one warning if the status file cannot be written. `log` must outlive this object.
  LiveStatus(std::filesystem::path file, Log& log) : file_(std::move(file)), log_(log) {}
  ~LiveStatus() { stop_publishing(); }
  LiveStatus(const LiveStatus&) = delete;
  LiveStatus& operator=(const LiveStatus&) = delete;

  /// Requests one write of the status, also if the status has not changed, because its age matters.
  /// Returns at once; a later call replaces a status that is not yet written.
  void write(RunStatus status) { set(std::move(status), false); }
  /// Requests a write of the status every status_interval until the next call of any function of
  /// this class. For the start and the end of a run, in which no events occur for a long time.
  void publish_periodically(RunStatus status) { set(std::move(status), true); }
  /// Waits until the last status is written, and stops writing.
  void stop_publishing() { thread_.reset(); }

 private:
  void set(RunStatus status, bool repeats);
  void write_loop(const std::stop_token& stop);

  std::filesystem::path file_;
  Log& log_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  RunStatus status_;
  bool is_new_ = false;
  bool repeats_ = false;
  std::optional<std::jthread> thread_;  // none before the first status and after stop_publishing()
};

}  // namespace wallheat
