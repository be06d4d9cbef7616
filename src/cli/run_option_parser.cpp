#include "cli/run_option_parser.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "cli/options.hpp"
#include "mpi/mpi_link.hpp"
#include "run/batch_job.hpp"
#include "store/packs/plan_pack.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

bool can_show_bar() {
  const char* terminal = std::getenv("TERM");
  return (::isatty(STDERR_FILENO) != 0 || stderr_columns()) && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

std::string joined(const Arguments& arguments) {
  std::string text = "wallheat run";
  for (const std::string& argument : arguments) text += " " + argument;
  return text;
}

}  // namespace

void SolverOptionParser::declare(Options& options) {
  options_ = &options;
  options.add("solver", value(kind_, "NAME", "jacobi"),
              "jacobi (the reference's iterate, bit for bit), fastforward (the same iterate to "
              "1e-9 °C, several times as fast) or steady (the true steady state, with a proven "
              "bound, faster still); the last two run on CPUs only");
  options.add("tolerance", value(tolerance_, "DEGREES", 1e-4, "1e-4"),
              "stop when an iteration changes less than this, in °C (not steady)");
  options.add("norm", value(norm_, "NAME", "max"),
              "how that change is measured: max (the largest of a cell) or l2 (the root of the "
              "sum of squares; on CPUs only)");
  options.add("spacing", value(spacing_, "LENGTH"),
              "distance between neighbouring cells, in the unit in which a plan's source is given "
              "per square (default: what spacing.txt beside the plans or their pack says, else 1); "
              "matters to plans with ID_source.npy only");
  options.add("accuracy", value(accuracy_, "DEGREES", 1e-8, "1e-8"),
              "no cell may be farther than this from the steady state, in °C (steady only)");
  options.add("max-iterations", value(max_iterations_, "N", 20000), "stop after N iterations");
  options.add("solver-backend", value(backend_, "NAME", "vector"),
              "back end of jacobi: vector (fast) or reference (plain and sequential, to compare "
              "with); both give the "
              "same bits");
  options.add("isa", value(isa_, "NAME", "auto"),
              "instruction set of the vectorised solvers: auto, avx512, avx2 or baseline");
  options.words("solver", {"jacobi", "fastforward", "steady"});
  options.words("norm", {"max", "l2"});
  options.words("solver-backend", {"vector", "reference"});
  options.words("isa", {"auto", "avx512", "avx2", "baseline"});
  for (const char* name :
       {"tolerance", "norm", "spacing", "accuracy", "max-iterations", "solver-backend", "isa"})
    options.fold(name);
}

SolverOptions SolverOptionParser::finish(const std::filesystem::path& plans) const {
  if (!std::isfinite(tolerance_) || tolerance_ < 0)
    throw UsageError("--tolerance must be a number of at least 0 (°C)");
  if (!std::isfinite(accuracy_) || accuracy_ <= 0)
    throw UsageError("--accuracy must be a number above 0 (°C)");
  const bool said = options_->was_given("spacing");
  if (said && (!std::isfinite(spacing_) || spacing_ <= 0))
    throw UsageError("--spacing must be a number above 0");
  if (max_iterations_ < 1) throw UsageError("--max-iterations must be at least 1");
  SolverOptions solver;
  const Norm norm = choose<Norm>("norm", norm_, {{"max", Norm::max}, {"l2", Norm::l2}});
  solver.limits = {tolerance_, max_iterations_, accuracy_, norm, 1};
  const auto spacing = said ? std::optional(spacing_) : spacing_of_plans(plans);
  solver.limits.spacing = spacing.value_or(1);
  solver.spacing_is_known = spacing.has_value();
  solver.kind = choose<SolverKind>("solver", kind_,
                                   {{"jacobi", SolverKind::jacobi},
                                    {"fastforward", SolverKind::fastforward},
                                    {"steady", SolverKind::steady}});
  solver.reference =
      choose<bool>("solver-backend", backend_, {{"vector", false}, {"reference", true}});
  solver.isa = choose<Isa>("isa", isa_,
                           {{"auto", available_isas().back()},
                            {"avx512", Isa::avx512},
                            {"avx2", Isa::avx2},
                            {"baseline", Isa::baseline}});
  if (solver.reference && solver.kind != SolverKind::jacobi)
    throw UsageError(fmt::format(
        "--solver-backend reference is a back end of jacobi, so leave out --solver {}", kind_));
  return solver;
}

Arguments SolverOptionParser::arguments() const {
  Arguments arguments{"--solver=" + kind_,
                      fmt::format("--tolerance={}", tolerance_),
                      fmt::format("--accuracy={}", accuracy_),
                      "--norm=" + norm_,
                      fmt::format("--max-iterations={}", max_iterations_),
                      "--solver-backend=" + backend_,
                      "--isa=" + isa_};
  if (options_->was_given("spacing")) arguments.push_back(fmt::format("--spacing={}", spacing_));
  return arguments;
}

std::optional<RunOptions> parse_run_options(const Arguments& arguments) {
  RunOptions run;
  SolverOptionParser solver;
  std::string device;
  std::string progress;
  std::string shard;
  std::string time_limit;
  std::string check;
  std::int64_t first = 0;

  Options options("run --data PLANS --out FILE [options] [ID ...]",
                  "Solves floor plans into one HDF5 file. Under mpirun, rank 0 hands out the plans "
                  "and writes, the other ranks solve; without mpirun one process does both.\nExit "
                  "status: 0 all done, 1 the run failed, 2 wrong usage, 3 finished but some plans "
                  "failed, 75 stopped early with work left (run again with --resume).");
  options.add("data,d", value(run.job.data, "PLANS"),
              "directory with ID_domain.npy, ID_interior.npy and, for plans with heat sources, "
              "ID_source.npy, or a file that 'wallheat pack' made of one");
  options.add("out,o", value(run.out, "FILE"), "the result file");
  options.add("id", value(run.ids, "ID"),
              "solve this plan (also as an argument); default: all of --ids");
  options.add("ids", value(run.ids_file, "FILE"),
              "file with one id a line, # begins a comment (default: building_ids.txt of a "
              "directory; all its plans where it has none; all of a pack)");
  options.add("first,n", value(first, "N", 0), "only the first N ids; 0: all");
  solver.declare(options);
  options.add(
      "device", value(device, "NAME", "auto"),
      "auto (each host's GPUs go to its first workers, one each; the others use CPUs), cpu, or gpu "
      "(every worker must get one)");
  options.add(
      "threads,t", value(run.threads, "N", 0),
      "each worker uses at most N cores of its share, one plan per core; 0: the whole share. On a "
      "GPU: at most N threads that feed it");
  options.add("save-fields", flag(run.job.save_fields), "also store the temperature fields");
  options.add("resume", flag(run.resume),
              "continue an existing result file: keep what is done, solve the rest");
  options.add("overwrite", flag(run.overwrite), "replace an existing result file");
  options.add("shard", value(shard, "K/N", "auto"),
              "solve every N-th plan from the K-th on, into results.part-K-of-N.h5 where --out is "
              "results.h5 (gather with 'wallheat merge'); auto: the task of a Slurm or LSF job "
              "array; none: all plans");
  options.add("time-limit", value(time_limit, "TIME", "auto"),
              "store what is solved and stop before this much time has passed since the start: "
              "seconds, 90m, 1h30m, 1:30:00; auto: before Slurm or LSF ends the job; none");
  options.add("max-attempts", value(run.max_attempts, "N", 3),
              "give up a plan after it has failed or killed its solver N times, over all sessions");
  options.add("retry-failed", flag(run.retry_failed),
              "with --resume: also try plans again that were given up");
  options.add("plan-timeout", value(run.job.plan_timeout_s, "SECONDS", 600),
              "kill the solver of a plan that makes no iteration for this long; 0: never");
  options.add(
      "worker-timeout", value(run.worker_timeout_s, "SECONDS", 30),
      "a worker that sends nothing for this long is lost, and its plans go to others; workers "
      "wait four times as long for rank 0, and rank 0 for the start and the end of MPI");
  options.add("exit-status-file", value(run.exit_status_file, "FILE"),
              "write the exit status there once the result file is closed, as mpirun's own may "
              "be another; a run under mpirun itself ends with 0 then");
  options.add("print-out", flag(run.print_out),
              "print the result file that these options mean (a shard's part, links followed) and "
              "exit; for scripts");
  OptionValue check_for = value(check, "WHERE", "no");
  check_for.without_value = "here";
  options.add("check", check_for,
              "only say what the run would do and what would stop it, all at once; here (also "
              "plain --check), or job, for a run on other nodes, whose GPUs are not here");
  options.add("json", flag(run.json), "with --check: print what it finds as one JSON object");
  options.add("events", value(run.events, "FILE"), "add what happens as JSON lines to FILE");
  options.add(
      "progress", value(progress, "STYLE", "auto"),
      "bar, lines (one every 5 s at first, then less often), none, or auto (bar where stderr "
      "or that of mpirun is a terminal)");
  options.add("log-level", value(run.log_level, "LEVEL", "info"),
              "trace, debug, info, warning, error, critical or off");
  options.words("device", {"auto", "cpu", "gpu"});
  options.words("check", {"here", "job"});
  options.words("progress", {"auto", "bar", "lines", "none"});
  options.words("log-level", {"trace", "debug", "info", "warning", "error", "critical", "off"});
  options.positional("id", -1);
  options.require({"data", "out"});
  if (!options.parse(arguments)) return std::nullopt;

  if (run.resume && run.overwrite) throw UsageError("--resume and --overwrite exclude each other");
  if (!run.ids.empty() && !run.ids_file.empty())
    throw UsageError("give ids as arguments or in --ids, not both");
  if (const std::string ending = run.out.extension().string();
      ending == ".csv" || ending == ".json" || ending == ".txt")
    throw UsageError(fmt::format(
        "--out {}: run writes an HDF5 file, so name one that ends in .h5; 'wallheat export' makes "
        "CSV and JSON of it",
        run.out.string()));
  if (first < 0) throw UsageError("--first must be at least 0");
  if (run.threads < 0) throw UsageError("--threads must be at least 0");
  if (run.max_attempts < 1) throw UsageError("--max-attempts must be at least 1");
  if (!(run.job.plan_timeout_s >= 0))
    throw UsageError("--plan-timeout must be at least 0 (seconds)");
  if (!(run.worker_timeout_s >= 0.1))
    throw UsageError("--worker-timeout must be at least 0.1 (seconds)");
  if (shard == "auto") {
    run.shard = shard_of_array_task().value_or(Shard{});
  } else if (shard != "none") {
    run.shard = parse_shard(shard);
  }
  run.out = shard_path(run.out, run.shard);
  if (time_limit == "auto") {
    if (launched_rank() == 0 && !run.print_out && check == "no") {
      if (const auto end = scheduled_end())
        run.end = std::chrono::steady_clock::now() + (*end - std::chrono::system_clock::now());
    }
  } else if (time_limit != "none") {
    run.end = std::chrono::steady_clock::now() + parse_duration(time_limit);
  }
  run.check = choose<CheckFor>(
      "check", check,
      {{"no", CheckFor::nothing}, {"here", CheckFor::this_machine}, {"job", CheckFor::a_job}});
  if (run.json && run.check == CheckFor::nothing) throw UsageError("--json goes with --check");
  run.first = static_cast<std::size_t>(first);
  run.job.solver = solver.finish(run.job.data);
  run.device = choose<DeviceChoice>(
      "device", device,
      {{"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"gpu", DeviceChoice::gpu}});
  if (run.job.solver.reference && run.device == DeviceChoice::gpu)
    throw UsageError("--solver-backend reference runs on the CPU, so leave out --device gpu");
  if (run.job.solver.kind != SolverKind::jacobi && run.device == DeviceChoice::gpu)
    throw UsageError(fmt::format("--solver {} runs on the CPU, so leave out --device gpu",
                                 to_string(run.job.solver.kind)));
  if (run.job.solver.limits.norm != Norm::max && run.device == DeviceChoice::gpu)
    throw UsageError("--norm l2 runs on the CPU, so leave out --device gpu");
  if (run.job.solver.reference || run.job.solver.limits.norm != Norm::max ||
      run.job.solver.kind != SolverKind::jacobi)
    run.device = DeviceChoice::cpu;
  const ProgressStyle automatic = can_show_bar() ? ProgressStyle::bar : ProgressStyle::lines;
  run.progress = choose<ProgressStyle>("progress", progress,
                                       {{"auto", automatic},
                                        {"bar", ProgressStyle::bar},
                                        {"lines", ProgressStyle::lines},
                                        {"none", ProgressStyle::none}});
  run.command_line = joined(arguments);
  run.configuration = options.configuration();
  return run;
}

std::filesystem::path exit_status_file_among(const Arguments& arguments) {
  const std::string name = "--exit-status-file";
  std::filesystem::path file;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    if (arguments[k] == name && k + 1 < arguments.size()) file = arguments[k + 1];
    if (arguments[k].starts_with(name + "=")) file = arguments[k].substr(name.size() + 1);
  }
  return file;
}

}  // namespace wallheat
