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
#include "core/machine.hpp"
#include "io/child_process.hpp"
#include "isolation/message_channel.hpp"
#include "isolation/task_runner.hpp"
#include "queue/link.hpp"
#include "queue/messages.hpp"

namespace wallheat {

/// The program that solves: it calls run_solver_process(), see solver_process.hpp.
struct SolverProgram {
  std::string file = "/proc/self/exe";
  std::vector<std::string> arguments = {"solver-process"};
};

struct ProcessEvent {
  std::size_t process = 0;
  FromProcess message;
};

/// The solver processes of a worker, from this side. They end with the thread that started them.
class SolverProcessPool {
 public:
  explicit SolverProcessPool(SolverProgram program);
  /// Kills them all.
  ~SolverProcessPool();
  SolverProcessPool(const SolverProcessPool&) = delete;
  SolverProcessPool& operator=(const SolverProcessPool&) = delete;

  /// Adds a seat, which has no process yet. Throws RunError if there is no memory for its page.
  void add(const SolveConfig& settings);
  /// Starts a process at a seat that has none. If that fails, poll() says why.
  void start(std::size_t process);
  /// Sends a task. If it does not fit into the socket of the process, poll() sends it later, in
  /// order.
  void assign(std::size_t process, const Task& task);
  /// Nothing is heard of the process any more.
  void kill(std::size_t process);

  /// The messages, and which processes have ended; waits for the first of it. After a ProcessExit
  /// nothing more comes from a process.
  [[nodiscard]] std::vector<ProcessEvent> poll(std::chrono::milliseconds at_most);
  /// Tells how far the plans in a process are, also of one that has ended.
  void for_each_progress(std::size_t process,
                         const std::function<void(const PlanProgress&)>& log) const;
  [[nodiscard]] std::size_t count() const { return processes_.size(); }

 private:
  struct Process;
  void listen(std::size_t process, std::vector<ProcessEvent>& events);

  SolverProgram program_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<ChildProcess>> killed_;  // not ended by the kernel yet
};

/// What a worker solves on.
struct WorkerDevice {
  /// What each of its solver processes gets: one a core, or one a GPU with `slots` 0.
  std::vector<SolveConfig> processes;
  /// But for lanes, shares_process and bound_cpus, which the processes tell.
  WorkerProperties properties;
  /// A reading of its GPU, if there was one since the last call. Does not wait. May be empty.
  std::function<std::optional<GpuSample>()> take_gpu_sample{};
};

/// What run_worker() has to know, and what it calls.
struct WorkerContext {
  std::string host;
  /// In what this rank differs from rank 0, by version, settings and samples: one clause ("its
  /// --solver is steady, and rank 0's is jacobi"); empty if it was started for the same run. Called
  /// once.
  std::function<std::string(const Setup&)> find_mismatch;
  /// The devices to solve on, each of which replaces the one before if that is given up:
  /// a GPU and, with --device auto, its cores. Called once, after difference(). Throws RunError.
  std::function<std::vector<WorkerDevice>()> open_devices;
  /// True once the process was asked to stop (a signal).
  std::function<bool()> interrupted;
  double heartbeat_interval_s = 1;   ///< it speaks no less often
  double heartbeat_timeout_s = 120;  ///< then rank 0 counts as gone; may be infinite
  SolverProgram program{};
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// Runs a worker from Setup to Shutdown. If the worker is interrupted, incompatible or cannot
/// continue, it sends Bye with the reason and waits for Shutdown. Returns
/// Shutdown::all_ranks_present. Throws RunError if rank 0 sends no message for too long, or if the
/// link fails.
[[nodiscard]] bool run_worker(Link& link, const WorkerContext& context);

}  // namespace wallheat
