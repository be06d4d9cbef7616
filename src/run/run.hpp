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
#include "plans/plan_source.hpp"
#include "queue/coordinator.hpp"
#include "queue/link.hpp"
#include "queue/messages.hpp"
#include "run/run_options.hpp"
#include "view/run_monitor.hpp"
#include "view/terminal.hpp"

namespace wallheat {

/// This rank's part of a run, or all of it if there is one process: rank 0 hands out plans and
/// stores results, the others solve. Returns an ExitStatus, or does not return if other ranks are
/// lost and MPI could only be left by force. Throws RunError.
int run(const RunOptions& options);

/// What can be told of a run before it starts.
struct PreflightReport {
  std::vector<std::pair<std::string, std::string>> facts;  ///< subjects and messages
  std::vector<std::string> warnings;                       ///< messages for a run that can start
  std::vector<std::string> problems;                       ///< each would stop the run
  std::string done;  ///< reason why no plan is left to solve; empty if one is
  std::optional<std::size_t> plan_count{};  ///< plans of the shard; nullopt if unknown
};

/// Takes all steps of a run's preparation, also after a problem, and looks at disk, memory, solver
/// and devices. Changes nothing.
[[nodiscard]] PreflightReport run_preflight_check(const RunOptions& options);

/// What rank 0 knows of its surroundings.
struct RunEnvironment {
  int ranks = 1;            ///< of MPI; 1 if one process does all
  std::string mpi_library;  ///< "none" without MPI
  Timeouts timeouts;
};

/// Rank 0's run, from the list of ids to the closed file. All steps that read or write files run in
/// `thread`, so that the calling thread can send heartbeats to the workers all the time.
/// Returns an ExitStatus; throws UsageError or RunError.
[[nodiscard]] int run_rank0(Link& link, BackgroundThread& thread, const RunOptions& options,
                            const RunEnvironment& surroundings, Log& logger);

/// What a worker needs: how it opens its share of its host, and how it compares its options and
/// plans with rank 0's. `machines` are those of all workers of its host, as each finds its own;
/// `mine` is the index of its own.
[[nodiscard]] WorkerContext worker_context(const RunOptions& options, const Timeouts& timeouts,
                                           const std::vector<Machine>& machines, std::size_t mine);

/// What coordinate() has to know, and what it calls.
struct CoordinationContext {
  Setup setup;
  std::vector<PlanQueue::InitialState> plans;
  std::function<Task(std::uint32_t plan)> task;
  Coordinator::Options options;
  /// Seconds since the run began.
  std::function<double()> elapsed_s;
  /// Seconds until the run must be over.
  std::function<double()> time_left_s = [] { return std::numeric_limits<double>::infinity(); };
  /// What has become known of the plans' work since the last call, in cell updates.
  std::function<std::vector<std::pair<std::uint32_t, double>>()> new_estimates;
  /// Stores what events say of plans, and tells people of all events. When it returns, the results
  /// are on disk. Called in the background thread, now and then also without events, with the
  /// seconds that are left (NaN if that cannot be estimated).
  std::function<void(std::span<Event> events, double seconds_left)> store;
  std::function<bool()> interrupted;
};

/// Runs `work`, which may take long, in the background thread, while the calling thread sends
/// heartbeats to the workers. Throws the exception of `work`.
void run_with_heartbeats(Link& link, BackgroundThread& thread, double heartbeat_interval_s,
                         std::function<void()> work);

/// Hands out the plans and has the results stored. Neither a slow disk nor a slow terminal holds up
/// the calling thread, which tells the workers that rank 0 lives. While storing is behind, no
/// more plans are handed out. Throws RunError if no worker reports, or all have left; and whatever
/// `store` throws.
[[nodiscard]] RunEnd coordinate(Link& link, BackgroundThread& thread, CoordinationContext context);

/// Tells all workers to end. Rank 0 must do so once, however it ends. Returns the ranks that
/// did not answer in time: MPI must not be asked to wait for them.
[[nodiscard]] std::vector<int> shut_down_workers(Link& link, std::chrono::milliseconds timeout);

// What a run says at its end.

/// Says what became of the plans, and where the results are.
void log_summary(const RunMonitor& monitor, const RunOptions& options, Log& logger);

/// What is to be done now: the last line.
[[nodiscard]] std::string next_step_text(const RunTally& tally, const RunOptions& options,
                                         bool is_work_left);

/// To give more time is all that helps a run that was to stop before any plan could start.
inline constexpr const char* more_time_hint =
    "give the run more time (--time-limit, or the job's own limit), then go on with --resume";

[[nodiscard]] std::string failure_limit_reason(std::size_t failed, const RunOptions& options);

/// Why another session like this one would get no further either, so that a job script that submits
/// itself again would do so for ever: nothing was solved, and the time limit was reached, no plan
/// could start, or everything at hand was started and abandoned often enough. Empty if that is not
/// so.
[[nodiscard]] std::string no_progress_reason(
    RunEnd end, const RunProgress& progress, const PlanSource& source,
    const std::function<std::string(std::uint32_t plan)>& id_of, const RunOptions& options);

}  // namespace wallheat
