#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "queue/coordinator.hpp"
#include "queue/event.hpp"
#include "queue/link.hpp"
#include "queue/messages.hpp"

namespace wallheat {

/// What coordinate() has to know, and what it calls.
struct CoordinationContext {
  Setup setup;
  std::vector<PlanQueue::Start> plans;
  std::function<Task(std::uint32_t plan)> task;
  Coordinator::Options options;
  /// Seconds since the run began.
  std::function<double()> elapsed_s;
  /// Seconds until the run must be over; empty: no limit.
  std::function<double()> time_left_s{};
  /// What has become known of the plans' work since the last call, in cell updates.
  std::function<std::vector<std::pair<std::uint32_t, double>>()> new_estimates;
  /// Stores what events say of plans, and tells people of all events. When it returns, the results
  /// are on disk. Called in a thread of its own, now and then also without events, with the seconds
  /// that are left (NaN if that cannot be estimated).
  std::function<void(std::span<Event> events, double seconds_left)> store;
  std::function<bool()> interrupted;
};

/// Does `work`, which may take long, in a thread of its own, while the calling one tells the
/// workers that rank 0 lives. Throws what it throws.
void keep_workers_waiting(Link& link, double sign_s, std::function<void()> work);

/// Hands out the plans and has the results stored. Neither a slow disk nor a slow terminal holds up
/// the calling thread, which tells the workers that rank 0 lives. While storing is behind, no
/// more plans are handed out. Throws RunError if no worker reports, or all have left; and whatever
/// `store` throws.
[[nodiscard]] RunEnd coordinate(Link& link, CoordinationContext context);

/// Tells all workers to end. Rank 0 must do so once, however it ends. Returns the ranks that
/// did not answer in time: MPI must not be asked to wait for them.
[[nodiscard]] std::vector<int> dismiss_workers(
    Link& link, std::chrono::milliseconds timeout = std::chrono::seconds{5});

}  // namespace wallheat
