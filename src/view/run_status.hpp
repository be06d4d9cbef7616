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

namespace wallheat {

class Log;

// Each of these structures lists its fields once, by their names in the status file.

/// A plan that a worker is at.
struct RunningPlan {
  std::string id;
  std::int64_t iterations = 0;
  double delta = std::numeric_limits<double>::quiet_NaN();  ///< °C; NaN before the first look
  double seconds = 0;                                       ///< since it was started
  static void fields(auto&& visit, auto& self) {
    visit("id", self.id, "iterations", self.iterations, "delta", self.delta, "seconds",
          self.seconds);
  }
};

/// A worker as rank 0 knows it.
struct WorkerStatus {
  int rank = 0;
  std::string host;
  std::string device;
  std::size_t threads = 0;
  std::size_t plans = 0;             ///< results stored
  double last_heard_s = 0;           ///< seconds since its last message
  std::string state;                 ///< one word: working, idle, left, lost, ...
  std::vector<RunningPlan> running;  ///< those that it is longest at
  std::optional<GpuSample> gpu{};    ///< what its GPU told last; nothing if it has none
  std::size_t running_plans = 0;     ///< all that it is at
  std::int64_t peak_memory = 0;      ///< bytes that its process has held at most; 0: unknown
  static void fields(auto&& visit, auto& self) {
    visit("rank", self.rank, "host", self.host, "device", self.device, "threads", self.threads,
          "plans", self.plans, "last_heard_s", self.last_heard_s, "state", self.state,
          "running_plans", self.running_plans, "running", self.running, "gpu", self.gpu,
          "peak_memory", self.peak_memory);
  }
};

/// How often a run replaces its status.
inline constexpr std::chrono::seconds status_interval{2};
/// A status names no more plans of a worker, and no more workers, however many there are.
inline constexpr std::size_t max_running_listed = 8;
inline constexpr std::size_t max_workers_listed = 64;

/// What a run is doing at one moment. Rank 0 writes it every few seconds for observers. The last
/// one records the exit status of the run; it remains until the next run, merge or repair of the
/// file.
struct RunStatus {
  std::string started_utc;  ///< as in the attributes of its session: tells which session this was
  std::string written_utc;
  std::string state;      ///< one word: starting, running, draining, closing, ended
  std::string host;       ///< of the writer
  int exit_status = -1;   ///< ExitStatus of a run that has ended; negative: unknown
  std::size_t total = 0;  ///< plans of this run (of its shard)
  std::size_t restored = 0;
  std::size_t solved = 0;   ///< in this session
  std::size_t failed = 0;   ///< in this session
  std::size_t running = 0;  ///< of those that are left
  std::size_t left = 0;     ///< with those that run
  double plans_per_s = 0;
  std::optional<double> seconds_left;  ///< nothing while it cannot be estimated
  /// By rank. Of many, those that are lost, silent or longest at a plan.
  std::vector<WorkerStatus> workers;
  std::map<std::string, std::size_t> worker_states;  ///< all workers: how many are in each state
  static void fields(auto&& visit, auto& self) {
    visit("started_utc", self.started_utc, "written_utc", self.written_utc, "state", self.state,
          "host", self.host, "exit_status", self.exit_status, "total", self.total, "restored",
          self.restored, "solved", self.solved, "failed", self.failed, "running", self.running,
          "left", self.left, "plans_per_s", self.plans_per_s, "seconds_left", self.seconds_left,
          "worker_states", self.worker_states, "workers", self.workers);
  }
};

/// Where the status of a result file lies: beside it, named FILE.status. See result_path.
[[nodiscard]] std::filesystem::path status_file(const std::filesystem::path& result_file);

/// A JSON object. Numbers that are not finite are null.
[[nodiscard]] std::string status_json(const RunStatus& status);
/// What the text lacks, or has in another form, as that of another version may, stays as in
/// RunStatus{}. Throws DecodeError if the text is no object.
[[nodiscard]] RunStatus run_status_from_json(std::string_view text);

/// Throws RunError if there is a file of this name that wallheat did not write.
void require_own_status(const std::filesystem::path& path);
/// Replaces the status file; a reader sees the old one or the new one. If no file can be created,
/// overwrites the old one in place. Throws RunError, also if wallheat did not write the old one;
/// whatever happens to this file, the results are safe.
void write_run_status(const std::filesystem::path& path, const RunStatus& status);
/// Nothing if there is no file. Throws RunError if it is damaged or cannot be read.
[[nodiscard]] std::optional<RunStatus> read_run_status(const std::filesystem::path& path);
/// Removes the status file if wallheat wrote it. Throws RunError.
void remove_run_status(const std::filesystem::path& path);

/// The status of a run, which is its sign of life: if it grows old, a launcher or another host
/// takes the run for dead. A thread of its own writes it, so that a slow file system holds up
/// nobody.
class LiveStatus {
 public:
  /// If the status file cannot be written, this is said once.
  LiveStatus(std::filesystem::path file, Log& log) : file_(std::move(file)), log_(log) {}
  ~LiveStatus() { stop_publishing(); }
  LiveStatus(const LiveStatus&) = delete;
  LiveStatus& operator=(const LiveStatus&) = delete;

  /// Has it written once: each call is a sign of life.
  void write(RunStatus status) { set(std::move(status), false); }
  /// Has it written every status_interval until the next call of any function here: while a run
  /// starts and ends, nothing is reported for a long time.
  void publish_periodically(RunStatus status) { set(std::move(status), true); }
  /// Waits until the last one is written. Writes no more.
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
  std::optional<std::jthread> thread_;  // none before the first status
};

}  // namespace wallheat
