#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/gpu_stats.hpp"
#include "core/input_file.hpp"
#include "core/machine.hpp"
#include "io/child_process.hpp"
#include "isolation/message_channel.hpp"
#include "isolation/task_runner.hpp"
#include "queue/link.hpp"
#include "queue/messages.hpp"

namespace wallheat {

/// The program of a solver process. It must call run_solver_process(); see solver_process.hpp.
struct SolverProgram {
  std::string file = "/proc/self/exe";
  std::vector<std::string> arguments = {"solver-process"};
  /// The file behind a `file` in /proc/self/fd.
  std::shared_ptr<const FileDescriptor> open_file{};
};

/// Returns the program wallheat-solver-process in the folder of this program, which starts in less
/// than half the time because it does not load MPI, HDF5 and Boost. Returns this program itself if
/// that file does not exist, because only this program was copied; also if the file belongs to
/// another build, whose results could differ: then it prints a warning, unless `may_warn` is false.
/// The file stays open, so that an update of wallheat during a run does not change the program of
/// later solver processes.
[[nodiscard]] SolverProgram find_solver_program(bool may_warn);

/// A message from the solver process with number `process`, or its end.
struct ProcessEvent {
  std::size_t process = 0;
  FromProcess message;
};

/// The solver processes of a worker. They are killed when the thread that started them ends. Not
/// thread-safe.
class SolverProcessPool {
 public:
  explicit SolverProcessPool(SolverProgram program);
  /// Ends all solver processes as kill() does, and waits for that.
  ~SolverProcessPool();
  SolverProcessPool(const SolverProcessPool&) = delete;
  SolverProcessPool& operator=(const SolverProcessPool&) = delete;

  /// Adds a solver process without starting it; its number is count() - 1. Throws RunError if the
  /// shared memory cannot be created.
  void add(const SolveConfig& settings);
  /// Starts a process that is not running. If the previous process has not ended, poll() starts it
  /// later. If the start fails, poll() returns the reason as a ProcessExit.
  void start(std::size_t process);
  /// Sends a task. If it does not fit into the socket of the process, poll() sends it later, in
  /// order.
  void assign(std::size_t process, const Task& task);
  /// Kills a process. poll() returns nothing more from it. The program of a solver command that has
  /// no plan in progress ends by itself, so that its last output is logged; its solver process is
  /// killed if that takes too long.
  void kill(std::size_t process);

  /// Returns the messages that have arrived, and the ends of processes. Waits for the first of
  /// them, for `at_most`. After a ProcessExit, nothing more is returned from that process.
  [[nodiscard]] std::vector<ProcessEvent> poll(std::chrono::milliseconds at_most);
  /// Calls visit() with the progress of each plan in a process, even if the process has ended.
  void for_each_progress(std::size_t process,
                         const std::function<void(const PlanProgress&)>& visit) const;
  [[nodiscard]] std::size_t count() const { return processes_.size(); }

 private:
  struct Process;
  void start_if_possible(Process& process);
  void listen(std::size_t process, std::vector<ProcessEvent>& events);

  SolverProgram program_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<ChildProcess>> killed_;  ///< have not ended yet
};

/// A device of a worker.
struct WorkerDevice {
  /// Configurations of its solver processes: one per core, or a single one with `slots` = 0 for a
  /// GPU.
  std::vector<SolveConfig> processes;
  /// Without slots, shares_process and bound_cpus, which the solver processes report.
  WorkerProperties properties;
  /// Returns a sample of its GPU if one was taken since the last call. Does not wait. May be empty.
  std::function<std::optional<GpuSample>()> take_gpu_sample{};
};

/// Parameters and callbacks of run_worker().
struct WorkerContext {
  std::string host;
  /// Returns how this rank differs from rank 0 in version, settings or plans, as one clause; an
  /// empty string if it does not differ. Called once.
  std::function<std::string(const Setup&)> find_mismatch;
  /// Returns the devices to solve on: a GPU and, with --device auto, cores. Each device is used
  /// after the previous one was given up. Called once, after find_mismatch(). Throws RunError.
  std::function<std::vector<WorkerDevice>()> open_devices;
  /// Returns true if this process received a signal that requests a stop.
  std::function<bool()> interrupted;
  double heartbeat_interval_s = 1;  ///< longest time between two messages to rank 0
  double heartbeat_timeout_s =
      120;  ///< rank 0 is lost after this time without a message; or infinite
  SolverProgram program{};
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// Runs a worker from Setup to Shutdown. If the worker is interrupted, incompatible or cannot
/// continue, it sends Bye with the reason and waits for Shutdown. Returns
/// Shutdown::all_ranks_present. Throws RunError if rank 0 sends no message for too long, or if the
/// link fails.
[[nodiscard]] bool run_worker(Link& link, const WorkerContext& context);

}  // namespace wallheat
