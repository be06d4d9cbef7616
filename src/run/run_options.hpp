#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isolation/task_runner.hpp"
#include "node/placement.hpp"
#include "queue/shard.hpp"
#include "view/run_monitor.hpp"

namespace wallheat {

/// After how much silence the other side counts as gone.
struct Timeouts {
  double worker_timeout_s = 30;  ///< rank 0's patience with a worker
  /// Rank 0's patience with a worker that starts: its solvers may take two minutes to load.
  double startup_timeout_s = 180;
  /// A worker's patience with rank 0.
  [[nodiscard]] double rank0_timeout_s() const { return 4 * worker_timeout_s; }
  /// Rank 0's patience with the start and the end of MPI, in which all ranks take part.
  [[nodiscard]] double collective_timeout_s() const { return std::max(30.0, rank0_timeout_s()); }
  /// Time from one sign of life to the next.
  [[nodiscard]] double heartbeat_interval_s() const { return std::min(1.0, worker_timeout_s / 10); }
};

/// In one process neither side can be gone, however long it waits for a disk or a terminal.
[[nodiscard]] inline Timeouts no_timeouts() {
  constexpr double endless = std::numeric_limits<double>::infinity();
  return {endless, endless};
}

/// What --check is for.
enum class CheckMode { nothing, this_machine, a_job };

/// Resources of the job that `--check=job` checks, as far as they are known.
struct JobResources {
  std::size_t nodes = 0;              ///< 0: unknown
  std::size_t workers = 1;            ///< on each node
  std::size_t cores = 0;              ///< of each node; 0: unknown
  std::optional<std::size_t> gpus{};  ///< of each node; nullopt: unknown
};

/// What `wallheat run` was asked to do.
struct RunOptions {
  SolveConfig solve;  ///< the plans, and how to solve them
  std::filesystem::path out;
  std::filesystem::path merged_out;  ///< `out` without a shard: where the parts belong
  std::filesystem::path ids_file;    ///< empty: all plans of data
  std::vector<std::string> ids;      ///< given as arguments
  std::size_t first = 0;             ///< 0: all
  DeviceChoice device = DeviceChoice::automatic;
  int threads = 0;
  double memory_gb = 0;  ///< of each node; 0: what a process may hold there
  bool resume = false;
  bool overwrite = false;
  Shard shard;
  bool shard_is_from_array = false;  ///< `shard` is the position of a task in a Slurm or LSF array
  /// When the time limit strikes, by a clock that nobody sets.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::vector<std::string> job_warnings;  ///< messages for the log about the scheduler's job
  int max_attempts = 3;
  bool retry_failed = false;
  int stop_after_failures = 0;  ///< plans given up in this session; 0: never
  double worker_timeout_s = 0;
  std::string notify;              ///< command of a shell, told how the run ended; empty: none
  bool print_out = false;          ///< only say where the results would go
  bool print_open_shards = false;  ///< only say which shards nobody works at
  CheckMode check = CheckMode::nothing;
  JobResources job;
  bool json = false;  ///< what `check` finds, as JSON
  std::string log_level;
  ProgressStyle progress = ProgressStyle::lines;
  std::filesystem::path events;
  std::string command_line;
  std::string configuration;  ///< all options and their values, as a configuration file
  /// The part of them that must be the same in all ranks: without what concerns a rank's own
  /// process, or the people who look at this session.
  std::string settings;
};

/// A line of a configuration file: name = value.
struct Setting {
  std::string name, value;
};

/// A line that begins with # is a comment; blanks around name and value are dropped, and all else
/// is the value as it stands. Throws UsageError, without the file's name.
[[nodiscard]] std::vector<Setting> parse_settings(std::string_view text);

/// Whether a line can hold the value: without a line break, or a blank at an end.
[[nodiscard]] bool fits_on_config_line(std::string_view value);
[[nodiscard]] std::string setting_line(const std::string& name, std::string_view value);

/// The text of a file or pipe. Throws UsageError if it cannot be read or is no configuration.
[[nodiscard]] std::string read_configuration_file(const std::string& file);

}  // namespace wallheat
