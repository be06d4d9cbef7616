#pragma once

#include <cstdint>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "core/plan_source.hpp"
#include "queue/messages.hpp"
#include "queue/work_estimate.hpp"

namespace wallheat {

/// Estimates the work of many plans while the run goes on: a thread of lowest priority reads their
/// masks, in the order given, and ends when it has seen all.
class Forecast {
 public:
  Forecast(SharedPlanSource source, std::vector<Task> tasks, const Limits& limits,
           SolverKind solver = SolverKind::jacobi);
  /// Stops after the plan at hand.
  ~Forecast() = default;
  Forecast(const Forecast&) = delete;
  Forecast& operator=(const Forecast&) = delete;

  /// The estimates since the last call, each with its plan's place in the list of ids. A plan of
  /// more than 2^24 cells has none, so that rank 0 needs little memory however large a plan is; nor
  /// has one whose mask cannot be read: its solve will fail and say why.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, WorkEstimate>> take();

 private:
  void read_all(const std::stop_token& stop);

  SharedPlanSource source_;
  std::vector<Task> tasks_;
  Limits limits_;
  SolverKind solver_;
  std::mutex mutex_;
  std::vector<std::pair<std::uint32_t, WorkEstimate>> ready_;
  std::jthread reader_;  // last: joined before anything it uses is gone
};

}  // namespace wallheat
