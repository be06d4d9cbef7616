#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/background_thread.hpp"
#include "queue/coordinator.hpp"
#include "queue/link.hpp"
#include "queue/messages.hpp"

namespace wallheat {

/// Parameters and callbacks of coordinate().
struct CoordinationContext {
  Setup setup;
  QueueVector<PlanQueue::InitialState> plans;
  std::function<Task(QueueIndex plan)> task;
  Coordinator::Options options;
  /// Returns the time since the start of the run, in s.
  std::function<double()> elapsed_s;
  /// Returns the time until the run must stop, in s.
  std::function<double()> time_left_s = [] { return std::numeric_limits<double>::infinity(); };
  /// Returns the plans that were estimated since the last call, with their estimated cell updates.
  std::function<std::vector<std::pair<QueueIndex, double>>()> new_estimates;
  /// Stores the results in `events`, and reports all events to the user. When it returns, the
  /// results are on disk. Called in the background thread, from time to time also without events.
  /// `seconds_left` is the predicted time to completion; NaN if unknown.
  std::function<void(std::span<Event> events, double seconds_left)> store;
  std::function<bool()> interrupted;
};

/// Runs `work`, which may take long, in the background thread, while the calling thread sends
/// heartbeats to the workers. Rethrows the exception of `work`.
void run_with_heartbeats(Link& link, BackgroundThread& thread, double heartbeat_interval_s,
                         std::function<void()> work);

/// Assigns all plans to workers and has their results stored. The calling thread only exchanges
/// messages: `store` runs in the background thread, so that neither a slow disk nor a slow terminal
/// causes a heartbeat timeout. While storing is behind, no further plans are assigned. Throws
/// RunError if no worker becomes ready, or if all have left; and what `store` throws.
[[nodiscard]] RunEnd coordinate(Link& link, BackgroundThread& thread, CoordinationContext context);

/// Stops all workers. Rank 0 must call this once, however its run ends. Returns the ranks that did
/// not respond within 5 s: MPI_Finalize would wait for them indefinitely. Takes 6 s if such ranks
/// exist; launch.sh waits longer than that for the end of rank 0.
[[nodiscard]] std::vector<int> shut_down_workers(Link& link);

}  // namespace wallheat
