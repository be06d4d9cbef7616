#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/runtime.hpp"
#include "queue/cost_model.hpp"
#include "queue/messages.hpp"
#include "queue/worker_info.hpp"

namespace wallheat {

/// Something that happened in a run, as rank 0 tells it. Each kind fills in what its comment names.
struct Event {
  enum class Kind {
    worker_ready,    ///< `worker` has joined and gets work
    worker_refused,  ///< for a `reason`: it differs from rank 0 in what must be the same
    worker_left,     ///< for a `reason`; its plans are pending again
    worker_lost,     ///< the same without a word: it was silent for `seconds`
    worker_back,     ///< `worker` was thought lost and speaks again
    leased,          ///< `tasks` to `worker`
    started,         ///< `tasks` by `worker`
    heartbeat,       ///< of `worker`; where the disk is slow, some of these are left out
    stored,          ///< the `result` is on disk; it may come after a stored failure of its plan
    failed_try,      ///< the failed `result` is on disk, and the plan will be tried again
    repeated,        ///< `result` is a second answer, which a worker gave so that it did not idle
    conflict,        ///< two workers gave different answers, so one of their devices is faulty:
                     ///< the plan, which was stored before, is now stored as a failed `result`
    stopping,        ///< for a `reason`: the plans at hand are abandoned
    abandoned,       ///< at the end of such a run a plan was at `last`; that it was started so
                     ///< often, over all sessions, is on disk as its `result`
    predictions_judged,  ///< at the end: the `quality` of the predictions of plans' times
    tick                 ///< every few ms; `seconds` are left, NaN while that cannot be estimated
  };
  Kind kind = Kind::tick;
  WorkerPointer worker{};
  std::vector<Task> tasks{};
  Heartbeat heartbeat{};
  PlanResult result{};
  PlanProgress last{};
  PredictionQuality quality{};
  std::string reason{};
  double seconds = 0;
  Runtime::Clock::time_point added{};  ///< when it was to be recorded
};

/// Hears what happens, in order; for logs and progress. Called by the thread that stores.
using Observer = std::function<void(const Event&)>;

}  // namespace wallheat
