#include "run/rank0.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/program.hpp"
#include "core/text.hpp"
#include "monitor/file_status.hpp"
#include "monitor/run_monitor.hpp"
#include "monitor/run_status.hpp"
#include "node/local_machine.hpp"
#include "run/build_info.hpp"
#include "run/coordinator_loop.hpp"
#include "run/event_writer.hpp"
#include "run/plan_selection.hpp"
#include "run/preparation.hpp"
#include "run/run_outcome_messages.hpp"
#include "run/stop_signals.hpp"
#include "run/work_estimator.hpp"
#include "store/result_file_names.hpp"
#include "store/result_path.hpp"
#include "store/result_store.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

Attributes session_start(const RunOptions& options, const RunEnvironment& environment,
                         const std::string& started_utc) {
  Attributes start{{"command_line", options.command_line},
                   {"wallheat_version", std::string(version())},
                   {"commit", source_commit},
                   {"compiler", compiler_name},
                   {"cpu_model", local_processor().model},
                   {"hdf5_library", hdf5_library()},
                   {"mpi_library", environment.mpi_library},
                   {"configuration", options.configuration},
                   {"ranks", std::to_string(environment.ranks)},
                   {"shard", options.shard.text()},
                   {"max_attempts", std::to_string(options.max_attempts)},
                   {"data", std::filesystem::absolute(options.solve.data).string()},
                   {"started_utc", started_utc}};
  for (const char* const name : {"commit", "cpu_model"})  // may be unknown
    if (start[name].empty()) start.erase(name);
  // Not a setting of the file: areas in m² are computed when they are shown.
  if (options.cell_metres > 0) start["cell_size"] = fmt::format("{}", options.cell_metres);
  return start;
}

/// Returns the status of a run that is starting.
RunStatus first_status() {
  RunStatus status;
  status.started_utc = status.written_utc = utc_now();
  status.state = "starting";
  status.host = host_name();
  return status;
}

using Clock = std::chrono::steady_clock;

double seconds_until(Clock::time_point time) {
  return std::chrono::duration<double>(time - Clock::now()).count();
}

/// Returns when to stop solving, so that there is time for storing and closing before the time
/// limit: 1/20 of the remaining time, at least 1 s and at most 60 s (Slurm may end a job half a
/// minute early). The time for the compaction is reserved in addition.
Clock::time_point stop_time(Clock::time_point limit, Log& logger) {
  using std::chrono::seconds;
  const auto kept =
      std::clamp<Clock::duration>((limit - Clock::now()) / 20, seconds(1), seconds(60));
  const double left_s = seconds_until(limit - kept);
  const std::string kept_text = duration_text(std::chrono::duration<double>(kept).count());
  if (left_s > 0) {
    logger.info("stopping in {}, {} before the time limit", duration_text(left_s), kept_text);
  } else {
    logger.warn(
        "time limit too short: {} are reserved for storing results and closing the file; use a "
        "longer --time-limit",
        kept_text);
  }
  return limit - kept;
}

/// State of rank 0, from the list of IDs to the closed file.
class Rank0 {
 public:
  /// Opens the plan source, checks for changed inputs, and creates the result file if any plan is
  /// left to solve. Throws StopRequested.
  Rank0(const RunOptions& options, const RunEnvironment& environment, Log& logger)
      : options_(options),
        logger_(logger),
        status_(first_status()),
        live_status_(status_file(options.out), logger),
        preparation_{options,
                     [&logger](const std::string& message) { logger.warn("{}", message); }} {
    for (const std::string& warning : options.job_warnings) logger_.warn("{}", warning);
    // With several ranks, rank 0 may be on a host without GPUs. Then the workers check.
    if (environment.ranks == 1) require_gpus(options);
    preparation_.check_shard_files();
    // This comes first, because the following steps may take long: no other process may write the
    // file or its status meanwhile.
    ResultClaim claim(options.out, preparation_.open_mode(), stop_requested);
    require_own_status(status_file(options.out));
    remove_temporary_files(status_file(options.out));  // left by a killed run
    live_status_.publish_periodically(status_);
    try {
      prepare(environment, claim);
    } catch (const UsageError&) {
      record_failed_start(exit_usage);
      throw;
    } catch (...) {
      record_failed_start(exit_failed);
      throw;
    }
  }

  /// Has all plans solved and their results stored.
  void solve(Link& link, BackgroundThread& thread, const Timeouts& timeouts) {
    if (plans().empty()) return;
    const EventWriter rows{*store_, preparation_.ids.ids, plans(),
                           options_.solve.solver.solver_text(),
                           [this](const Event& event, const PlanResult& row) {
                             monitor_->on_event(event, row);
                             count_failures();
                           }};
    CoordinationContext context;
    context.setup = {std::string(version()), options_.settings, source_};
    for (const QueuedPlan& plan : plans())
      context.plans.push_back({0, plan.attempts, plan.failures});
    context.task = [this](QueueIndex plan) { return task(plan); };
    context.options.max_attempts = options_.max_attempts;
    const SolverOptions& solver = options_.solve.solver;
    context.options.is_deterministic =
        solver.kind != SolverKind::command || solver.command.is_deterministic;
    context.options.heartbeat_timeout_s = timeouts.worker_timeout_s;
    context.options.startup_timeout_s = timeouts.startup_timeout_s;
    context.options.heartbeat_interval_s = timeouts.heartbeat_interval_s();
    context.elapsed_s = [this] { return monitor_->progress().elapsed_s(); };
    if (options_.deadline) {
      const auto end = stop_time(*options_.deadline, logger_);
      context.time_left_s = [this, end] {
        return seconds_until(end) - store_->compaction_seconds();
      };
    }
    context.new_estimates = [this] { return estimates_->take_new(); };
    context.store = [&](std::span<Event> events, double seconds_left) {
      rows.take(events, monitor_->progress().elapsed_s());
      // Not in each call: a thousand jobs of an array may ask the same file server.
      if (const auto now = Clock::now(); now >= next_name_check_) {
        next_name_check_ = now + std::chrono::seconds(1);
        store_->require_named();
      }
      monitor_->tick(seconds_left);
    };
    context.interrupted = [this] { return stop_requested() || too_many_failures_; };
    end_ = coordinate(link, thread, std::move(context));
  }

  /// Closes the file, reports, and records the exit status. Returns it.
  int close() {
    live_status_.publish_periodically(
        monitor_->status("closing", std::numeric_limits<double>::quiet_NaN()));
    estimates_.reset();
    const bool interrupted = end_ != RunEnd::finished;
    monitor_->finish(interrupted ? "run_stopped" : "run_finished");
    const std::string failure = failure_reason();
    closed_ = store_->close(session_end(), !interrupted, [this] { return must_stop_compaction(); });
    for (const std::string& message : closed_.messages) logger_.warn("{}", message);
    log_summary(*monitor_, options_, logger_);
    if (!failure.empty()) throw RunError(failure);
    if (closed_.stopped) on_compaction_stopped();
    const bool is_left = interrupted || closed_.stopped || closed_.lost > 0;
    logger_.log(is_left ? LogLevel::warn : LogLevel::info, "{}",
                next_step_text(monitor_->progress().tally(), options_, is_left));
    const int status = is_left ? exit_incomplete : final_exit_status();
    record_exit_status(status);
    return status;
  }

  /// Writes the exit status of the run to the status file, and stops updating it. Call this while
  /// the lock of the result file is held: the status file belongs to the run that holds it.
  void record_exit_status(int status) {
    RunStatus last =
        monitor_ ? monitor_->status("ended", std::numeric_limits<double>::quiet_NaN()) : status_;
    last.state = "ended";
    last.exit_status = status;
    live_status_.write(std::move(last));
    live_status_.stop_publishing();
  }

 private:
  [[nodiscard]] const QueueVector<QueuedPlan>& plans() const { return preparation_.plans; }
  [[nodiscard]] std::string id_of(QueueIndex plan) const { return preparation_.id_of(plan); }
  [[nodiscard]] Task task(QueueIndex plan) const {
    const std::string id = id_of(plan);
    return {plan, id, preparation_.source->entry_offsets(id)};
  }

  /// Returns why the run has failed; an empty string if it has not.
  [[nodiscard]] std::string failure_reason() const {
    if (too_many_failures_)
      return failure_limit_reason(monitor_->progress().tally().failed, options_);
    return no_progress_reason(
        end_, monitor_->progress(), *preparation_.source,
        [this](QueueIndex plan) { return id_of(plan); }, options_);
  }

  /// ExitStatus of a run without pending plans, whose file is compacted.
  [[nodiscard]] int final_exit_status() const {
    const RunTally& tally = monitor_->progress().tally();
    return tally.failed + tally.given_up > 0 ? exit_some_plans_failed : exit_done;
  }

  /// Returns true if no time is left for the compaction.
  [[nodiscard]] bool must_stop_compaction() const {
    return stop_requested() || (options_.deadline && seconds_until(*options_.deadline) < 0);
  }

  /// Throws RunError if the previous session could not compact the file either, or if there was
  /// nothing else to do: a job that is requeued after status 75 would be requeued indefinitely.
  void on_compaction_stopped() const {
    const std::string file = options_.out.string();
    if (awaited_compaction_ || plans().empty())
      throw RunError(
          fmt::format("{0}: compaction made no progress in two consecutive sessions; all results "
                      "are safe in {0}.wal*; {1}, or run 'wallheat repair {0}'",
                      file, more_time_hint));
    logger_.warn("{0}: compaction was stopped; all results are safe in {0}.wal*", file);
  }

  /// Records the exit status, unless `out` is a file of the user, next to which nothing may remain.
  void record_failed_start(int status) {
    try {
      require_own_results(options_.out);
    } catch (const RunError&) {
      live_status_.stop_publishing();
      remove_run_status(status_file(options_.out));
      return;
    }
    record_exit_status(status);
  }

  void prepare(const RunEnvironment& environment, ResultClaim& claim) {
    preparation_.find_plans();
    if (!preparation_.ids.origin_note.empty()) logger_.info("{}", preparation_.ids.origin_note);
    preparation_.check_walls();
    // Opened before any file is replaced, in case it cannot be written.
    std::optional<EventLog> events;
    if (!options_.events.empty()) events.emplace(options_.events);
    open_store(std::move(claim), session_start(options_, environment, status_.started_utc));
    if (events) events->add_run_start(store_->session_id());
    preparation_.collect_pending(
        [this](const Preparation::RowCallback& take) { store_->for_each_existing_row(take); });
    log_plan_counts();
    preparation_.warn_if_spacing_unknown();
    warn_about_disk_space();
    if (environment.ranks > 1) describe_plans(environment.ranks - 1);
    const auto name = [this](QueueIndex plan) { return id_of(plan); };
    monitor_.emplace(logger_, options_.progress, std::move(events), status_, name,
                     preparation_.tally, live_status_, environment.ranks > 1);
    estimates_.emplace(preparation_.source, plans().size(), name, options_.solve.solver.limits,
                       options_.solve.solver.kind);
    if (!plans().empty() && !store_->begin_unless_stopped()) throw StopRequested();
  }

  void open_store(ResultClaim claim, const Attributes& session) {
    store_.emplace(std::move(claim), preparation_.result_file_spec(), session);
    const Attributes previous = store_->journaled_session();
    const auto end_of_previous = previous.find("end");
    awaited_compaction_ =
        end_of_previous != previous.end() && end_of_previous->second == end_finished;
    for (const std::string& message : store_->warnings()) logger_.warn("{}", message);
  }

  void log_plan_counts() {
    const RunTally& tally = preparation_.tally;
    logger_.info("solving {} of {}, into {}", count_text(plans().size(), "plan"),
                 options_.solve.data.string(), options_.out.string());
    if (options_.shard.count > 1)
      logger_.info("shard {}: {} of {}, into {}", options_.shard.text(), tally.total,
                   count_text(preparation_.ids.ids.size(), "plan"), options_.out.string());
    if (preparation_.resumes)
      logger_.info("restored {} of {} from {}", tally.restored, count_text(tally.total, "plan"),
                   options_.out.string());
  }

  void warn_about_disk_space() {
    const auto folder = result_path(options_.out).parent_path();
    if (const auto warning = disk_space_warning(preparation_.estimate_disk_usage(), folder);
        !warning.empty())
      logger_.warn("{}", warning);
  }

  /// Describes the plans for workers that may have a copy of them. Limits the stamps that all
  /// workers get together to a million.
  void describe_plans(int workers) {
    constexpr std::size_t max_stamps = 5000;
    constexpr std::size_t max_stamps_sent = 1'000'000;
    if (plans().empty()) return;
    source_ = describe_source(*preparation_.source, plans().size(),
                              std::min(max_stamps, max_stamps_sent / std::size_t(workers)),
                              [this](QueueIndex plan) { return task(plan); });
  }

  /// Requests a stop after --stop-after-failures failed plans. Called by the thread that stores
  /// results, which also updates the tally.
  void count_failures() {
    const auto most = static_cast<std::size_t>(options_.stop_after_failures);
    if (most == 0 || too_many_failures_ || monitor_->progress().tally().failed < most) return;
    logger_.warn("{} failed; stopping (--stop-after-failures {})",
                 count_text(monitor_->progress().tally().failed, "plan has", "plans have"), most);
    too_many_failures_ = true;
  }

  [[nodiscard]] Attributes session_end() const {
    Attributes end = monitor_->progress().session_attributes(peak_memory());
    end["ended_utc"] = utc_now();
    end["end"] = end_ == RunEnd::finished ? end_finished : "stopped early";
    return end;
  }

  const RunOptions& options_;
  Log& logger_;
  RunStatus status_;  // status at the start
  LiveStatus live_status_;
  Preparation preparation_;
  std::optional<ResultStore> store_;
  Clock::time_point next_name_check_{};  // of the result file
  ResultStore::CloseReport closed_;      // holds the lock
  SourceDescription source_;
  std::optional<RunMonitor> monitor_;
  std::optional<WorkEstimator> estimates_;
  RunEnd end_ = RunEnd::finished;
  bool awaited_compaction_ = false;  // the previous session finished, but was not compacted
  std::atomic<bool> too_many_failures_ = false;
};

}  // namespace

int run_rank0(Link& link, BackgroundThread& thread, const RunOptions& options,
              const RunEnvironment& environment, Log& logger) {
  const auto in_background = [&](std::function<void()> work) {
    run_with_heartbeats(link, thread, environment.timeouts.heartbeat_interval_s(), std::move(work));
  };
  std::optional<Rank0> rank0;
  try {
    in_background([&] { rank0.emplace(options, environment, logger); });
  } catch (const StopRequested&) {
    throw RunError(fmt::format("stop requested before any plan could start; {}", more_time_hint));
  }
  int status = exit_failed;
  try {
    rank0->solve(link, thread, environment.timeouts);
    in_background([&] { status = rank0->close(); });
  } catch (...) {
    in_background([&] { rank0->record_exit_status(exit_failed); });
    throw;
  }
  return status;
}

}  // namespace wallheat
