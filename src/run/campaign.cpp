#include "run/campaign.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "core/exit_status.hpp"
#include "core/version.hpp"
#include "node/local_machine.hpp"
#include "node/peak_memory.hpp"
#include "plans/plan_source.hpp"
#include "run/catalogue.hpp"
#include "run/coordinate.hpp"
#include "run/disk_need.hpp"
#include "run/forecast.hpp"
#include "run/recorder.hpp"
#include "run/signals.hpp"
#include "solve/gpu/device.hpp"
#include "store/result_path.hpp"
#include "store/result_store.hpp"
#include "view/advice.hpp"
#include "view/run_monitor.hpp"
#include "view/run_status.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Before any file is made. With more ranks this one may well be where no GPU is; then the workers'
/// placement tells.
void check_gpu_choice(const RunOptions& options, int ranks) {
  if (options.device != DeviceChoice::gpu || ranks > 1) return;
  const GpuSupport support = gpu_support();
  if (!support.can_solve) throw RunError("--device gpu is not possible here: " + support.reason);
}

Attributes session_start(const RunOptions& options, const RunSurroundings& surroundings,
                         const std::string& started_utc) {
  return {{"command_line", options.command_line},
          {"wallheat_version", std::string(version())},
          {"compiler", __VERSION__},
          {"hdf5_library", hdf5_library()},
          {"mpi_library", surroundings.mpi_library},
          {"configuration", options.configuration},
          {"ranks", std::to_string(surroundings.ranks)},
          {"shard", options.shard.text()},
          {"data", std::filesystem::absolute(options.job.data).string()},
          {"started_utc", started_utc}};
}

/// The status of a run of which no more is known yet.
RunStatus first_status() {
  RunStatus status;
  status.started_utc = status.written_utc = utc_now();
  status.state = "starting";
  status.host = host_name();
  return status;
}

/// A path as a shell takes it.
std::string shell_word(const std::filesystem::path& path) {
  std::string text = path.string();
  const bool plain = text.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                         "_-+=./,:@%") == std::string::npos;
  if (plain) return text;
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

/// What is to be done after a run.
std::string next_step(const RunTally& tally, const RunOptions& options, bool interrupted) {
  const std::string file = shell_word(options.out);
  if (interrupted) return fmt::format("stopped early; to go on, {}", resume_same);
  if (tally.failed + tally.given_up > 0)
    return fmt::format(
        "next: mend the input of the failed plans ('wallheat summary {}' names them), then {}{}",
        file, resume_same, and_retry_failed);
  if (options.shard.count > 1)
    return "next: once all shards are done, 'wallheat merge' makes one file of theirs";
  return fmt::format("next: wallheat summary {}", file);
}

/// The last lines of a run: the result and the file.
void report_end(const RunMonitor& monitor, const RunOptions& options, Log& logger) {
  const RunTally& tally = monitor.tally();
  const double elapsed = monitor.elapsed_s();
  if (tally.given_up > 0)
    logger.warn(
        "{} plan(s) failed too often in earlier sessions; --retry-failed gives them another "
        "chance",
        tally.given_up);
  std::string result = fmt::format(
      "restored {}, solved {}, failed {}{}{}", tally.restored, tally.solved, tally.failed,
      tally.given_up > 0 ? fmt::format(", given up earlier {}", tally.given_up) : "",
      tally.left() > 0 ? fmt::format(", left {}", tally.left()) : "");
  if (tally.solved + tally.failed > 0)
    result +=
        fmt::format(" in {}: {}, {}", duration_text(elapsed),
                    rate_text(static_cast<double>(tally.solved) / elapsed), tally.spent.text());
  logger.info("{}", result);
  if (tally.restored + tally.solved + tally.failed > 0)
    logger.info("the results are in {}", options.out.string());
}

/// The plans of this shard that want solving; counts all others of it. Refuses to mix answers to
/// different inputs in one file.
std::vector<QueuedPlan> plans_to_solve(const RunOptions& options, const PlanSource& source,
                                       ResultStore& store, RunTally& tally) {
  std::vector<QueuedPlan> plans;
  InputChanges changes;
  store.for_each_restored([&](const PlanResult& row) {
    if (stop_requested()) throw StopRequested();
    look_for_change(source, row, changes);
    if (!options.shard.holds(row.index)) return;
    ++tally.total;
    if (is_answer(row.status)) {
      ++tally.restored;
    } else if (row.failures >= options.max_attempts && !options.retry_failed) {
      ++tally.given_up;
    } else {
      plans.push_back({row.index, row.attempts, options.retry_failed ? 0 : row.failures});
    }
  });
  if (const std::string found = text_of(changes, source); !found.empty())
    throw RunError(
        fmt::format("{}: {}; bring the old input back, or solve all anew with --overwrite",
                    options.out.string(), found));
  return plans;
}

using Clock = std::chrono::steady_clock;

double seconds_until(Clock::time_point time) {
  return std::chrono::duration<double>(time - Clock::now()).count();
}

/// When to stop, so that there is time for storing and closing before the limit strikes: a
/// twentieth of what is left, at most a minute (Slurm may strike half a minute early). What making
/// one file of all will take goes off that.
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
        "the time limit leaves no time to solve anything, as {} of it are kept back for storing "
        "and closing: give a longer --time-limit",
        kept_text);
  }
  return limit - kept;
}

// Said where a job script that starts the same again would do so for ever.
constexpr const char* more_time =
    "give the run more time (--time-limit, or the job's own limit), then go on with --resume";

/// A run and all that it needs, from the list of ids to the closed file.
class Campaign {
 public:
  /// Opens the plans and the result file, and looks for changed inputs. Throws StopRequested.
  Campaign(const RunOptions& options, const RunSurroundings& surroundings, Log& logger)
      : options_(options),
        logger_(logger),
        status_(first_status()),
        live_status_([file = status_file(options.out)](
                         const RunStatus& status) { write_run_status(file, status); },
                     logger),
        resuming_(options.resume && has_results(options.out)) {
    check_gpu_choice(options, surroundings.ranks);
    // First of all, as what follows may take long: nobody else shall write the file or its status.
    ResultClaim claim(options.out,
                      resuming_           ? Opening::resume
                      : options.overwrite ? Opening::overwrite
                                          : Opening::create,
                      stop_requested);
    live_status_.keep(status_);
    try {
      prepare(surroundings, std::move(claim));
    } catch (...) {
      remove_status();
      throw;
    }
  }

  /// Makes the result file, if there is anything to solve. Throws StopRequested.
  void begin() {
    if (!plans_.empty() && !store_->begin()) throw StopRequested();
  }

  /// Hands out the plans and stores what comes back.
  void solve(Link& link, const Timeouts& timeouts) {
    if (plans_.empty()) return;
    Recorder recorder(*store_, ids_.ids, plans_, [this](const Event& event, const PlanResult& row) {
      monitor_->hear(event, row);
      count_failures();
    });
    CoordinationParts parts;
    parts.setup = {std::string(version()), options_.settings, samples_};
    for (const QueuedPlan& plan : plans_) parts.plans.push_back({0, plan.attempts, plan.failures});
    parts.task = [this](std::uint32_t plan) { return task(plan); };
    parts.options.max_attempts = options_.max_attempts;
    parts.options.silence_s = timeouts.worker_s;
    parts.options.start_s = timeouts.start_s;
    parts.options.sign_s = timeouts.sign_s();
    parts.elapsed_s = [this] { return monitor_->elapsed_s(); };
    if (options_.end) {
      const auto end = stop_time(*options_.end, logger_);
      parts.time_left_s = [this, end] { return seconds_until(end) - store_->fold_seconds(); };
    }
    parts.new_estimates = [this] { return forecast_->take(); };
    parts.store = [&](std::span<Event> events, double seconds_left) {
      recorder.record(events, monitor_->elapsed_s());
      monitor_->tick(seconds_left);
    };
    parts.interrupted = [this] { return stop_requested() || too_many_failures_; };
    end_ = coordinate(link, parts);
  }

  /// Closes the file and reports. Returns an ExitStatus.
  int close() {
    live_status_.keep(monitor_->status("closing", std::numeric_limits<double>::quiet_NaN()));
    forecast_.reset();
    const bool interrupted = end_ != RunEnd::finished;
    monitor_->finish(interrupted ? "run_stopped" : "run_finished");
    const auto closed = store_->close(session_end(), !interrupted, [this] { return must_end(); });
    remove_status();
    for (const std::string& sentence : closed.sentences) logger_.warn("{}", sentence);
    const RunTally& tally = monitor_->tally();
    report_end(*monitor_, options_, logger_);
    if (too_many_failures_) throw RunError(why_stopped_after_failures());
    if (interrupted && is_hopeless()) throw RunError(why_hopeless());
    if (closed.stopped)
      logger_.warn("stopped before {0} was made whole: all results are safe in {0}.wal*",
                   options_.out.string());
    const bool is_left = interrupted || closed.stopped || closed.lost > 0;
    logger_.log(is_left ? LogLevel::warn : LogLevel::info, "{}",
                next_step(tally, options_, is_left));
    return is_left ? exit_work_left : exit_status();
  }

 private:
  /// Of a run whose file is made whole.
  [[nodiscard]] int exit_status() const {
    const RunTally& tally = monitor_->tally();
    if (too_many_failures_) return exit_failed;
    if (end_ != RunEnd::finished) return is_hopeless() ? exit_failed : exit_work_left;
    return tally.failed + tally.given_up > 0 ? exit_some_plans_failed : exit_done;
  }

  [[nodiscard]] std::string id_of(const QueuedPlan& plan) const {
    return std::string(ids_.ids[plan.index]);
  }
  [[nodiscard]] Task task(std::size_t plan) const {
    const std::string id = id_of(plans_[plan]);
    return {static_cast<std::uint32_t>(plan), id, source_->places(id)};
  }

  /// That there is no time left to make the file whole.
  [[nodiscard]] bool must_end() const {
    return stop_requested() || (options_.end && seconds_until(*options_.end) < 0);
  }

  void remove_status() {
    live_status_.rest();
    try {
      remove_run_status(status_file(options_.out));
    } catch (const RunError& error) {
      logger_.warn("{}", error.what());  // no result is touched by that
    }
  }

  void prepare(const RunSurroundings& surroundings, ResultClaim claim) {
    const RunOptions& options = options_;
    source_ = open_plan_source(options.job.data);
    ids_ = requested_plans(*source_, options.ids, options.ids_file, options.first);
    if (!ids_.note.empty()) logger_.info("{}", ids_.note);
    for (const std::string& id : ids_.duplicates)
      logger_.warn("plan {} is named more than once; it is solved once", id);
    require_wall_kinds(*source_, ids_.ids, options.job.solver.walls, stop_requested);
    std::optional<EventLog> events;  // before any file is replaced, in case it cannot be written
    if (!options.events.empty()) events.emplace(options.events);
    const Attributes session = session_start(options, surroundings, status_.started_utc);
    open_store(std::move(claim), session);

    RunTally tally;
    plans_ = plans_to_solve(options, *source_, *store_, tally);
    say_what_is_to_do(tally);
    warn_of_unknown_spacing();
    warn_of_disk();
    if (surroundings.ranks > 1) take_samples();
    const auto name = [this](std::uint32_t plan) { return id_of(plans_[plan]); };
    monitor_.emplace(logger_, options.progress, std::move(events), status_, name, tally,
                     live_status_);
    forecast_.emplace(source_, plans_.size(), name, options.job.solver.limits,
                      options.job.solver.kind);
  }

  void open_store(ResultClaim claim, const Attributes& session) {
    StorePlan plan{ids_.ids, options_.job.solver.settings(), options_.job.save_fields};
    std::vector<std::string> report;
    store_ = resuming_ ? ResultStore::resume(std::move(claim), std::move(plan), session, &report)
                       : ResultStore::create(std::move(claim), std::move(plan), session);
    for (const std::string& sentence : report) logger_.warn("{}", sentence);
  }

  void say_what_is_to_do(const RunTally& tally) {
    logger_.info("solving {} plan(s) of {}, into {}", plans_.size(), options_.job.data.string(),
                 options_.out.string());
    if (options_.shard.count > 1)
      logger_.info("shard {}: {} of {} plans, into {}", options_.shard.text(), tally.total,
                   ids_.ids.size(), options_.out.string());
    if (resuming_)
      logger_.info("restored {} of {} plans from {}", tally.restored, tally.total,
                   options_.out.string());
  }

  /// By the first plan, as plans with and without sources seldom mix.
  void warn_of_unknown_spacing() {
    if (options_.job.solver.spacing_is_known || plans_.empty()) return;
    try {
      if (source_->has_source(id_of(plans_.front()))) logger_.warn("{}", unknown_spacing);
    } catch (const InputError&) {
      // The worker that gets it reports what is wrong with it.
    }
  }

  /// By some plans, over the list.
  void warn_of_disk() {
    constexpr std::size_t most = 100;
    const std::size_t looks = options_.job.save_fields ? std::min(most, plans_.size()) : 0;
    double cells = 0;
    for (std::size_t k = 0; k < looks; ++k) {
      try {
        const GridShape shape = source_->shape(id_of(plans_[k * plans_.size() / looks]));
        cells += static_cast<double>(shape.rows) * static_cast<double>(shape.cols);
      } catch (const InputError&) {
        // The worker that gets it reports what is wrong with it.
      }
    }
    const auto plans = static_cast<double>(plans_.size());
    if (looks > 0) cells *= plans / static_cast<double>(looks);
    const auto free = free_disk(options_.out);
    if (!free) return;
    if (const auto warning = lack_of_disk(disk_need(options_.job, plans, cells), *free);
        !warning.empty())
      logger_.warn("{}", warning);
  }

  /// By which rank 0 knows that its workers solve the same plans.
  void take_samples() {
    constexpr std::size_t most = 3;  // over the list
    const std::size_t count = std::min(most, plans_.size());
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t plan = k * (plans_.size() - 1) / std::max<std::size_t>(count - 1, 1);
      samples_.push_back({task(plan), plan_sample(*source_, id_of(plans_[plan]))});
    }
  }

  /// Called by the thread that stores, as the tally is.
  void count_failures() {
    const auto most = static_cast<std::size_t>(options_.stop_after_failures);
    if (most == 0 || too_many_failures_ || monitor_->tally().failed < most) return;
    logger_.warn("{} plan(s) have failed, so no more are started (--stop-after-failures {})",
                 monitor_->tally().failed, most);
    too_many_failures_ = true;
  }

  [[nodiscard]] std::string why_stopped_after_failures() const {
    return fmt::format(
        "{} plan(s) have failed, and --stop-after-failures {} was asked for: 'wallheat summary {}' "
        "names them; mend what is wrong, then {}{}",
        monitor_->tally().failed, options_.stop_after_failures, shell_word(options_.out),
        resume_same, and_retry_failed);
  }

  /// The most memory that each rank has held, in bytes, as far as it is known: "0:31244288 1:...".
  [[nodiscard]] std::string rank_memory() const {
    auto bytes = monitor_->peak_memory();
    bytes[0] = PeakMemory().bytes();
    std::erase_if(bytes, [](const auto& rank) { return rank.second == 0; });
    std::vector<std::string> words;
    for (const auto& [rank, peak] : bytes) words.push_back(fmt::format("{}:{}", rank, peak));
    return fmt::format("{}", fmt::join(words, " "));
  }

  [[nodiscard]] Attributes session_end() const {
    const RunTally& tally = monitor_->tally();
    Attributes end{{"ended_utc", utc_now()},
                   {"end", end_ == RunEnd::finished ? "finished" : "stopped early"},
                   {"exit_status", std::to_string(exit_status())},
                   {"workers", fmt::format("{}", fmt::join(monitor_->worker_table(true), "\n"))},
                   {"rank_memory", rank_memory()},
                   {"restored", std::to_string(tally.restored)},
                   {"solved", std::to_string(tally.solved)},
                   {"failed", std::to_string(tally.failed)},
                   {"seconds", fmt::format("{:.3f}", monitor_->elapsed_s())},
                   {"threads", std::to_string(monitor_->solver_threads())},
                   {"plans_at_once", std::to_string(monitor_->plans_at_once())},
                   {"failed_seconds", fmt::format("{:.3f}", tally.failed_seconds)},
                   {"repeated_seconds", fmt::format("{:.3f}", tally.repeated_seconds)},
                   {"abandoned_seconds", fmt::format("{:.3f}", tally.abandoned_seconds)}};
    const GpuSeconds on_gpus = monitor_->gpu_seconds();
    for (const auto& [name, part] : gpu_seconds_names)
      if (on_gpus.all() > 0) end[name] = fmt::format("{:.3f}", on_gpus.*part);
    if (const auto gpus = monitor_->gpu_table(); !gpus.empty())
      end["gpus"] = fmt::format("{}", fmt::join(gpus, "\n"));
    if (const auto kernels = monitor_->kernel_table(); !kernels.empty())
      end["kernels"] = fmt::format("{}", fmt::join(kernels, "\n"));
    return end;
  }

  /// True where another session like this one would get no further either, so that a job script
  /// that submits itself again would do so for ever: nothing was solved, and the time limit was
  /// reached, no plan could start, or everything at hand was started and abandoned often enough.
  [[nodiscard]] bool is_hopeless() const {
    const RunTally& tally = monitor_->tally();
    if (tally.solved + tally.failed + tally.failed_tries > 0) return false;
    if (end_ == RunEnd::source_away) return false;
    const auto& abandoned = monitor_->abandoned();
    return end_ == RunEnd::out_of_time || abandoned.empty() ||
           std::all_of(abandoned.begin(), abandoned.end(),
                       [&](const Event& plan) { return plan.attempts >= options_.max_attempts; });
  }

  [[nodiscard]] std::string why_hopeless() const {
    const auto& abandoned = monitor_->abandoned();
    if (abandoned.empty())
      return fmt::format(
          "no plan was started before {}; {}",
          end_ == RunEnd::out_of_time ? "the time limit was reached" : "the run was asked to stop",
          more_time);
    constexpr std::size_t shown = 3;
    std::vector<std::string> plans;
    for (const Event& plan : abandoned) {
      if (plans.size() == shown) break;
      plans.push_back(time_needed(plan));
    }
    if (abandoned.size() > shown)
      plans.push_back(fmt::format("and {} more", abandoned.size() - shown));
    return fmt::format(
        "no plan was solved before the run had to stop, and another one like it would get no "
        "further: {}; {}",
        fmt::join(plans, "; "), more_time);
  }

  [[nodiscard]] std::string time_needed(const Event& plan) const {
    const std::string id = id_of(plans_[plan.plan]);
    std::string had = fmt::format("plan {} (started {} time(s)) had {}", id, plan.attempts,
                                  duration_text(plan.last.seconds));
    const auto estimate =
        estimate_plan(*source_, id, options_.job.solver.limits, options_.job.solver.kind);
    if (!estimate || plan.last.iterations < 1) return had;
    const double needed_s = plan.last.seconds * static_cast<double>(estimate->iterations) /
                            static_cast<double>(plan.last.iterations);
    return fmt::format("{} and needs about {}", had,
                       duration_text(std::max(needed_s, plan.last.seconds)));
  }

  const RunOptions& options_;
  Log& logger_;
  SharedPlanSource source_;
  PlanIds ids_;
  RunStatus status_;  // as it starts
  LiveStatus live_status_;
  bool resuming_;
  std::optional<ResultStore> store_;
  std::vector<QueuedPlan> plans_;
  std::vector<Sample> samples_;
  std::optional<RunMonitor> monitor_;
  std::optional<Forecast> forecast_;
  RunEnd end_ = RunEnd::finished;
  std::atomic<bool> too_many_failures_ = false;
};

}  // namespace

int run_campaign(Link& link, const RunOptions& options, const RunSurroundings& surroundings,
                 Log& logger) {
  const auto in_background = [&](std::function<void()> work) {
    keep_workers_waiting(link, surroundings.timeouts.sign_s(), std::move(work));
  };
  std::optional<Campaign> campaign;
  try {
    in_background([&] {
      campaign.emplace(options, surroundings, logger);
      campaign->begin();
    });
  } catch (const StopRequested&) {
    throw RunError(
        fmt::format("the run was asked to stop before any plan could start; {}", more_time));
  }
  campaign->solve(link, surroundings.timeouts);
  int status = exit_failed;
  in_background([&] { status = campaign->close(); });
  return status;
}

}  // namespace wallheat
