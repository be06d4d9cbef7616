#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan_ids.hpp"
#include "queue/messages.hpp"
#include "store/result_store.hpp"

namespace wallheat {

/// One plan to be solved, and how often it was started and failed before.
struct QueuedPlan {
  std::uint32_t index = 0;  ///< in the list of ids
  std::int32_t attempts = 0;
  std::int32_t failures = 0;
};

/// Stores what events say of plans, and tells of it afterwards.
class Recorder {
 public:
  /// `plans` are those of the queue, `ids` all of the campaign; both must outlive it. `solver`: its
  /// name and version, for plans whose process could not tell.
  Recorder(ResultStore& store, const TextList& ids, const std::vector<QueuedPlan>& plans,
           std::string solver, EventHandler on_event)
      : store_(store),
        ids_(ids),
        plans_(plans),
        solver_(std::move(solver)),
        on_event_(std::move(on_event)) {}

  /// When it returns, they are on disk. `now_s`: by the clock of the events.
  void record(std::span<Event> events, double now_s);

 private:
  [[nodiscard]] PlanResult row_of(Event& event, double now_s) const;

  ResultStore& store_;
  const TextList& ids_;
  const std::vector<QueuedPlan>& plans_;
  std::string solver_;
  EventHandler on_event_;
};

}  // namespace wallheat
