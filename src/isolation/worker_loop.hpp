#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu_usage.hpp"
#include "isolation/job_settings.hpp"
#include "isolation/seats.hpp"
#include "queue/link.hpp"
#include "queue/messages.hpp"

namespace wallheat {

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
  /// The most memory that this process has held, in bytes, without its solver processes; 0 if that
  /// is unknown. May be empty.
  std::function<std::int64_t()> peak_memory{};
  double sign_s = 1;       ///< it speaks no less often
  double silence_s = 120;  ///< then rank 0 counts as gone; may be infinite
  SolverProgram program{};
};

/// A worker's life, from Setup to End. If it is interrupted, refused or cannot go on, it says Bye
/// with the reason and waits for End. Returns End::together. Throws RunError if rank 0 is silent
/// for too long, and if the link fails.
[[nodiscard]] bool run_worker(Link& link, const WorkerContext& context);

}  // namespace wallheat
