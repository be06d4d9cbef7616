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

#include "core/gpu_figures.hpp"
#include "core/machine.hpp"
#include "io/child_process.hpp"
#include "isolation/message_channel.hpp"
#include "isolation/plan_job.hpp"
#include "queue/link.hpp"
#include "queue/messages.hpp"

namespace wallheat {

/// The program that solves: it calls serve_seat(), see solver_process.hpp.
struct SolverProgram {
  std::string file = "/proc/self/exe";
  std::vector<std::string> arguments = {"solver-process"};
};

struct SeatEvent {
  std::size_t seat = 0;
  FromSeat what;
};

/// The solver processes of a worker, from this side. They end with the thread that started them.
class Seats {
 public:
  explicit Seats(SolverProgram program);
  /// Kills them all.
  ~Seats();
  Seats(const Seats&) = delete;
  Seats& operator=(const Seats&) = delete;

  /// Adds a seat, which has no process yet. Throws RunError if there is no memory for its page.
  void add(const JobSettings& settings);
  /// Starts a process at a seat that has none. If that fails, poll() says why.
  void start(std::size_t seat);
  void give(std::size_t seat, const Task& task);
  /// Nothing is heard of the process any more.
  void kill(std::size_t seat);

  /// The messages, and which processes have ended; waits for the first of it. After a SeatEnd
  /// nothing more comes from a process.
  [[nodiscard]] std::vector<SeatEvent> poll(std::chrono::milliseconds at_most);
  /// Tells how far the plans in a process are, also of one that has ended.
  void progress(std::size_t seat, const std::function<void(const PlanProgress&)>& tell) const;
  [[nodiscard]] std::size_t count() const { return seats_.size(); }

 private:
  struct Seat;
  void listen(std::size_t seat, std::vector<SeatEvent>& events);

  SolverProgram program_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<std::unique_ptr<ChildProcess>> killed_;  // not ended by the kernel yet
};

/// What a worker solves on.
struct WorkerDevice {
  /// What each of its solver processes gets: one a core, or one a GPU with `lanes` 0.
  std::vector<JobSettings> seats;
  /// But for lanes, shares_process and bound_cpus, which the processes tell.
  WorkerFacts facts;
  /// A reading of its GPU, if there was one since the last call. Does not wait. May be empty.
  std::function<std::optional<GpuSample>()> gpu_samples{};
};

/// What run_worker() has to know, and what it calls.
struct WorkerContext {
  std::string host;
  /// In what this rank differs from rank 0, by version, settings and samples: one clause ("its
  /// --solver is steady, and rank 0's is jacobi"); empty if it was started for the same run. Called
  /// once.
  std::function<std::string(const Setup&)> difference;
  /// The devices to solve on, each of which replaces the one before if that is given up:
  /// a GPU and, with --device auto, its cores. Called once, after difference(). Throws RunError.
  std::function<std::vector<WorkerDevice>()> open;
  /// True once the process was asked to stop (a signal).
  std::function<bool()> interrupted;
  double sign_s = 1;       ///< it speaks no less often
  double silence_s = 120;  ///< then rank 0 counts as gone; may be infinite
  SolverProgram program{};
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// A worker's life, from Setup to End. If it is interrupted, refused or cannot go on, it says Bye
/// with the reason and waits for End. Returns End::together. Throws RunError if rank 0 is silent
/// for too long, and if the link fails.
[[nodiscard]] bool run_worker(Link& link, const WorkerContext& context);

}  // namespace wallheat
