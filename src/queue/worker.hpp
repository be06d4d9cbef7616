#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu_usage.hpp"
#include "core/runtime.hpp"
#include "queue/link.hpp"
#include "queue/task_pool.hpp"

namespace wallheat {

/// True once the process was asked to stop (a signal).
using Interrupted = std::function<bool()>;

/// One solver thread, ready to work.
struct ThreadParts {
  PlanJob job;
  std::vector<int> bound_cpus;  ///< read back from the system
};

/// What a GPU has told since the last call, if anything. Must not wait.
using GpuSamples = std::function<std::optional<GpuSample>()>;

/// The device that a worker solves on.
struct WorkerDevice {
  std::string kind;         ///< a short text for tables and rows; one name, one speed
  std::size_t threads = 1;  ///< solver threads to make, each with a plan at a time
  /// Called in each solver thread: binds it and makes its solver.
  std::function<ThreadParts(std::size_t thread)> prepare_thread;
  GpuSamples gpu_samples{};  ///< empty without a GPU
};

/// Silence of the other side for so long means that it is gone.
struct Timeouts {
  double worker_s = 30;  ///< rank 0's with a worker
  /// Rank 0's with a worker that starts: its solver threads may take two minutes to load.
  double start_s = 180;
  /// Progress and the use of GPUs are told no less often.
  double most_heartbeat_s = 1;
  /// A worker's with rank 0.
  [[nodiscard]] double rank0_s() const { return 4 * worker_s; }
  /// Rank 0's with the start and the end of MPI, which all ranks do together.
  [[nodiscard]] double together_s() const { return std::max(30.0, rank0_s()); }
  /// Time from one heartbeat to the next.
  [[nodiscard]] double heartbeat_s() const { return std::min(most_heartbeat_s, worker_s / 10); }
  /// A process that was asleep for longer must not take that for the silence of others.
  [[nodiscard]] double longest_lap_s() const { return std::max(0.25, heartbeat_s() / 4); }
};

/// In one process neither side can be gone, however long it waits for a disk or a terminal.
[[nodiscard]] inline Timeouts no_timeouts() {
  constexpr double endless = std::numeric_limits<double>::infinity();
  return {endless, endless};
}

/// What a worker is made of; the application supplies it.
struct WorkerParts {
  Machine machine;
  std::vector<NamedValue> settings{};  ///< what must be the same in rank 0
  /// What a plan is, as a short text that differs where its cells do; may be empty. Does not throw.
  std::function<std::string(const Task& plan)> sample{};
  /// Makes the device that a placement gives ready for its threads; it is kept as long as they are.
  std::function<WorkerDevice(const Placement&)> open;
  Interrupted interrupted;
  /// The most memory that this process has held, in bytes, without its solver processes; 0 where
  /// that is unknown. May be empty.
  std::function<std::int64_t()> peak_memory{};
  Timeouts timeouts;
  Runtime* runtime = &system_runtime();
};

/// A worker's life, from Hello to Finish. When it is interrupted, cannot prepare its threads or
/// fails otherwise, it leaves rank 0 with the reason, gives everything back, and waits for
/// Finish. Returns false where some rank is lost, so that MPI cannot be ended together. Throws
/// RunError where rank 0 is silent for too long, and where the link itself fails.
[[nodiscard]] bool run_worker(Link& link, const WorkerParts& parts);

}  // namespace wallheat
