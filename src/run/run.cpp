#include "run/run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/codec.hpp"
#include "core/program.hpp"
#include "core/system_limits.hpp"
#include "core/text.hpp"
#include "io/child_process.hpp"
#include "io/standard_streams.hpp"
#include "monitor/file_status.hpp"
#include "mpi/mpi_environment.hpp"
#include "node/local_machine.hpp"
#include "queue/link.hpp"
#include "run/coordinator_loop.hpp"
#include "run/preparation.hpp"
#include "run/rank0.hpp"
#include "run/stop_signals.hpp"
#include "run/worker_context.hpp"
#include "view/json.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

struct RunOutcome {
  int status = exit_failed;
  std::string error;      ///< error message; empty if the run did not fail
  std::vector<int> lost;  ///< ranks that did not send Bye
};

/// Runs the command of --notify with the outcome of the run as JSON on its standard input.
void notify(const RunOptions& options, const RunOutcome& outcome) {
  constexpr std::chrono::seconds longest{30};
  try {
    Json end{{"exit_status", outcome.status}, {"error", outcome.error}};
    try {
      end.update(to_json(status_of({options.out})));
    } catch (const std::exception&) {
      // The file cannot be read; `error` contains the reason.
      end["file"] = options.out.string();
    }
    const std::string failure =
        run_with_timeout({"sh", "-c", options.notify}, json_line(end) + "\n", longest);
    if (!failure.empty())
      print_error("wallheat: warning: the command of --notify {}", escape_control_chars(failure));
  } catch (const std::exception& error) {
    print_error("wallheat: warning: --notify: {}", escape_and_truncate(error.what()));
  }
}

/// Runs rank 0 and then stops the workers, even if rank 0 fails. Prints the error message last,
/// because printing blocks if stderr is never read.
RunOutcome coordinate_and_dismiss(Link& link, const RunOptions& options,
                                  const RunEnvironment& surroundings) {
  RunOutcome outcome;
  std::optional<Console> console;
  std::optional<BackgroundThread> thread;  // performs all later file operations of the run
  try {
    thread.emplace();
    console.emplace(options.log_level, surroundings.ranks > 1 ? "rank 0 " + host_name() : "");
    outcome.status = run_rank0(link, *thread, options, surroundings, *console);
  } catch (const UsageError& error) {
    outcome.error = fmt::format("{}; see 'wallheat help run'", escape_and_truncate(error.what()));
    outcome.status = exit_usage;
  } catch (const std::exception& error) {
    outcome.error = escape_and_truncate(exception_text(error));
  }
  if (!options.notify.empty() && thread)
    run_with_heartbeats(link, *thread, surroundings.timeouts.heartbeat_interval_s(),
                        [&] { notify(options, outcome); });
  outcome.lost = shut_down_workers(link);
  if (!outcome.lost.empty()) {
    // Part of the same message as the error, which the messages of other ranks might otherwise
    // displace.
    const bool is_one = outcome.lost.size() == 1;
    outcome.error +=
        fmt::format("{}{} {} {} lost; ending the run with exit status {}",
                    outcome.error.empty() ? "" : "; ", is_one ? "rank" : "ranks",
                    fmt::join(outcome.lost, ", "), is_one ? "is" : "are", outcome.status);
  }
  if (!outcome.error.empty()) {
    const std::string message = "wallheat: " + outcome.error;
    console ? console->print(message) : print_error("{}", message);
  }
  return outcome;
}

/// Runs rank 0 and the workers as threads of this process: one worker for each GPU, or one.
int run_in_one_process(const RunOptions& options, const std::string& mpi) {
  Machine machine = usable_machine(options);
  machine.host_cores = 0;  // no launcher has bound the process; a binding is intended by the user
  const std::size_t gpus = options.device == DeviceChoice::cpu ? 0 : machine.gpus.size();
  const std::vector<Machine> machines(std::max<std::size_t>(gpus, 1), machine);
  const auto links = make_local_links(static_cast<int>(machines.size()) + 1);
  const Timeouts timeouts = no_timeouts();
  std::vector<std::jthread> threads;
  for (std::size_t worker = 0; worker < machines.size(); ++worker)
    threads.emplace_back([&link = *links[worker + 1],
                          context = worker_context(options, timeouts, machines, worker)] {
      (void)run_worker(link, context);
    });
  return coordinate_and_dismiss(*links[0], options, {1, mpi, timeouts}).status;
}

/// The machine as each worker of a host found it, in the order of their ranks.
struct HostMachines {
  std::vector<Machine> machines;
  std::size_t mine = 0;  ///< index of this rank
};

/// Exchanges the descriptions of the machines among the workers of each host. All ranks must call
/// this once, directly after the start of MPI. Rank 0, which solves nothing, gets an empty list.
/// Throws RunError if the machine of this rank cannot be read; the other ranks continue without it.
HostMachines machines_of_host(const MpiEnvironment& mpi, const RunOptions& options) {
  Machine own;
  // Kept until this rank has sent its message, because all ranks wait for it.
  std::exception_ptr failure;
  try {
    if (mpi.rank() != 0) own = usable_machine(options);
  } catch (const std::exception&) {
    failure = std::current_exception();
  }
  HostMachines host;
  const std::string& system = own.system_id.empty() ? own.host : own.system_id;
  for (const auto& [rank, bytes] : mpi.gather_by_group(system, to_bytes(own))) {
    auto machine = from_bytes<Machine>(bytes);
    if (machine.cores.empty()) continue;  // the machine of rank 0, or one that could not be read
    if (rank == mpi.rank()) host.mine = host.machines.size();
    host.machines.push_back(std::move(machine));
  }
  if (failure) std::rethrow_exception(failure);
  return host;
}

/// Runs a worker rank, from the exchange of the machines to the end of MPI.
int work(MpiEnvironment& mpi, const RunOptions& options, const Timeouts& timeouts) {
  try {
    const HostMachines host = machines_of_host(mpi, options);
    const bool all_are_there =
        run_worker(mpi.link(), worker_context(options, timeouts, host.machines, host.mine));
    return mpi.finalize(exit_done, all_are_there);
  } catch (const std::exception& error) {
    print_error("wallheat: rank {}: {}", mpi.rank(), escape_and_truncate(exception_text(error)));
    return mpi.finalize(exit_failed, false);
  }
}

}  // namespace

int run(const RunOptions& options) {
  install_stop_signal_handlers();
  if (!launched_by_mpi()) {
    require_single_process();
    return run_in_one_process(options, "none");
  }
  const Timeouts timeouts{options.worker_timeout_s};
  const MpiEnvironment::Timeout together(timeouts.collective_timeout_s());
  MpiEnvironment mpi(together, together);
  if (mpi.size() == 1) {
    require_single_process();
    return run_in_one_process(options, mpi_library());
  }
  if (mpi.rank() != 0) return work(mpi, options, timeouts);
  (void)machines_of_host(mpi, options);
  Link& link = mpi.link();
  const RunOutcome outcome =
      coordinate_and_dismiss(link, options, {mpi.size(), mpi_library(), timeouts});
  // An mpirun that survives lost ranks exits with 0 whatever the status of its ranks, but prints an
  // error for each rank with another status.
  const int status = recovery_enabled() ? exit_done : outcome.status;
  return mpi.finalize(status, outcome.lost.empty());
}

}  // namespace wallheat
