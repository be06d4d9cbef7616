#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/background_thread.hpp"
#include "core/machine.hpp"
#include "isolation/worker_loop.hpp"
#include "monitor/run_monitor.hpp"
#include "plans/plan_source.hpp"
#include "queue/coordinator.hpp"
#include "queue/link.hpp"
#include "queue/messages.hpp"
#include "run/run_options.hpp"
#include "view/terminal.hpp"

namespace wallheat {

/// Runs `wallheat run` in this process: as rank 0, which assigns plans and stores results, as a
/// worker, which solves plans, or as both without MPI. Returns an ExitStatus. Does not return if
/// other ranks are lost and MPI cannot be finalized. Throws RunError.
int run(const RunOptions& options);

/// Findings of the preflight check.
struct PreflightReport {
  std::vector<std::pair<std::string, std::string>> facts;  ///< subjects and messages
  std::vector<std::string> warnings;                       ///< messages for a run that can start
  std::vector<std::string> problems;                       ///< each would stop the run
  std::string done;  ///< reason why no plan is left to solve; empty if one is
  std::optional<std::size_t> plan_count{};  ///< plans of the shard; nullopt if unknown
};

/// Takes all steps that prepare a run, even after a problem, and checks disk space, memory, solver
/// and devices. Changes nothing.
[[nodiscard]] PreflightReport run_preflight_check(const RunOptions& options);

/// Properties of the environment that rank 0 needs.
struct RunEnvironment {
  int ranks = 1;            ///< number of MPI ranks; 1 without MPI
  std::string mpi_library;  ///< "none" without MPI
  Timeouts timeouts;
};

/// Runs rank 0, from the list of IDs to the closed file. All steps that read or write files run in
/// `thread`, so that the calling thread can send heartbeats to the workers all the time. Returns an
/// ExitStatus. Throws UsageError or RunError.
[[nodiscard]] int run_rank0(Link& link, BackgroundThread& thread, const RunOptions& options,
                            const RunEnvironment& surroundings, Log& logger);

/// Returns the context of a worker: how it opens the devices of its share of the host, and how it
/// compares its options and plans with those of rank 0. `machines` describes the host as each of
/// its workers found it; `mine` is the index of this worker.
[[nodiscard]] WorkerContext worker_context(const RunOptions& options, const Timeouts& timeouts,
                                           const std::vector<Machine>& machines, std::size_t mine);

/// Parameters and callbacks of coordinate().
struct CoordinationContext {
  Setup setup;
  std::vector<PlanQueue::InitialState> plans;
  std::function<Task(std::uint32_t plan)> task;
  Coordinator::Options options;
  /// Returns the time since the start of the run, in s.
  std::function<double()> elapsed_s;
  /// Returns the time until the run must stop, in s.
  std::function<double()> time_left_s = [] { return std::numeric_limits<double>::infinity(); };
  /// Returns the queue indices and estimated cell updates of the plans that were estimated since
  /// the last call.
  std::function<std::vector<std::pair<std::uint32_t, double>>()> new_estimates;
  /// Stores the results in `events`, and reports all events to the user. When it returns, the
  /// results are on disk. Called in the background thread, from time to time also without events.
  /// `seconds_left` is the predicted time to completion; NaN if unknown.
  std::function<void(std::span<Event> events, double seconds_left)> store;
  std::function<bool()> interrupted;
};

/// Runs `work`, which may take long, in the background thread, while the calling thread sends
/// heartbeats to the workers. Rethrows the exception of `work`.
void run_with_heartbeats(Link& link, BackgroundThread& thread, double heartbeat_interval_s,
                         std::function<void()> work);

/// Assigns all plans to workers and has their results stored. The calling thread only exchanges
/// messages: `store` runs in the background thread, so that neither a slow disk nor a slow terminal
/// causes a heartbeat timeout. While storing is behind, no further plans are assigned. Throws
/// RunError if no worker becomes ready, or if all have left; and what `store` throws.
[[nodiscard]] RunEnd coordinate(Link& link, BackgroundThread& thread, CoordinationContext context);

/// Stops all workers. Rank 0 must call this once, however its run ends. Returns the ranks that did
/// not respond in time: MPI_Finalize would wait for them indefinitely.
[[nodiscard]] std::vector<int> shut_down_workers(Link& link, std::chrono::milliseconds timeout);

// Messages at the end of a run.

/// Logs the counts of solved and failed plans, the throughput, and where the results are.
void log_summary(const RunMonitor& monitor, const RunOptions& options, Log& logger);

/// Returns the last line of the log: the command that the user should run next.
[[nodiscard]] std::string next_step_text(const RunTally& tally, const RunOptions& options,
                                         bool is_work_left);

/// Hint for a run that stopped before any plan could be started or solved: only more time helps.
inline constexpr const char* more_time_hint =
    "give the run more time (--time-limit, or the job's own limit), then go on with --resume";

[[nodiscard]] std::string failure_limit_reason(std::size_t failed, const RunOptions& options);

/// Returns why another session with the same options would make no progress either; empty if it
/// might. A job script that resubmits itself stops on this, because it would do so indefinitely. No
/// progress is expected if nothing was solved and the time limit was reached, no plan could be
/// started, every aborted plan has used all attempts, or system errors kept the workers from
/// reading the plans.
[[nodiscard]] std::string no_progress_reason(
    RunEnd end, const RunProgress& progress, const PlanSource& source,
    const std::function<std::string(std::uint32_t plan)>& id_of, const RunOptions& options);

}  // namespace wallheat
