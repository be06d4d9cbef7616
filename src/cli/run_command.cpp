#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string_view>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/plan_options.hpp"
#include "cli/solver_command_options.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"
#include "monitor/file_status.hpp"
#include "mpi/mpi_environment.hpp"
#include "plans/plan_source.hpp"
#include "run/batch_job.hpp"
#include "run/plan_selection.hpp"
#include "run/preflight_check.hpp"
#include "run/preparation.hpp"
#include "run/run.hpp"
#include "run/run_options.hpp"
#include "store/result_path.hpp"
#include "store/result_store.hpp"
#include "view/json.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

bool can_show_bar() {
  const char* terminal = std::getenv("TERM");
  return (::isatty(STDERR_FILENO) != 0 || stderr_columns()) && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

/// Parses "job:nodes=2,workers=4,cores=32,gpus=4"; each of the numbers is optional. Returns nullopt
/// if the word does not have this form.
std::optional<JobResources> parse_job(std::string_view word) {
  constexpr std::string_view prefix = "job:";
  constexpr std::size_t max = 999'999;
  if (!word.starts_with(prefix)) return std::nullopt;
  JobResources job;
  for (const std::string& item : split_list(std::string(word.substr(prefix.size())))) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) return std::nullopt;
    const std::string name = item.substr(0, equals);
    const auto number = parse_number<std::size_t>(std::string_view(item).substr(equals + 1));
    if (!number || *number > max || (*number == 0 && name != "gpus")) return std::nullopt;
    if (name == "nodes") {
      job.nodes = *number;
    } else if (name == "workers") {
      job.workers = *number;
    } else if (name == "cores") {
      job.cores = *number;
    } else if (name == "gpus") {
      job.gpus = *number;
    } else {
      return std::nullopt;
    }
  }
  return job;
}

/// Options of a run whose values are parsed later.
struct RunWords {
  std::string shard;
  std::string time_limit;
};

void declare_session(Options& options, RunOptions& run, RunWords& words) {
  options.add("device",
              choice(run.device, "NAME", "auto",
                     {{"auto", DeviceChoice::automatic},
                      {"cpu", DeviceChoice::cpu},
                      {"gpu", DeviceChoice::gpu}})
                  .of(OptionScope::rank),
              "auto (with jacobi, the first workers of a host get one GPU each, and the others use "
              "CPUs), cpu, or gpu (every worker must get a GPU)");
  options.add("threads,t", value(run.threads, "N", 0).at_least(0).of(OptionScope::rank),
              "maximum number of cores per worker, each of which solves one plan; 0: all, or the "
              "worker's share of the cores that Slurm or LSF granted the job; on a GPU: maximum "
              "number of threads that feed it");
  options.add("memory", value(run.memory_gb, "GB", 0).at_least(0),
              "with --check: warn if plans may need more memory per node than this, in GB; 0: the "
              "memory of the machine or the cgroup");
  options.add("save-fields", flag(run.solve.save_fields), "also store the temperature fields");
  options.add(
      "resume", flag(run.resume),
      "keep the results in the result file and solve the remaining plans; create the file if "
      "it does not exist. The settings must be those of the file, unless it contains no solved "
      "plan. Without --resume or --overwrite, an existing file is an error");
  options.add("overwrite", flag(run.overwrite), "overwrite an existing result file");
  options.add(
      "shard", value(words.shard, "K/N", "auto"),
      "solve every N-th plan, starting with the K-th, into results.part-K-of-N.h5 if --out "
      "is results.h5 (combine the files with 'wallheat merge'); auto: the array task of a Slurm "
      "job array; none: all plans");
  options.add(
      "time-limit", value(words.time_limit, "TIME", "auto"),
      "store the results and stop before this time has passed: a number of seconds, 90m, 1h30m, "
      "1:30:00, 20:00 for 20 minutes, or 1-12:00:00 for a day and 12 hours; auto: before "
      "Slurm or LSF ends the job; none: no limit");
  options.add("max-attempts", value(run.max_attempts, "N", 3).at_least(1),
              "give up a plan after N failed attempts over all sessions; a crash of its solver "
              "counts as one");
  options.add("retry-failed", flag(run.retry_failed),
              "with --resume: also retry plans that were given up");
  options.add("stop-after-failures", value(run.stop_after_failures, "N", 0).at_least(0),
              "stop with exit status 1 when N plans of this session have been given up; 0: never");
  options.add("plan-timeout", value(run.solve.plan_timeout_s, "SECONDS", 600).at_least(0),
              "fail a plan that completes no iteration for this long; 0: no limit");
  options.add("worker-timeout", value(run.worker_timeout_s, "SECONDS", 30).at_least(0.1),
              "heartbeat timeout: the plans of a worker without a message for this long are "
              "reassigned; four times this for rank 0 and for MPI startup and shutdown");
  options.add(
      "notify", value(run.notify, "COMMAND").of(OptionScope::watcher),
      "run COMMAND with sh when the run ends, with a JSON object on stdin: exit_status, error and "
      "the output of 'wallheat status --json'; killed after 30 s; a failure only prints a warning");
  options.add("print-out", flag(run.print_out),
              "print the path of the result file or shard file, with symbolic links resolved, and "
              "exit; for scripts");
  options.add(
      "print-open-shards", flag(run.print_open_shards),
      "print the shards, starting with that of --shard, that have pending plans of the current "
      "list and that no run is writing, as K/N, one per line, and exit; for scripts");
  const auto choose_check = [&run](const std::string& option, const std::string& word) {
    if (const auto job = parse_job(word)) {
      run.check = CheckMode::a_job;
      run.job = *job;
      return;
    }
    run.check = parse_choice<CheckMode>(
        option, word,
        {{"no", CheckMode::nothing}, {"here", CheckMode::this_machine}, {"job", CheckMode::a_job}});
  };
  options.add(
      "check", {choose_check, "WHERE", true, "no", "here", {"here", "job"}},
      "preflight check: report what the run would do and everything that would stop it, without "
      "the "
      "contents of the plans; starts the program of --solver-command once, and if that fails, only "
      "warns with job; here (also plain --check): on this machine; job: in a job on other nodes, "
      "whose GPUs are unknown here; "
      "job:nodes=2,workers=4,cores=32,gpus=4: in a job on two nodes, each with four workers, 32 "
      "cores and four GPUs; each of the numbers is optional");
  options.add("json", flag(run.json), "with --check: print the findings as one JSON object");
  options.add(
      "events", file(run.events, FileRole::appended).of(OptionScope::watcher),
      "append the events of the run to FILE as JSON lines: its start and end, workers, the "
      "start and the result of each plan, failures, and the use of GPUs. A start is recorded with "
      "the next message of its worker, normally within a second; its 'seconds' is the time "
      "since the start");
  options.add("progress",
              choice(run.progress, "STYLE", "auto",
                     {{"auto", can_show_bar() ? ProgressStyle::bar : ProgressStyle::lines},
                      {"bar", ProgressStyle::bar},
                      {"lines", ProgressStyle::lines},
                      {"none", ProgressStyle::none}})
                  .of(OptionScope::watcher),
              "progress display: bar, lines (one every 5 s at first, then less often), none, or "
              "auto (bar if stderr, or that of mpirun, is a terminal)");
  options.add("log-level",
              value(run.log_level, "LEVEL", "info")
                  .completed_by({"trace", "debug", "info", "warning", "error", "critical", "off"})
                  .of(OptionScope::watcher),
              "minimum level of log messages: trace, debug, info, warning, error, critical or off");
  options.add_conflict("resume", {"overwrite"});
  options.add_conflict("print-open-shards", {"retry-failed"});  // it ignores failed plans
  options.add_dependency("check", {"json"});
}

void refuse_other_formats(const std::filesystem::path& out) {
  const std::string ending = out.extension().string();
  if (ending == ".csv" || ending == ".json" || ending == ".txt")
    throw UsageError(
        fmt::format("--out {}: results are written as HDF5, use a name that ends in .h5; convert "
                    "with 'wallheat export'",
                    out.string()));
}

/// Part of a campaign that the options describe: that of the job to which this process belongs, or
/// the complete campaign.
enum class RunScope { job, campaign };

void choose_shard_and_end(RunOptions& run, const RunWords& words, RunScope scope) {
  run.merged_out = run.out;
  if (scope == RunScope::campaign) {
    if (words.shard != "auto" && words.shard != "none")
      throw UsageError(fmt::format(
          "--shard {} cannot be combined with advise, which plans all shards together; omit it",
          words.shard));
    return;
  }
  BatchJob job;
  if (words.shard == "auto") {
    const auto shard = job.shard();
    run.shard = shard.value_or(Shard{});
    run.shard_is_from_array = shard.has_value();
  } else if (words.shard != "none") {
    run.shard = parse_shard(words.shard);
  }
  run.out = shard_path(run.merged_out, run.shard);
  if (words.time_limit == "auto") {
    if (launched_rank() == 0 && !run.print_out && run.check == CheckMode::nothing) {
      if (const auto end = job.end())
        run.deadline = std::chrono::steady_clock::now() + (*end - std::chrono::system_clock::now());
    }
  } else if (words.time_limit != "none") {
    run.deadline = std::chrono::steady_clock::now() + parse_duration(words.time_limit);
  }
  run.job_warnings = job.warnings();
}

/// Only one solver runs on GPUs; selects the CPU for all others. A solver command uses GPUs
/// only with --device gpu.
void choose_device(RunOptions& run) {
  const bool is_command = run.solve.solver.kind == SolverKind::command;
  if (is_command && run.device == DeviceChoice::automatic) run.device = DeviceChoice::cpu;
  const std::string option = run.solve.solver.cpu_only_option();
  if (option.empty()) return;
  if (run.device == DeviceChoice::gpu)
    throw UsageError(option +
                     " cannot be combined with --device gpu, because it runs on CPUs only");
  run.device = DeviceChoice::cpu;
}

RunOptions parse_options(Options& options, RunScope scope) {
  RunOptions run;
  RunWords words;
  options.describe(
      "--data PLANS --out FILE [options] [ID ...]",
      "Solves floor plans into one HDF5 file. Under mpirun, rank 0 assigns the plans and writes "
      "the results, and the other ranks solve; without mpirun, one process does both.\nExit "
      "status: 0 all plans are solved, 1 the run failed, 2 usage error, 3 some plans failed, 75 "
      "stopped early: run again with --resume.",
      {"wallheat run --data plans --out results.h5 --save-fields",
       "wallheat run --data plans --out steady.h5 --solver steady --save-fields --rooms"});
  declare_plans(options, run.solve.data, run.ids, run.ids_file, run.first);
  options.add("out,o", file(run.out, FileRole::new_results).required(), "result file");
  declare_cell_size(options, run.cell_metres, CellSizeUse::rooms, run.solve.data, [&run] {
    return requested_plans(*open_plan_source(run.solve.data), run.ids, run.ids_file, run.first);
  });
  declare_problem_options(options, run.solve.solver, run.cell_metres);
  declare_solver(options, run.solve.solver, run.solve.data);
  declare_session(options, run, words);
  declare_solver_command(options, run.solve.solver);
  declare_command_slots(options, run.solve.solver.command);
  options.add("allow-changed-solver", flag(run.allow_changed_solver),
              "with --resume: continue although the program or its command has changed");
  options.add_dependency("resume", {"allow-changed-solver"});
  options.check([&] {
    refuse_other_formats(run.out);
    choose_shard_and_end(run, words, scope);
    choose_device(run);
  });
  options.parse();
  run.command_line = options.command_line();
  run.configuration = options.configuration();
  run.settings = options.shared_values();
  // If it is not given, each rank reads the grid spacing from its own plan source.
  run.settings["spacing"] = fmt::format("{}", run.solve.solver.limits.spacing);
  // Each rank also reads the width of a cell, if --door is in metres.
  run.settings["cell-size"] = format_repr(run.cell_metres);
  // Each rank reads the files of a solver command, and all must have read the same files.
  if (run.solve.solver.kind == SolverKind::command)
    run.settings["solver-file"] = run.solve.solver.command.files;
  return run;
}

/// Runs the preflight check and prints its result. Returns an ExitStatus.
int print_readiness(const RunOptions& options) {
  const PreflightReport found = run_preflight_check(options);
  if (options.json) {
    Json json{{"ready", found.problems.empty()}, {"facts", Json::object()}};
    for (const auto& [about, message] : found.facts) json["facts"][about] = message;
    json["done"] = !found.nothing_to_solve_reason.empty();
    json["done_reason"] = found.nothing_to_solve_reason;
    json["plans"] = found.plan_count ? Json(*found.plan_count) : Json();
    json["warnings"] = found.warnings;
    json["problems"] = found.problems;
    fmt::print("{}", json_text(json));
    return found.problems.empty() ? exit_done : exit_failed;
  }
  for (const auto& [about, message] : found.facts)
    fmt::print("{:<9} {}\n", about, escape_control_chars(message));
  for (const std::string& warning : found.warnings)
    fmt::print("warning   {}\n", escape_control_chars(warning));
  for (const std::string& problem : found.problems)
    fmt::print("problem   {}\n", escape_control_chars(problem));
  if (found.problems.empty() && !found.nothing_to_solve_reason.empty()) {
    fmt::print("done      {}\n", found.nothing_to_solve_reason);
    return exit_done;
  }
  if (found.problems.empty()) {
    fmt::print("ready     run the same command without --check\n");
    return exit_done;
  }
  throw RunError("preflight check failed: " + count_text(found.problems.size(), "problem"));
}

/// Returns true if a shard has plans of the current list that no run has solved or given up.
bool has_pending_plans(const Preparation& campaign, const Shard& shard,
                       const std::filesystem::path& shard_file) {
  if (!has_results(shard_file)) return true;
  bool is_any_pending = false;
  const auto check = [&](const PlanResult& row) {
    if (shard.contains(row.index) && row.status == PlanStatus::pending) is_any_pending = true;
  };
  (void)ResultStore::dry_run(shard_file, campaign.result_file_spec(), OpenMode::resume, check);
  return is_any_pending;
}

/// Prints the shards that have plans left and that no process is solving: starting at the shard of
/// the options, in cyclic order.
void print_open_shards(const RunOptions& options) {
  const std::size_t count = options.shard.count;
  if (count == 1) throw UsageError("--print-open-shards requires --shard K/N");
  Preparation campaign{options, [](const std::string&) {}};  // the run itself will print warnings
  campaign.find_plans();
  for (std::size_t step = 0; step < count; ++step) {
    const Shard shard{(options.shard.number - 1 + step) % count + 1, count};
    const std::filesystem::path part = shard_path(options.merged_out, shard);
    if (is_being_written(part)) continue;
    if (has_pending_plans(campaign, shard, part)) fmt::print("{}\n", shard.text());
  }
}

}  // namespace

RunOptions parse_run_options(Options& options) { return parse_options(options, RunScope::job); }

RunOptions parse_campaign_options(Options& options) {
  return parse_options(options, RunScope::campaign);
}

int run_command(Options& options) {
  const RunOptions run_options = parse_run_options(options);
  if (run_options.print_out) {
    // A launcher calls this before it starts any rank.
    Preparation{run_options, [](const std::string&) {}}.check_shard_files();
    fmt::print("{}\n", result_path(run_options.out).string());
    return exit_done;
  }
  if (run_options.print_open_shards) {
    print_open_shards(run_options);
    return exit_done;
  }
  if (run_options.check != CheckMode::nothing)
    return launched_rank() == 0 ? print_readiness(run_options) : exit_done;
  return run(run_options);
}

}  // namespace wallheat
