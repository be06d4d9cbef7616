#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plans/plan_source.hpp"
#include "run/run_options.hpp"
#include "wallheat/plan_result.hpp"

namespace wallheat {

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

/// Measures the speed of one core of this machine with a plan, in cell updates per second.
/// `updates` is the estimated work of the plan. Takes some tenths of a second for jacobi, because
/// it makes only some iterations, and solves the plan for the other solvers. Throws InputError if
/// the plan cannot be read.
[[nodiscard]] double measure_core_speed(const PlanSource& source, const std::string& id,
                                        double updates, const SolverOptions& solver);

/// Work that is left of a campaign.
struct RemainingWork {
  /// Predicted duration of each plan on one core, in s. A plan whose mask cannot be read has the
  /// mean number of cell updates of the others.
  std::vector<double> plans_s;
  std::vector<double> updates;  ///< estimated cell updates of each plan
  std::string speed_source;     ///< origin of the speed of a core, for text output
};

/// Returns the work of the plans of a run that are not solved. `core_speed` is in cell updates per
/// second. If it is 0, the speed follows from the plans that a CPU has solved; if there are none,
/// solves up to three plans in this process. Throws RunError if no plan can be read.
[[nodiscard]] RemainingWork remaining_work(const RunOptions& run,
                                           const std::vector<PlanResult>& solved,
                                           double core_speed);

}  // namespace wallheat
