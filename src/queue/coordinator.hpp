#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/answer.hpp"
#include "core/id_list.hpp"
#include "core/runtime.hpp"
#include "queue/event.hpp"
#include "queue/link.hpp"
#include "queue/messages.hpp"
#include "queue/worker.hpp"

namespace wallheat {

/// Where results go. Called by a thread of the coordinator's own, so that a slow disk keeps nobody
/// else waiting.
class ResultSink {
 public:
  virtual ~ResultSink() = default;
  /// When this returns, they are on disk. Returns the rows that had to be stored otherwise than
  /// asked: as failed, each with the reason. A pending one only tells how often it was started.
  [[nodiscard]] virtual std::vector<PlanResult> store(std::span<const PlanResult> results) = 0;
};

/// One plan to be solved, and how often it was started and failed before.
struct QueuedPlan {
  std::uint32_t index = 0;  ///< in the list of ids
  std::int32_t attempts = 0;
  std::int32_t failures = 0;
};

struct CoordinatorParts {
  TextList ids;  ///< of all plans of the campaign
  /// See PlanSource::places.
  std::function<std::vector<std::uint32_t>(const std::string& id)> places = [](const std::string&) {
    return std::vector<std::uint32_t>();
  };
  std::vector<QueuedPlan> plans;
  std::vector<NamedValue> settings{};  ///< what must be the same in all workers
  /// What some of the plans are, by id, see WorkerParts::sample.
  std::vector<NamedValue> samples{};
  DeviceChoice device = DeviceChoice::automatic;
  int threads_per_worker = 0;  ///< 0: all cores of the placement
  bool may_be_bound = true;    ///< the workers, to some of their cores, by what launched them
  int max_attempts = 3;        ///< failures that may pass before a plan is given up
  Timeouts timeouts;
  /// Seconds since the session began; empty: since coordinate() was called.
  std::function<double()> elapsed_s;
  /// Seconds until the run must be over; empty: no limit.
  std::function<double()> time_left_s;
  /// What has become known of the plans' work since the last call, in cell updates; may be empty.
  std::function<std::vector<std::pair<std::uint32_t, double>>()> new_estimates;
  /// Between two answers to a plan, their fields included.
  std::function<std::vector<Difference>(const PlanResult& first, const PlanResult& second)>
      differences;
  ResultSink* sink = nullptr;
  Observer observer;
  Interrupted interrupted;
  Runtime* runtime = &system_runtime();
};

enum class RunEnd {
  finished,
  interrupted,  ///< it was asked to stop
  out_of_time,  ///< the time limit was reached, or nothing that is left fits in
  source_away   ///< the plans cannot be read for the time being
};

/// Does `work`, which may take long, and lets the workers know meanwhile that rank 0 lives. Throws
/// what it throws.
void keep_workers_waiting(Link& link, const Timeouts& timeouts, std::function<void()> work,
                          Runtime& runtime = system_runtime());

/// Rank 0's part of a run: places the workers, hands out plans, stores results. A worker that was
/// started for something else, or that finds other plans, is refused. The others begin as soon as
/// they are ready. One that falls silent is given up, and its plans go to others. The workers
/// stay until they are dismissed. Neither sink nor observer can hold up the calling thread, which
/// tells the workers that rank 0 lives; where they fall far behind, no more plans are handed out.
/// Throws RunError if no worker reports or can be placed, or all have left; and whatever sink
/// and observer throw.
[[nodiscard]] RunEnd coordinate(Link& link, CoordinatorParts parts);

/// Tells all workers to end. Rank 0 must do so once, however it ends. Returns the ranks that
/// did not answer in time: MPI must not be asked to wait for them.
[[nodiscard]] std::vector<int> dismiss_workers(
    Link& link, std::chrono::milliseconds timeout = std::chrono::seconds{5},
    const Runtime& runtime = system_runtime());

}  // namespace wallheat
