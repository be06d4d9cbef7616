#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>

#include "app/catalogue.hpp"
#include "app/commands.hpp"
#include "app/forecast.hpp"
#include "app/gpu_watch.hpp"
#include "app/isolated_job.hpp"
#include "app/run_monitor.hpp"
#include "app/run_options.hpp"
#include "app/run_status.hpp"
#include "app/signals.hpp"
#include "app/time_text.hpp"
#include "app/version.hpp"
#include "core/printable.hpp"
#include "link/mpi_link.hpp"
#include "queue/coordinator.hpp"
#include "queue/local_link.hpp"
#include "queue/worker.hpp"
#include "wallheat/error.hpp"
#include "wallheat/gpu.hpp"
#include "wallheat/machine.hpp"
#include "wallheat/plan_pack.hpp"
#include "wallheat/result_store.hpp"
#include "wallheat/trace.hpp"
#include "wallheat/worth_a_gpu.hpp"

namespace wallheat {
namespace {

/// The threads of a CPU worker: one on each core, with a child process each.
WorkerDevice open_cpu(const RunOptions& options, const std::string& host,
                      const std::vector<int>& cpus) {
  const JobSettings settings{options.data, options.solver, options.save_fields, host,
                             options.solver.device_text()};
  const std::chrono::duration<double> plan_timeout{options.plan_timeout_s};
  return {settings.device, cpus.size(), [settings, plan_timeout, cpus](std::size_t thread) {
            bind_this_thread({cpus.at(thread)});
            // Its child process inherits the binding.
            return ThreadParts{make_isolated_job(settings, plan_timeout), bound_cpus()};
          }};
}

/// The threads of a GPU worker: as many as the GPU wants plans at once, on all its cores, with one
/// child process for all.
WorkerDevice open_gpu_worker(const RunOptions& options, const Machine& machine, int ordinal,
                             const std::vector<int>& cpus) {
  SolverOptions solver = options.solver;
  solver.gpu = ordinal;
  const auto gpu = std::find_if(machine.gpus.begin(), machine.gpus.end(),
                                [&](const Gpu& each) { return each.ordinal == ordinal; });
  if (gpu == machine.gpus.end()) throw RunError(fmt::format("there is no GPU {} here", ordinal));
  const JobSettings settings{options.data, solver, options.save_fields, machine.host,
                             "gpu " + gpu->name};
  const std::chrono::duration<double> plan_timeout{options.plan_timeout_s};
  std::shared_ptr<IsolatedSolver> shared;
  try {
    shared = std::make_shared<IsolatedSolver>(settings, plan_timeout, 0, cpus);
  } catch (const RunError& error) {
    throw RunError(fmt::format("GPU {} ({}, {}) cannot be used: {}; --device cpu does without",
                               ordinal, gpu->name, gpu->uuid, error.what()));
  }
  return {settings.device, shared->lanes(),
          [shared, cpus](std::size_t thread) {
            bind_this_thread(cpus);
            return ThreadParts{shared->job(thread), bound_cpus()};
          },
          watch_gpu(*gpu, options.log_level, machine.host)};
}

WorkerParts worker_parts(const RunOptions& options) {
  WorkerParts parts;
  parts.machine = local_machine();
  parts.open = [options, machine = parts.machine](const Placement& placement) {
    return placement.gpu ? open_gpu_worker(options, machine, *placement.gpu, placement.cpus)
                         : open_cpu(options, machine.host, placement.cpus);
  };
  parts.interrupted = stop_requested;
  parts.patience.worker_s = options.worker_timeout_s;
  return parts;
}

class StoreSink final : public ResultSink {
 public:
  explicit StoreSink(ResultStore& store) : store_(store) {}
  void store(std::span<const PlanResult> results) override {
    const TraceRange range("store");
    static_cast<void>(store_.store(results));
  }
  void publish() override { store_.publish(); }

 private:
  ResultStore& store_;
};

/// True where there is something to take up: a result file, or the log that outlived it.
bool can_resume(const RunOptions& options) {
  return options.resume && (std::filesystem::exists(options.out) ||
                            std::filesystem::exists(options.out.string() + ".wal"));
}

/// Before any file is made. With more ranks this one may well be where no GPU is; then the workers'
/// placement tells.
void check_gpu_choice(const RunOptions& options, int ranks) {
  if (options.device != DeviceChoice::gpu || ranks > 1) return;
  const GpuSupport support = gpu_support();
  if (!support.can_solve) throw RunError("--device gpu is not possible here: " + support.reason);
}

/// Refuses to mix answers to different inputs in one file. Inputs that only have new time stamps,
/// as copies have, need not be read again by the next resume.
void check_restored_inputs(const RunOptions& options, const PlanSource& source,
                           ResultStore& store) {
  const auto [changed, restamped] = changed_inputs(source, store.restored());
  if (changed.empty()) return store.restamp(restamped);
  const std::size_t shown = std::min<std::size_t>(changed.size(), 3);
  throw RunError(fmt::format(
      "{}: {} plan(s) that are already solved have changed in {} since: {}{}; bring the old input "
      "back, or solve all "
      "anew with --overwrite",
      options.out.string(), changed.size(), options.data.string(),
      fmt::join(changed.begin(), changed.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      changed.size() > shown ? ", ..." : ""));
}

Attributes session_start(const RunOptions& options, int ranks) {
  return {{"command_line", options.command_line},
          {"wallheat_version", std::string(version())},
          {"compiler", __VERSION__},
          {"hdf5_library", hdf5_library()},
          {"mpi_library", launched_by_mpi() ? mpi_library() : "none"},
          {"configuration", options.text()},
          {"ranks", std::to_string(ranks)},
          {"shard", options.shard.text()},
          {"data", std::filesystem::absolute(options.data).string()},
          {"started_utc", utc_now()}};
}

/// A path as a shell takes it.
std::string shell_word(const std::filesystem::path& path) {
  const std::string text = path.string();
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
  if (interrupted) return "stopped early; to go on, run the same command with --resume";
  if (tally.failed + tally.given_up > 0)
    return fmt::format(
        "next: mend the input of the failed plans ('wallheat summary {}' names them), then run the "
        "same command with --resume --retry-failed",
        file);
  if (options.shard.count > 1)
    return "next: once all shards are done, 'wallheat merge' makes one file of theirs";
  return fmt::format("next: wallheat summary {}", file);
}

/// The last lines of a run: the result, the file, and the next command.
void report_end(const RunMonitor& monitor, const RunOptions& options, bool interrupted,
                spdlog::logger& logger) {
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
        fmt::format(" in {}: {:.2f} plans/s, {} of core time", duration_text(elapsed),
                    static_cast<double>(tally.solved) / elapsed, duration_text(tally.core_seconds));
  logger.info("{}", result);
  logger.info("the results are in {}", options.out.string());
  logger.log(interrupted ? spdlog::level::warn : spdlog::level::info, "{}",
             next_step(tally, options, interrupted));
}

/// What `auto` means for these plans.
DeviceChoice device_for(const RunOptions& options, const PlanSource& source,
                        const std::vector<QueuedPlan>& plans, spdlog::logger& logger) {
  if (options.device != DeviceChoice::automatic || plans.empty()) return options.device;
  std::vector<GridShape> shapes;
  // Evenly over the list, as the largest may come first.
  constexpr std::size_t looks = 16;
  for (std::size_t look = 0; look < std::min(looks, plans.size()); ++look) {
    const Task& task = plans[look * plans.size() / std::min(looks, plans.size())].task;
    try {
      shapes.push_back(source.shape(task.id));
    } catch (const InputError&) {
      // The worker that gets it reports what is wrong with it.
    }
  }
  if (worth_a_gpu(shapes)) return options.device;
  if (!gpu_support().gpus.empty())
    logger.info(
        "most plans have less than {0:.0f} x {0:.0f} cells, so the CPU solves them; --device gpu "
        "takes the GPUs all the same",
        gpu_break_even_side);
  return DeviceChoice::cpu;
}

/// The plans of this shard that want solving; counts all others of it.
std::vector<QueuedPlan> plans_to_solve(const RunOptions& options,
                                       const std::vector<PlanResult>& rows, RunTally& tally) {
  std::vector<QueuedPlan> plans;
  for (const PlanResult& row : rows) {
    if (!options.shard.holds(row.index)) continue;
    ++tally.total;
    if (is_answer(row.status)) {
      ++tally.restored;
    } else if (row.failures >= options.max_attempts && !options.retry_failed) {
      ++tally.given_up;
    } else {
      plans.push_back({{row.index, row.id}, row.attempts, options.retry_failed ? 0 : row.failures});
    }
  }
  return plans;
}

double seconds_until(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time - std::chrono::system_clock::now()).count();
}

/// What to keep back of the time to a limit for storing and closing: a twentieth, at most a minute
/// (Slurm may strike half a minute early).
std::chrono::system_clock::duration time_to_close(std::chrono::system_clock::time_point limit) {
  using std::chrono::seconds;
  const auto left = limit - std::chrono::system_clock::now();
  return std::clamp<std::chrono::system_clock::duration>(left / 20, seconds(1), seconds(60));
}

/// Rank 0's run, from the ids to the closed file. `ranks` counts those of MPI.
int coordinate_run(Link& link, const RunOptions& options, int ranks) {
  StatusLine line;
  const auto logger = make_logger(options.log_level, 0, host_name(), &line);
  check_gpu_choice(options, ranks);
  const SharedPlanSource source = open_plan_source(options.data);
  const PlanIds plans = requested_plans(*source, options.ids, options.ids_file, options.first);
  if (!plans.note.empty()) logger->info("{}", plans.note);
  for (const std::string& id : plans.duplicates)
    logger->warn("plan {} is named more than once; it is solved once", id);

  std::optional<EventLog> events;  // before any file is replaced, in case it cannot be written
  if (!options.events.empty()) events.emplace(options.events);
  StorePlan store_plan{plans.ids, options.solver.settings(), options.save_fields, {}};
  if (options.save_fields) store_plan.shapes = plan_shapes(*source, plans.ids, options.shard);
  const Attributes session = session_start(options, ranks);
  std::vector<std::string> report;
  const bool resuming = can_resume(options);
  ResultStore store =
      resuming ? ResultStore::resume(options.out, store_plan, session, &report)
               : ResultStore::create(options.out, store_plan, session, options.overwrite);
  for (const std::string& sentence : report) logger->warn("{}", sentence);
  check_restored_inputs(options, *source, store);

  StoreSink sink(store);
  CoordinatorParts parts;
  RunTally tally_at_start;
  parts.plans = plans_to_solve(options, store.restored(), tally_at_start);
  logger->info("solving {} plan(s) of {}, into {}", parts.plans.size(), options.data.string(),
               options.out.string());
  if (options.shard.count > 1)
    logger->info("shard {}: {} of {} plans, into {}", options.shard.text(), tally_at_start.total,
                 plans.ids.size(), options.out.string());
  if (resuming)
    logger->info("restored {} of {} plans from {}", tally_at_start.restored, tally_at_start.total,
                 options.out.string());
  const RunFacts facts{options.out, &plans.ids, session.at("started_utc"), host_name(),
                       options.shard.count > 1 ? options.shard.text() : ""};
  RunMonitor monitor(logger, line, options.progress, std::move(events), facts, tally_at_start);
  std::vector<Task> tasks;
  for (const QueuedPlan& plan : parts.plans) tasks.push_back(plan.task);
  std::optional<Forecast> forecast(std::in_place, source, std::move(tasks), options.solver.limits);
  parts.new_estimates = [&] {
    std::vector<std::pair<std::uint32_t, double>> news;
    for (const auto& [plan, estimate] : forecast->take()) news.emplace_back(plan, estimate.updates);
    return news;
  };
  parts.device = device_for(options, *source, parts.plans, *logger);
  parts.threads_per_worker = options.threads;
  parts.max_attempts = options.max_attempts;
  parts.patience.worker_s = options.worker_timeout_s;
  if (options.end) {
    const auto end = *options.end - time_to_close(*options.end);
    parts.time_left_s = [end] { return seconds_until(end); };
    const double left_s = seconds_until(end);
    const std::string kept = duration_text(seconds_until(*options.end) - seconds_until(end));
    if (left_s > 0) {
      logger->info("stopping in {}, {} before the time limit", duration_text(left_s), kept);
    } else {
      logger->warn(
          "the time limit leaves no time to solve anything, as {} of it are kept back for storing "
          "and closing: give a longer --time-limit",
          kept);
    }
  }
  parts.sink = &sink;
  parts.observer = &monitor;
  parts.interrupted = stop_requested;

  const bool interrupted = !parts.plans.empty() && coordinate(link, parts) == RunEnd::interrupted;
  forecast.reset();
  monitor.finish(interrupted ? "run_stopped" : "run_finished");
  const RunTally& tally = monitor.tally();
  Attributes end{{"ended_utc", utc_now()},
                 {"end", interrupted ? "stopped early" : "finished"},
                 {"workers", fmt::format("{}", fmt::join(monitor.worker_table(), "\n"))},
                 {"predictions", monitor.predictions()},
                 {"restored", std::to_string(tally.restored)},
                 {"solved", std::to_string(tally.solved)},
                 {"failed", std::to_string(tally.failed)},
                 {"seconds", fmt::format("{:.3f}", monitor.elapsed_s())}};
  if (const auto gpus = monitor.gpu_table(); !gpus.empty())
    end["gpus"] = fmt::format("{}", fmt::join(gpus, "\n"));
  store.close(end);
  try {
    remove_run_status(status_path(options.out));
  } catch (const RunError& error) {
    logger->warn("{}", error.what());  // the results are complete
  }
  report_end(monitor, options, interrupted, *logger);
  if (interrupted) return exit_work_left;
  return tally.failed + tally.given_up > 0 ? exit_some_plans_failed : exit_done;
}

/// Tells a wrapper how the run ended, as mpirun may tell something else. An empty path: nobody.
void write_exit_status(const std::filesystem::path& path, int status) {
  if (path.empty()) return;
  std::ofstream file(path);
  file << status << '\n' << std::flush;
  if (!file)
    fmt::print(stderr, "wallheat: the exit status cannot be written to {}\n", path.string());
}

struct RunOutcome {
  int status = exit_failed;
  std::string error;         ///< why it failed; empty where it did not
  std::vector<int> unheard;  ///< ranks that did not say good-bye
};

/// Whatever happens to rank 0, its workers go home.
RunOutcome coordinate_and_dismiss(Link& link, const RunOptions& options, int ranks) {
  RunOutcome outcome;
  try {
    outcome.status = coordinate_run(link, options, ranks);
  } catch (const UsageError& error) {
    // Both are said at once: a lost rank may keep the rest of this program from ever being reached.
    fmt::print(stderr, "wallheat: {}; see 'wallheat run --help'\n", error.what());
    outcome.status = exit_usage;
  } catch (const std::exception& error) {
    outcome.error = printable(error.what());
    fmt::print(stderr, "wallheat: {}\n", outcome.error);
  }
  write_exit_status(options.exit_status_file, outcome.status);
  // A wrapper ends by itself whoever does not answer.
  const std::chrono::seconds patience{options.exit_status_file.empty() ? 5 : 1};
  outcome.unheard = dismiss_workers(link, patience);
  return outcome;
}

int run_in_one_process(const RunOptions& options) {
  LocalNetwork network(2);
  const auto worker_link = network.link(1);
  const WorkerParts parts = worker_parts(options);
  const std::jthread worker([&] { (void)run_worker(*worker_link, parts); });
  return coordinate_and_dismiss(*network.link(0), options, 1).status;
}

/// A worker rank's whole life.
int work(MpiSession& mpi, Link& link, const RunOptions& options) {
  try {
    if (run_worker(link, worker_parts(options))) {
      mpi.end(exit_done);
      return exit_done;
    }
    mpi.leave_without_the_lost(exit_done);
  } catch (const std::exception& error) {
    fmt::print(stderr, "wallheat: rank {} cannot go on: {}\n", mpi.rank(), printable(error.what()));
    mpi.leave_without_the_lost(exit_failed);
  }
}

}  // namespace

int run_command(const Arguments& arguments) {
  std::optional<RunOptions> options;
  try {
    options = parse_run_options(arguments);
  } catch (const UsageError&) {
    if (launched_rank() == 0) write_exit_status(exit_status_file_among(arguments), exit_usage);
    throw;
  }
  if (!options) return exit_done;
  if (options->print_out) {
    fmt::print("{}\n", linked_file(options->out).string());
    return exit_done;
  }
  catch_stop_signals();
  if (!launched_by_mpi()) return run_in_one_process(*options);
  Patience patience;
  patience.worker_s = options->worker_timeout_s;
  MpiSession mpi(std::chrono::duration<double>(patience.together_s()));
  if (mpi.size() == 1) return run_in_one_process(*options);
  const auto link = mpi.link();
  if (mpi.rank() != 0) return work(mpi, *link, *options);
  const RunOutcome outcome = coordinate_and_dismiss(*link, *options, mpi.size());
  // mpirun makes a crash of any status but 0; who named a file has read there what it is.
  const int status = options->exit_status_file.empty() ? outcome.status : exit_done;
  if (!outcome.unheard.empty()) {
    // With the error once more, which others' last words may have buried.
    fmt::print(stderr, "wallheat: rank(s) {} are lost; ending the run with status {}{}{}\n",
               fmt::join(outcome.unheard, ", "), outcome.status, outcome.error.empty() ? "" : ": ",
               outcome.error);
    mpi.leave_without_the_lost(status);
  }
  mpi.end(status);
  return status;
}

}  // namespace wallheat
