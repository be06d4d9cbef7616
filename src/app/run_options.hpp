#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/run_monitor.hpp"
#include "app/scheduler.hpp"
#include "wallheat/placement.hpp"
#include "wallheat/result_store.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// Which solver answers, and how it runs.
struct SolverOptions {
  Limits limits;
  bool reference = false;  ///< the sequential oracle instead of the vectorised back end
  Isa isa = Isa::baseline;
  std::optional<int> gpu{};  ///< CUDA's number of the GPU to solve on; the CPU otherwise

  /// A solver for the CPU.
  [[nodiscard]] std::unique_ptr<Solver> make() const;
  /// The CPU's: "cpu avx512", "cpu reference".
  [[nodiscard]] std::string device_text() const;
  /// Everything that decides the answers. Back ends are not part of it: all give the same bits.
  [[nodiscard]] Attributes settings() const;
};

/// What `wallheat run` was asked to do.
struct RunOptions {
  std::filesystem::path data;
  std::filesystem::path out;
  std::filesystem::path ids_file;  ///< empty: all plans of data
  std::vector<std::string> ids;    ///< given as arguments
  std::size_t first = 0;           ///< 0: all
  SolverOptions solver;
  DeviceChoice device = DeviceChoice::automatic;
  int threads = 0;
  bool save_fields = false;
  bool resume = false;
  bool overwrite = false;
  Shard shard;
  /// When the time limit strikes, by a clock that nobody sets.
  std::optional<std::chrono::steady_clock::time_point> end;
  int max_attempts = 3;
  bool retry_failed = false;
  double plan_timeout_s = 0;
  double worker_timeout_s = 0;
  std::filesystem::path exit_status_file;  ///< empty: none
  bool print_out = false;                  ///< only say where the results would go
  std::string log_level;
  ProgressStyle progress = ProgressStyle::lines;
  std::filesystem::path events;
  std::string command_line;

  /// What must be the same in all ranks of a run.
  [[nodiscard]] std::vector<Fact> terms() const;
  /// What was asked for, wherever it stood, in the form of a configuration file.
  [[nodiscard]] std::string text() const;
};

/// Nothing where --help was asked for. Throws UsageError.
[[nodiscard]] std::optional<RunOptions> parse_run_options(const Arguments& arguments);

/// What --exit-status-file names among arguments that may be wrong otherwise; empty where none
/// does.
[[nodiscard]] std::filesystem::path exit_status_file_among(const Arguments& arguments);

class Options;

/// Declares the options that choose a solver; call finish() after parsing.
class SolverOptionParser {
 public:
  void declare(Options& options);
  /// Throws UsageError.
  [[nodiscard]] SolverOptions finish() const;

 private:
  double tolerance_ = 0;
  std::int64_t max_iterations_ = 0;
  std::string backend_;
  std::string isa_;
};

}  // namespace wallheat
