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

/// Nothing for a plan whose mask cannot be read: its solve will fail and say why. Nothing, unless
/// the solver is steady, for one of more than 2^24 cells, so that rank 0 needs little memory
/// however large a plan is.
[[nodiscard]] std::optional<WorkEstimate> estimate_plan(const PlanSource& source,
                                                        const std::string& id,
                                                        const SolveParameters& limits,
                                                        SolverKind solver);

/// Estimates the work of many plans while the run goes on: a thread of lowest priority reads their
/// masks, in the order given, and ends when it has seen all.
class WorkEstimator {
 public:
  /// `id_of` tells the id of each of the `plans` plans. The thread calls it.
  WorkEstimator(SharedPlanSource source, std::size_t plans,
                std::function<std::string(std::uint32_t plan)> id_of, const SolveParameters& limits,
                SolverKind solver = SolverKind::jacobi);
  /// Stops after the plan at hand.
  ~WorkEstimator() = default;
  WorkEstimator(const WorkEstimator&) = delete;
  WorkEstimator& operator=(const WorkEstimator&) = delete;

  /// The plans that were estimated since the last call, with their cell updates.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, double>> take_new();

 private:
  void read_all(const std::stop_token& stop);

  SharedPlanSource source_;
  std::size_t plans_;
  std::function<std::string(std::uint32_t plan)> id_of_;
  SolveParameters limits_;
  SolverKind solver_;
  std::mutex mutex_;
  std::vector<std::pair<std::uint32_t, double>> ready_;
  std::jthread reader_;  // last: joined before anything it uses is gone
};

/// What is left of a campaign, and how fast a core is.
struct RemainingWork {
  std::vector<double> updates;  ///< of each plan that is left; of one that cannot be read, the mean
  DurationModel core;
  std::string speed_source;  ///< what the speed is from, for people
};

/// The plans of a run without those that are solved. Those that a CPU has solved tell the speed of
/// a core; if there are none, three plans are solved here. Throws RunError if none can be read.
[[nodiscard]] RemainingWork remaining_work(const RunOptions& run,
                                           const std::vector<PlanResult>& solved);

}  // namespace wallheat
