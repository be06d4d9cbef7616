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

/// Converts events to rows and stores them in the result file. Logs nothing: RunMonitor (log
/// messages, progress, status file) and its EventLog (JSON lines) receive the same events
/// afterwards.
struct EventWriter {
  /// Stores the rows of events, and calls log() with each event. Accepts all events, also those
  /// that are not stored. When it returns, the rows are on disk. `now_s` is on the clock of the
  /// events.
  void take(std::span<Event> events, double now_s) const;
  /// Combines the result of the solver process with the columns that rank 0 determines, among them
  /// the row index. Moves the result out of the event. Returns an empty row if the event is not
  /// about a plan.
  [[nodiscard]] PlanResult make_row(Event& event, double now_s) const;

  ResultStore& store;
  const StringList& ids;                 ///< IDs of the campaign
  const QueueVector<QueuedPlan>& plans;  ///< plans of the run
  /// Name and version, for results without these because the solver process died.
  std::string solver;
  /// Called with each event. `row` is the row of its plan; empty if the event is not about a plan.
  std::function<void(const Event& event, const PlanResult& row)> log;
};

}  // namespace wallheat
