#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "isolation/job_settings.hpp"
#include "node/placement.hpp"
#include "queue/shard.hpp"
#include "view/run_monitor.hpp"

namespace wallheat {

/// What --check is for.
enum class CheckFor { nothing, this_machine, a_job };

/// What `wallheat run` was asked to do.
struct RunOptions {
  JobSettings job;  ///< the plans, and how to solve them
  std::filesystem::path out;
  std::filesystem::path whole;     ///< `out` without a shard: where the parts belong
  std::filesystem::path ids_file;  ///< empty: all plans of data
  std::vector<std::string> ids;    ///< given as arguments
  std::size_t first = 0;           ///< 0: all
  DeviceChoice device = DeviceChoice::automatic;
  int threads = 0;
  double memory_gb = 0;  ///< of each node; 0: what a process may hold there
  bool resume = false;
  bool overwrite = false;
  Shard shard;
  /// When the time limit strikes, by a clock that nobody sets.
  std::optional<std::chrono::steady_clock::time_point> end;
  int max_attempts = 3;
  bool retry_failed = false;
  int stop_after_failures = 0;  ///< plans given up in this session; 0: never
  double worker_timeout_s = 0;
  std::string notify;              ///< command of a shell, told how the run ended; empty: none
  bool print_out = false;          ///< only say where the results would go
  bool print_open_shards = false;  ///< only say which shards nobody works at
  CheckFor check = CheckFor::nothing;
  std::size_t job_cores = 0;    ///< on each node of the job that is checked for; 0: unknown
  std::size_t job_workers = 1;  ///< that share them
  bool json = false;            ///< what `check` finds, as JSON
  std::string log_level;
  ProgressStyle progress = ProgressStyle::lines;
  std::filesystem::path events;
  std::string command_line;
  std::string configuration;  ///< all options and their values, as a configuration file
  /// The part of them that must be the same in all ranks: without what concerns a rank's own
  /// process, or the people who look at this session.
  std::string settings;
};

}  // namespace wallheat
