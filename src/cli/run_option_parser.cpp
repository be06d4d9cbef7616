#include "cli/run_option_parser.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "cli/options.hpp"
#include "cli/question_options.hpp"
#include "core/number_of.hpp"
#include "mpi/mpi_link.hpp"
#include "plans/plan_source.hpp"
#include "run/batch_job.hpp"
#include "run/configuration_file.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

bool can_show_bar() {
  const char* terminal = std::getenv("TERM");
  return (::isatty(STDERR_FILENO) != 0 || stderr_columns()) && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

/// The cores and workers of "job:32/4"; nothing if it is not of that form.
std::optional<std::pair<std::size_t, std::size_t>> node_of_job(std::string_view word) {
  constexpr std::string_view beginning = "job:";
  constexpr std::uint64_t most = 999'999;
  const std::size_t slash = word.find('/');
  if (!word.starts_with(beginning) || slash == std::string_view::npos) return std::nullopt;
  const auto cores =
      number_of<std::uint64_t>(word.substr(beginning.size(), slash - beginning.size()));
  const auto workers = number_of<std::uint64_t>(word.substr(slash + 1));
  const auto is_valid = [](const auto& number) { return number && *number > 0 && *number <= most; };
  if (!is_valid(cores) || !is_valid(workers)) return std::nullopt;
  return std::pair(*cores, *workers);
}

// What concerns people who look at a session: not stored, as a command may hold a password. The
// rest is what ranks may differ in, each for its own place.
constexpr std::array<std::string_view, 7> own_options{"notify", "events",  "progress", "log-level",
                                                      "device", "threads", "isa"};
constexpr auto session_options = std::span(own_options).first<4>();

/// "wallheat run ..." as it was typed, without these options.
std::string command_line(const Arguments& arguments, std::span<const std::string_view> without) {
  std::string text = "wallheat run";
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
    const std::string name = argument->substr(0, argument->find('='));
    const auto is_it = [&](std::string_view option) { return name == fmt::format("--{}", option); };
    if (std::ranges::none_of(without, is_it)) {
      text += " " + *argument;
    } else if (name == *argument && std::next(argument) != arguments.end()) {
      ++argument;  // its value
    }
  }
  return text;
}

}  // namespace

void SolverOptionParser::declare(Options& options) {
  options_ = &options;
  options.add("solver",
              choice(solver_.kind, "NAME", "jacobi",
                     {{"jacobi", SolverKind::jacobi},
                      {"fastforward", SolverKind::fastforward},
                      {"steady", SolverKind::steady}}),
              "jacobi (the reference's iterate, bit for bit), fastforward (the same iterate to "
              "1e-11 of the largest temperature, several times as fast) or steady (the true steady "
              "state, with a proven bound, faster still); the last two run on CPUs only");
  options.add("tolerance", value(solver_.limits.tolerance, "DEGREES", 1e-4, "1e-4"),
              "stop when an iteration changes less than this, in °C (not steady)");
  options.add("norm",
              choice(solver_.limits.norm, "NAME", "max", {{"max", Norm::max}, {"l2", Norm::l2}}),
              "how that change is measured: max (the largest of a cell) or l2 (the root of the "
              "sum of squares; on CPUs only)");
  options.add("spacing", value(spacing_, "LENGTH"),
              "distance between neighbouring cells, in the unit in which a plan's source is given "
              "per square (default: what spacing.txt beside the plans says, else 1); "
              "matters to plans with ID_source.npy only");
  options.add("accuracy", value(solver_.limits.accuracy, "DEGREES", 1e-8, "1e-8"),
              "no cell may be farther than this from the steady state, in °C (steady only)");
  options.add("max-iterations", value(solver_.limits.max_iterations, "N", 20000),
              "stop after N iterations");
  options.add(
      "solver-backend",
      choice(solver_.reference, "NAME", "vector", {{"vector", false}, {"reference", true}}),
      "back end of jacobi: vector (fast) or reference (plain and sequential, to compare with); "
      "both give the same bits");
  options.add("isa",
              choice(solver_.isa, "NAME", "auto",
                     {{"auto", available_isas().back()},
                      {"avx512", Isa::avx512},
                      {"avx2", Isa::avx2},
                      {"baseline", Isa::baseline}}),
              "instruction set of the vectorised solvers: auto, avx512, avx2 or baseline");
}

SolverOptions SolverOptionParser::finish(const std::filesystem::path& plans) const {
  SolverOptions solver = solver_;
  const Limits& limits = solver.limits;
  if (!std::isfinite(limits.tolerance) || limits.tolerance < 0)
    throw UsageError("--tolerance must be a number of at least 0 (°C)");
  if (!std::isfinite(limits.accuracy) || limits.accuracy <= 0)
    throw UsageError("--accuracy must be a number above 0 (°C)");
  const bool said = options_->was_given("spacing");
  if (said && (!std::isfinite(spacing_) || spacing_ <= 0))
    throw UsageError("--spacing must be a number above 0");
  if (limits.max_iterations < 1) throw UsageError("--max-iterations must be at least 1");
  const auto spacing = said ? std::optional(spacing_) : spacing_of_plans(plans);
  solver.limits.spacing = spacing.value_or(1);
  solver.spacing_is_known = spacing.has_value();
  if (solver.reference && solver.kind != SolverKind::jacobi)
    throw UsageError(
        fmt::format("--solver-backend reference is a back end of jacobi, so leave out --solver {}",
                    to_string(solver.kind)));
  return solver;
}

namespace {

/// Options of a run that stand for something else than they say.
struct RunWords {
  std::string shard;
  std::string time_limit;
  std::int64_t first = 0;
};

void declare_plans(Options& options, RunOptions& run, RunWords& words) {
  options.add("data,d", value(run.job.data, "PLANS"),
              "directory with ID_domain.npy, ID_interior.npy and, for plans with heat sources, "
              "ID_source.npy, or a zip archive of one");
  options.add("out,o", value(run.out, "FILE"), "the result file");
  options.add("id", value(run.ids, "ID"),
              "solve this plan (also as an argument); default: all of --ids");
  options.add("ids", value(run.ids_file, "FILE"),
              "file with one id a line, # begins a comment (default: building_ids.txt of a "
              "directory or zip archive; all its plans if it has none)");
  options.add("first,n", value(words.first, "N", 0), "only the first N ids; 0: all");
  options.positional("id", -1);
  options.require({"data", "out"});
}

void declare_session(Options& options, RunOptions& run, RunWords& words) {
  options.add("device",
              choice(run.device, "NAME", "auto",
                     {{"auto", DeviceChoice::automatic},
                      {"cpu", DeviceChoice::cpu},
                      {"gpu", DeviceChoice::gpu}}),
              "auto (for jacobi each host's GPUs go to its first workers, one each; all others use "
              "CPUs), cpu, or gpu (every worker must get one)");
  options.add("threads,t", value(run.threads, "N", 0),
              "each worker uses at most N cores of its share, one plan per core; 0: the whole "
              "share. On a GPU: at most N threads that feed it");
  options.add("memory", value(run.memory_gb, "GB", 0),
              "with --check: warn if plans may need more memory than this on a node, in GB; 0: "
              "more than the "
              "machine or the process's cgroup has");
  options.add("save-fields", flag(run.job.save_fields), "also store the temperature fields");
  options.add("resume", flag(run.resume),
              "continue an existing result file: keep what is done, solve the rest");
  options.add("overwrite", flag(run.overwrite), "replace an existing result file");
  options.add("shard", value(words.shard, "K/N", "auto"),
              "solve every N-th plan from the K-th on, into results.part-K-of-N.h5 where --out is "
              "results.h5 (gather with 'wallheat merge'); auto: the task of a Slurm or LSF job "
              "array; none: all plans");
  options.add("time-limit", value(words.time_limit, "TIME", "auto"),
              "store what is solved and stop before this much time has passed since the start: "
              "seconds, 90m, 1h30m, 1:30:00, or 20:00 for 20 minutes; auto: before Slurm or LSF "
              "ends the job; none");
  options.add("max-attempts", value(run.max_attempts, "N", 3),
              "give up a plan after it has failed or killed its solver N times, over all sessions");
  options.add("retry-failed", flag(run.retry_failed),
              "with --resume: also try plans again that were given up");
  options.add("stop-after-failures", value(run.stop_after_failures, "N", 0),
              "stop as soon as N plans of this session have been given up, with status 1, as a job "
              "that comes back by itself (75) would only give up more; 0: never");
  options.add("plan-timeout", value(run.job.plan_timeout_s, "SECONDS", 600),
              "kill the solver of a plan that makes no iteration for this long; 0: never");
  options.add(
      "worker-timeout", value(run.worker_timeout_s, "SECONDS", 30),
      "a worker that sends nothing for this long is lost, and its plans go to others; workers "
      "wait four times as long for rank 0, and rank 0 for the start and the end of MPI");
  options.add(
      "notify", value(run.notify, "COMMAND"),
      "call this command of sh when the run has ended, however that is, with a JSON object "
      "on its stdin: exit_status, error, and what 'wallheat status' tells of the "
      "file; after 30 s it is killed with all that it started, and a failure of it is only a "
      "warning");
  options.add("print-out", flag(run.print_out),
              "print the result file that these options mean (a shard's part, links followed) and "
              "exit; for scripts");
  options.add("print-open-shards", flag(run.print_open_shards),
              "print which of the shards, from that of --shard on, have plans left and are not "
              "being written, as K/N, one a line, and exit; for scripts");
  const auto choose_check = [&run](const std::string& option, const std::string& word) {
    if (const auto node = node_of_job(word)) {
      run.check = CheckFor::a_job;
      std::tie(run.job_cores, run.job_workers) = *node;
      return;
    }
    run.check = choose<CheckFor>(
        option, word,
        {{"no", CheckFor::nothing}, {"here", CheckFor::this_machine}, {"job", CheckFor::a_job}});
  };
  options.add("check", {choose_check, "WHERE", true, "no", "here", {"no", "here", "job"}},
              "only say what the run would do and what would stop it, all at once; here (also "
              "plain --check), or job, for a run on other nodes, whose GPUs are not here; job:32/4 "
              "for one of which each node has 32 cores for four workers");
  options.add("json", flag(run.json), "with --check: print what it finds as one JSON object");
  options.add("events", value(run.events, "FILE"), "add what happens as JSON lines to FILE");
  options.add(
      "progress",
      choice(run.progress, "STYLE", "auto",
             {{"auto", can_show_bar() ? ProgressStyle::bar : ProgressStyle::lines},
              {"bar", ProgressStyle::bar},
              {"lines", ProgressStyle::lines},
              {"none", ProgressStyle::none}}),
      "bar, lines (one every 5 s at first, then less often), none, or auto (bar where stderr "
      "or that of mpirun is a terminal)");
  options.add("log-level", value(run.log_level, "LEVEL", "info"),
              "trace, debug, info, warning, error, critical or off");
  options.words("check", {"here", "job"});
  options.words("log-level", {"trace", "debug", "info", "warning", "error", "critical", "off"});
}

void refuse_contradictions(const RunOptions& run, const RunWords& words) {
  if (run.resume && run.overwrite) throw UsageError("--resume and --overwrite exclude each other");
  if (!run.ids.empty() && !run.ids_file.empty())
    throw UsageError("give ids as arguments or in --ids, not both");
  if (const std::string ending = run.out.extension().string();
      ending == ".csv" || ending == ".json" || ending == ".txt")
    throw UsageError(
        fmt::format("--out {}: run writes an HDF5 file, so name one that ends in .h5; 'wallheat "
                    "export' makes "
                    "CSV and JSON of it",
                    run.out.string()));
  if (words.first < 0) throw UsageError("--first must be at least 0");
  if (run.threads < 0) throw UsageError("--threads must be at least 0");
  if (!(run.memory_gb >= 0)) throw UsageError("--memory must be at least 0 (GB)");
  if (run.max_attempts < 1) throw UsageError("--max-attempts must be at least 1");
  if (run.stop_after_failures < 0) throw UsageError("--stop-after-failures must be at least 0");
  if (run.print_open_shards && run.retry_failed)
    throw UsageError("--print-open-shards passes over failed plans, so leave out --retry-failed");
  if (!(run.job.plan_timeout_s >= 0))
    throw UsageError("--plan-timeout must be at least 0 (seconds)");
  if (!(run.worker_timeout_s >= 0.1))
    throw UsageError("--worker-timeout must be at least 0.1 (seconds)");
  if (run.json && run.check == CheckFor::nothing) throw UsageError("--json goes with --check");
}

void choose_shard_and_end(RunOptions& run, const RunWords& words) {
  if (words.shard == "auto") {
    run.shard = shard_of_array_task().value_or(Shard{});
  } else if (words.shard != "none") {
    run.shard = parse_shard(words.shard);
  }
  run.whole = run.out;
  run.out = shard_path(run.whole, run.shard);
  if (words.time_limit == "auto") {
    if (launched_rank() == 0 && !run.print_out && run.check == CheckFor::nothing) {
      if (const auto end = scheduled_end())
        run.end = std::chrono::steady_clock::now() + (*end - std::chrono::system_clock::now());
    }
  } else if (words.time_limit != "none") {
    run.end = std::chrono::steady_clock::now() + parse_duration(words.time_limit);
  }
}

/// GPUs have one solver only.
void choose_device(RunOptions& run) {
  const SolverOptions& solver = run.job.solver;
  const bool l2 = solver.limits.norm != Norm::max;
  if (!solver.reference && solver.kind == SolverKind::jacobi && !l2) return;
  if (run.device == DeviceChoice::gpu)
    throw UsageError(fmt::format("--{} runs on the CPU, so leave out --device gpu",
                                 solver.reference ? "solver-backend reference"
                                 : solver.kind != SolverKind::jacobi
                                     ? fmt::format("solver {}", to_string(solver.kind))
                                     : "norm l2"));
  run.device = DeviceChoice::cpu;
}

}  // namespace

RunOptions parse_run_options(Options& options) {
  RunOptions run;
  RunWords words;
  SolverOptionParser solver;
  QuestionOptions questions;
  options.describe(
      "--data PLANS --out FILE [options] [ID ...]",
      "Solves floor plans into one HDF5 file. Under mpirun, rank 0 hands out the plans "
      "and writes, the other ranks solve; without mpirun one process does both.\nExit "
      "status: 0 all done, 1 the run failed, 2 wrong usage, 3 finished but some plans "
      "failed, 75 stopped early with work left (run again with --resume).",
      {"wallheat run --data plans --out results.h5 --save-fields",
       "wallheat run --data plans --out steady.h5 --solver steady --save-fields --rooms"});
  declare_plans(options, run, words);
  questions.declare(options);
  solver.declare(options);
  declare_session(options, run, words);
  options.parse();
  refuse_contradictions(run, words);
  run.first = static_cast<std::size_t>(words.first);
  run.job.solver = solver.finish(run.job.data);
  questions.finish(run.job.solver);
  choose_shard_and_end(run, words);
  choose_device(run);
  run.command_line = command_line(options.arguments(), session_options);
  run.configuration = options.configuration(session_options);
  run.settings = options.configuration(own_options);
  // Nobody typed it: each rank reads it beside its own plans.
  if (!options.was_given("spacing"))
    run.settings += line_of("spacing", fmt::format("{}", run.job.solver.limits.spacing));
  return run;
}

}  // namespace wallheat
