#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "app/campaign.hpp"
#include "app/catalogue.hpp"
#include "app/command_files.hpp"
#include "app/commands.hpp"
#include "app/gpu_watch.hpp"
#include "app/isolated_job.hpp"
#include "app/run_options.hpp"
#include "app/signals.hpp"
#include "core/printable.hpp"
#include "link/mpi_link.hpp"
#include "queue/coordinator.hpp"
#include "queue/local_link.hpp"
#include "queue/worker.hpp"
#include "wallheat/error.hpp"
#include "wallheat/machine.hpp"
#include "wallheat/plan_pack.hpp"
#include "wallheat/result_path.hpp"

namespace wallheat {
namespace {

/// The threads of a CPU worker, with a child process each: one on each core, or fewer on all of
/// them, so that no core is crowded by others while they use another.
WorkerDevice open_cpu(const RunOptions& options, const std::string& host,
                      const Placement& placement) {
  const JobSettings settings{options.data, options.solver, options.save_fields, host,
                             options.solver.device_text()};
  const std::chrono::duration<double> plan_timeout{options.plan_timeout_s};
  const std::size_t threads = placement.threads ? *placement.threads : placement.cpus.size();
  return {settings.device, threads, [settings, plan_timeout, placement](std::size_t thread) {
            const std::vector<int>& cpus = placement.cpus;
            bind_this_thread(placement.threads ? cpus : std::vector<int>{cpus.at(thread)});
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
  if (!launched_by_mpi()) parts.machine.host_cores = 0;  // then whoever bound it has meant it
  parts.open = [options, machine = parts.machine](const Placement& placement) {
    return placement.gpu ? open_gpu_worker(options, machine, *placement.gpu, placement.cpus)
                         : open_cpu(options, machine.host, placement);
  };
  parts.terms = options.terms();
  parts.sample = [data = options.data](const std::string& id) -> std::string {
    try {
      return plan_sample(*open_plan_source(data), id);
    } catch (const std::exception& error) {
      return error.what();
    }
  };
  parts.interrupted = stop_requested;
  parts.patience.worker_s = options.worker_timeout_s;
  return parts;
}

/// True where a file is missing, is no regular one, or holds no more than a run writes there.
bool may_hold_exit_status(const std::filesystem::path& path) {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(path, missing)) return true;
  constexpr std::size_t longest = 4;  // "255\n"
  std::array<char, longest + 1> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  const std::string_view text(bytes.data(), static_cast<std::size_t>(file.gcount()));
  return text.size() <= longest && text.find_first_not_of("0123456789\n") == std::string_view::npos;
}

/// Throws, before anything is opened, where the run would write over something else. A directory's
/// many plans are not compared one by one: what a file begins with keeps them from being replaced.
void check_files(const RunOptions& options) {
  CommandFiles files;
  files.reads_plans("--data", options.data);
  files.reads("--ids", options.ids_file);
  files.writes_store("--out", options.out);
  files.writes("--events", options.events);
  files.writes("--exit-status-file", options.exit_status_file);
  files.require_different();
  if (!may_hold_exit_status(options.exit_status_file))
    throw UsageError(fmt::format(
        "{} holds something else than an exit status; name another by --exit-status-file",
        options.exit_status_file.string()));
  if (options.overwrite) require_own_results(options.out);
}

/// Tells a wrapper how the run ended, as mpirun may tell something else. An empty path: nobody.
void write_exit_status(const std::filesystem::path& path, int status) {
  if (path.empty()) return;
  if (!may_hold_exit_status(path)) {
    print_error("wallheat: {} holds something else than an exit status and is left as it is",
                path.string());
    return;
  }
  std::ofstream file(path);
  file << status << '\n' << std::flush;
  if (!file) print_error("wallheat: the exit status cannot be written to {}", path.string());
}

struct RunOutcome {
  int status = exit_failed;
  std::string error;         ///< why it failed; empty where it did not
  std::vector<int> unheard;  ///< ranks that did not say good-bye
};

/// Whatever happens to rank 0, its workers go home. What there is to say is said afterwards: nobody
/// may ever read it.
RunOutcome coordinate_and_dismiss(Link& link, const RunOptions& options,
                                  const RunSurroundings& surroundings) {
  RunOutcome outcome;
  std::optional<Console> console;
  try {
    console.emplace(options.log_level, 0, host_name());
    outcome.status = run_campaign(link, options, surroundings, *console);
  } catch (const UsageError& error) {
    outcome.error = fmt::format("{}; see 'wallheat help run'", printable(error.what()));
    outcome.status = exit_usage;
  } catch (const std::exception& error) {
    outcome.error = printable(error.what());
  }
  write_exit_status(options.exit_status_file, outcome.status);
  // A wrapper ends by itself whoever does not answer.
  const std::chrono::seconds patience{options.exit_status_file.empty() ? 5 : 1};
  outcome.unheard = dismiss_workers(link, patience);
  if (!outcome.unheard.empty())
    // One sentence, with the error, which others' last words may have buried otherwise.
    outcome.error = fmt::format("{}{}rank(s) {} are lost; ending the run with status {}",
                                outcome.error, outcome.error.empty() ? "" : "; ",
                                fmt::join(outcome.unheard, ", "), outcome.status);
  if (!outcome.error.empty()) {
    const std::string sentence = "wallheat: " + outcome.error;
    console ? console->say(sentence) : print_error("{}", sentence);
  }
  return outcome;
}

int run_in_one_process(const RunOptions& options, const std::string& mpi) {
  LocalNetwork network(2);
  const auto worker_link = network.link(1);
  WorkerParts parts = worker_parts(options);
  parts.patience = endless_patience();
  const std::jthread worker([&] { (void)run_worker(*worker_link, parts); });
  return coordinate_and_dismiss(*network.link(0), options, {1, mpi, endless_patience()}).status;
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
    print_error("wallheat: rank {} cannot go on: {}", mpi.rank(), printable(error.what()));
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
    fmt::print("{}\n", result_path(options->out).string());
    return exit_done;
  }
  if (launched_rank() == 0) check_files(*options);
  catch_stop_signals();
  if (!launched_by_mpi()) return run_in_one_process(*options, "none");
  const Patience patience{options->worker_timeout_s};
  MpiSession mpi(std::chrono::duration<double>(patience.together_s()));
  if (mpi.size() == 1) return run_in_one_process(*options, mpi_library());
  const auto link = mpi.link();
  if (mpi.rank() != 0) return work(mpi, *link, *options);
  const RunOutcome outcome =
      coordinate_and_dismiss(*link, *options, {mpi.size(), mpi_library(), patience});
  // mpirun makes a crash of any status but 0; a wrapper has read in its file what it is.
  const bool wrapped = !options->exit_status_file.empty();
  const int status = wrapped ? exit_done : outcome.status;
  if (!outcome.unheard.empty()) mpi.leave_without_the_lost(status, wrapped);
  mpi.end(status);
  return status;
}

}  // namespace wallheat
