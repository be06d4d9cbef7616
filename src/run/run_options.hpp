#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isolation/task_runner.hpp"
#include "node/placement.hpp"
#include "store/shard.hpp"
#include "view/terminal.hpp"

namespace wallheat {

/// Times after which the other side counts as lost.
struct Timeouts {
  double worker_timeout_s = 30;  ///< heartbeat timeout of rank 0 for a worker
  /// Timeout of rank 0 for a worker that starts: its solvers may take two minutes to load.
  double startup_timeout_s = 180;
  /// Returns the heartbeat timeout of a worker for rank 0.
  [[nodiscard]] double rank0_timeout_s() const { return 4 * worker_timeout_s; }
  /// Returns the timeout for the start and the end of MPI, in which all ranks take part.
  [[nodiscard]] double collective_timeout_s() const { return std::max(30.0, rank0_timeout_s()); }
  /// Returns the time from one heartbeat to the next.
  [[nodiscard]] double heartbeat_interval_s() const { return std::min(1.0, worker_timeout_s / 10); }
};

/// Returns infinite timeouts, for a run in one process: no side can be lost, however long it waits
/// for a disk or a terminal.
[[nodiscard]] inline Timeouts no_timeouts() {
  constexpr double endless = std::numeric_limits<double>::infinity();
  return {endless, endless};
}

/// Subject of `--check`: nothing (no check), this machine, or the nodes of a job.
enum class CheckMode { nothing, this_machine, a_job };

/// Resources of the job that `--check=job` checks, as far as they are known.
struct JobResources {
  std::size_t nodes = 0;              ///< 0: unknown
  std::size_t workers = 1;            ///< on each node
  std::size_t cores = 0;              ///< of each node; 0: unknown
  std::optional<std::size_t> gpus{};  ///< of each node; nullopt: unknown
};

/// Options of `wallheat run`.
struct RunOptions {
  SolveConfig solve;  ///< the plans, and how to solve them
  std::filesystem::path out;
  /// `out` without a shard: the file that the shard files are merged into.
  std::filesystem::path merged_out;
  std::filesystem::path ids_file;  ///< empty: all plans of the plan source
  std::vector<std::string> ids;    ///< given as arguments
  std::size_t first = 0;           ///< number of plans to solve, from the first; 0: all
  DeviceChoice device = DeviceChoice::automatic;
  int threads = 0;
  double memory_gb = 0;  ///< memory of each node in GB; 0: not given, so `--check` uses what it
                         ///< finds on this machine
  bool resume = false;
  bool overwrite = false;
  bool allow_changed_solver = false;  ///< with `resume`: the solver command may have changed
  Shard shard;
  bool shard_is_from_array = false;  ///< `shard` is the position of a task in a Slurm or LSF array
  /// End of the time limit, on a clock that is never adjusted.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  double cell_metres = 0;                 ///< width of a cell in m; 0: unknown
  std::vector<std::string> job_warnings;  ///< messages for the log about the scheduler's job
  int max_attempts = 3;
  bool retry_failed = false;
  int stop_after_failures = 0;  ///< plans given up in this session; 0: never
  double worker_timeout_s = 0;
  std::string notify;              ///< shell command that is run at the end of the run; empty: none
  bool print_out = false;          ///< only print the path of the result file
  bool print_open_shards = false;  ///< only print the shards that no job works on
  CheckMode check = CheckMode::nothing;
  JobResources job;
  bool json = false;  ///< print the findings of `check` as JSON
  std::string log_level;
  ProgressStyle progress = ProgressStyle::lines;
  std::filesystem::path events;
  std::string command_line;
  std::string configuration;  ///< all options and their values, as a configuration file
  /// The options that must be equal in all ranks, with their values.
  std::map<std::string, std::string> settings;
};

}  // namespace wallheat
