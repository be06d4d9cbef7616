#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plans/plan_source.hpp"
#include "queue/duration_model.hpp"
#include "queue/work_estimate.hpp"
#include "run/run_options.hpp"
#include "wallheat/plan_result.hpp"

namespace wallheat {

/// Estimates the work of a plan from its mask. Returns nullopt if the mask cannot be read; solving
/// the plan will then fail with an error message. Also returns nullopt for a plan of more than 2^24
/// cells (2^26 for the steady solver, which only counts interior cells), so that rank 0 needs
/// little memory however large a plan is.
[[nodiscard]] std::optional<WorkEstimate> estimate_plan(const PlanSource& source,
                                                        const std::string& id,
                                                        const SolveParameters& limits,
                                                        SolverKind solver);

/// Estimates the work of many plans during a run: a thread of lowest priority reads their masks, in
/// the given order, and ends after the last one.
class WorkEstimator {
 public:
  /// `id_of` returns the ID of each of the `plans` plans. The thread calls it.
  WorkEstimator(SharedPlanSource source, std::size_t plans,
                std::function<std::string(QueueIndex plan)> id_of, const SolveParameters& limits,
                SolverKind solver = SolverKind::jacobi);
  /// Stops the thread after the plan in progress.
  ~WorkEstimator() = default;
  WorkEstimator(const WorkEstimator&) = delete;
  WorkEstimator& operator=(const WorkEstimator&) = delete;

  /// Returns the plans that were estimated since the last call, with their cell updates.
  [[nodiscard]] std::vector<std::pair<QueueIndex, double>> take_new();

 private:
  void read_all(const std::stop_token& stop);

  SharedPlanSource source_;
  std::size_t plans_;
  std::function<std::string(QueueIndex plan)> id_of_;
  SolveParameters limits_;
  SolverKind solver_;
  std::mutex mutex_;
  std::vector<std::pair<QueueIndex, double>> ready_;
  std::jthread reader_;  // last member, so that it is joined before the others are destroyed
};

/// Work that is left of a campaign, and the speed of a core.
struct RemainingWork {
  /// Cell updates of each plan that is left; the mean of the others if its mask cannot be read.
  std::vector<double> updates;
  DurationModel core;
  std::string speed_source;  ///< origin of the speed, for text output
};

/// Returns the work of the plans of a run that are not solved. The speed of a core follows from the
/// plans that a CPU has solved; if there are none, solves up to three plans in this process. Throws
/// RunError if none of them can be read.
[[nodiscard]] RemainingWork remaining_work(const RunOptions& run,
                                           const std::vector<PlanResult>& solved);

}  // namespace wallheat
