#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/gpu_usage.hpp"
#include "view/json_forward.hpp"

namespace wallheat {

/// A plan that a worker is at.
struct RunningPlan {
  std::string id;
  std::int64_t iterations = 0;
  double delta = std::numeric_limits<double>::quiet_NaN();  ///< °C; NaN before the first look
  double seconds = 0;                                       ///< since it was started
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
  std::optional<GpuSample> gpu{};    ///< what its GPU told last; nothing where it has none
  std::size_t running_plans = 0;     ///< all that it is at
  std::int64_t peak_memory = 0;      ///< bytes that its process has held at most; 0: unknown
};

/// How often a run replaces its status.
inline constexpr std::chrono::seconds status_interval{2};
/// A status says no more of a worker, or of all of them, however many there are.
inline constexpr std::size_t most_running_told = 8;
inline constexpr std::size_t most_workers_told = 64;
inline constexpr std::size_t largest_status_bytes = 100'000;

/// What a run is doing at one moment. Rank 0 writes it every few seconds for observers.
struct RunStatus {
  std::string file;         ///< the result file
  std::string started_utc;  ///< as in the attributes of its session: tells which session this was
  std::string written_utc;
  std::string state;  ///< one word: starting, running, draining, closing
  std::string host;   ///< of the writer
  std::int64_t pid = 0;
  std::size_t total = 0;  ///< plans of this run (of its shard)
  std::size_t restored = 0;
  std::size_t solved = 0;  ///< in this session
  std::size_t failed = 0;  ///< in this session
  std::size_t left = 0;
  double plans_per_s = 0;
  std::optional<double> seconds_left;  ///< nothing while it cannot be estimated
  std::string shard;                   ///< "K/N"; empty: no shard
  /// By rank. Of many, those that are lost, silent or longest at a plan.
  std::vector<WorkerStatus> workers;
  std::map<std::string, std::size_t> worker_states;  ///< all workers: how many are in each state
};

/// Where the status of a result file lies: beside it, named FILE.status. See result_path.
[[nodiscard]] std::filesystem::path status_file(const std::filesystem::path& result_file);

[[nodiscard]] Json to_json(const RunStatus& status);
[[nodiscard]] std::string to_json_text(const RunStatus& status);
/// Throws DecodeError if the text is no status.
[[nodiscard]] RunStatus run_status_from_json(std::string_view text);

/// Replaces the status file; a reader sees the old one or the new one. Leaves out workers, the last
/// first, until no more than largest_status_bytes are left. Throws RunError; whatever happens to
/// this file, the results are safe.
void write_run_status(const std::filesystem::path& path, const RunStatus& status);
/// Nothing where there is no file. Throws DecodeError if it is damaged, RunError where it cannot
/// be read.
[[nodiscard]] std::optional<RunStatus> read_run_status(const std::filesystem::path& path);
/// Removes the status file if it is there. Throws RunError.
void remove_run_status(const std::filesystem::path& path);

}  // namespace wallheat
