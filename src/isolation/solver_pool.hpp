#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "core/runtime.hpp"
#include "io/print_error.hpp"
#include "isolation/plan_job.hpp"
#include "isolation/solver_child.hpp"

namespace wallheat {

/// What a pool has of the system.
struct SolverPoolParts {
  StartSolver start = SolverProgram{};
  /// A job waits for so long for a source of plans that is away, as one does whose server restarts.
  std::chrono::duration<double> source_timeout{120};
  Runtime* runtime = &system_runtime();
  /// Says one sentence to whoever looks at the run; on stderr.
  std::function<void(const std::string&)> warn = [](const std::string& sentence) {
    print_error("wallheat: {}", sentence);
  };
};

/// Solves in a child process, so that a plan that kills its solver costs the plan and not the
/// worker. Several threads may share the child, which solves as many plans at once as it has
/// lanes: with a GPU, whose plans should all be solved by one process.
///
/// Where the child dies, reports that its device failed, or makes no progress with a plan for the
/// time that a plan is given, a new child takes its place, and somebody is to blame:
/// * The plan that makes no progress: it fails and may pass another time. What the others were at
///   is solved anew.
/// * Otherwise the plan that was at it alone. Where there were several, each of them is tried again
///   alone in the new child; a plan that kills that one is to blame.
/// A GPU on which several plans in a row are to blame, or that fails again and again with several
/// plans at once, is itself to blame, and given up: its jobs throw RunError with the reason.
class SolverPool {
 public:
  /// Starts a child. It ends with the thread that started it: this one, or one that a job runs in.
  /// Throws RunError if no child can be started.
  explicit SolverPool(const JobSettings& settings, SolverPoolParts parts = {});

  [[nodiscard]] std::size_t lanes() const;
  /// The job for any number of threads; where there are more of them than lanes, they wait for each
  /// other. It also throws RunError, with the plan untouched, where after several tries no new
  /// child comes up, and SourceUnavailable where the wait for the source was in vain.
  [[nodiscard]] PlanJob job() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace wallheat
