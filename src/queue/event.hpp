#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "core/codec.hpp"
#include "queue/messages.hpp"
#include "wallheat/plan_result.hpp"

namespace wallheat {

/// A worker as rank 0 knows it.
struct WorkerInfo {
  int rank = 0;
  WorkerFacts facts;  ///< empty before it was ready
  /// "rank 3 on node1"
  [[nodiscard]] std::string name() const {
    return "rank " + std::to_string(rank) + (facts.host.empty() ? "" : " on " + facts.host);
  }
};
/// Shared with the events about it that follow.
using WorkerPointer = std::shared_ptr<const WorkerInfo>;

/// Something that happened in a run. Rank 0 tells events in the order in which they happened. A
/// kind fills in what its comment names. The first seven kinds are about a plan: they also have
/// `worker`, `plan`, `attempts`, `failures` and `predicted_s`. The first five are stored. A failure
/// without a `record` has a `reason` and `seconds`.
struct Event {
  enum class Kind : std::uint8_t {
    stored,      ///< the `record` of an answer, or of the failure that was one too many
    failed_try,  ///< `record`; the plan will be tried again
    lost,        ///< the plan has failed: it was at too many workers that fell silent
    conflict,    ///< `worker` gave another answer than `first`, so one of their devices is faulty:
                 ///< the plan, which was stored before, has now failed
    abandoned,   ///< it was at `last` when the run had to stop; only its attempts are stored
    repeated,    ///< `record` is a second, equal answer, given so that a lane did not idle
    started,     ///< `plan` by `worker`
    worker_ready,
    worker_left,  ///< for a `reason`; its plans are open again
    worker_lost,  ///< it was silent for `seconds`; its plans are open again
    worker_back,  ///< it was thought lost and speaks again
    heard,        ///< what `worker` is at: `report`, without its results
    stopping      ///< for a `reason`: the plans at hand are abandoned
  };
  Kind kind = Kind::stopping;
  WorkerPointer worker{};
  WorkerPointer first{};
  std::uint32_t plan = 0;
  std::int32_t attempts = 0;  ///< over all sessions
  std::int32_t failures = 0;
  float predicted_s = std::numeric_limits<float>::quiet_NaN();
  Bytes record{};
  DeviceTimes device_times{};  ///< of a stored answer
  PlanProgress last{};
  std::shared_ptr<const WorkerReport> report{};
  std::string reason{};
  double seconds = 0;
  double time_s = 0;  ///< when, by the clock of the run
};

/// Gets the events in their order, for logs and progress. `row` is that of the event's plan; empty
/// if the event is not about a plan.
using EventHandler = std::function<void(const Event& event, const PlanResult& row)>;

}  // namespace wallheat
