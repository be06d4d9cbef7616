#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/plan_ids.hpp"
#include "queue/messages.hpp"
#include "run/preparation.hpp"
#include "store/result_store.hpp"

namespace wallheat {

/// Stores what events say of plans as rows of the result file, and says nothing to people: that is
/// for RunMonitor (sentences, progress, status) and its EventLog (JSON lines), which hear of the
/// events afterwards.
struct EventWriter {
  /// Also takes events that are not stored. When it returns, the rows are on disk. `now_s`: by the
  /// clock of the events.
  void take(std::span<Event> events, double now_s) const;
  [[nodiscard]] PlanResult make_row(Event& event, double now_s) const;

  ResultStore& store;
  const StringList& ids;                 ///< all of the campaign
  const std::vector<QueuedPlan>& plans;  ///< those of the queue
  std::string solver;                    ///< name and version, for plans whose process cannot tell
  /// `row` is that of the event's plan; empty if the event is not about a plan.
  std::function<void(const Event& event, const PlanResult& row)> log;
};

}  // namespace wallheat
