#include "run/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace wallheat {
namespace {

/// Enough that a sync costs each of them little, and so few that their rows take little memory
/// beside all that waits.
constexpr std::size_t events_at_once = 8192;

bool is_stored(Event::Kind kind) { return kind <= Event::Kind::abandoned; }
bool is_of_plan(Event::Kind kind) { return kind <= Event::Kind::started; }

std::string name_of(const WorkerInfo& worker) {
  return fmt::format("rank {} ({} on {})", worker.rank, worker.facts.device, worker.facts.host);
}

/// A failure without an answer's statistics, field and rooms.
PlanResult failure(const PlanResult& told, std::string error) {
  PlanResult failed;
  failed.status = PlanStatus::failed;
  failed.host = told.host;
  failed.device = told.device;
  failed.solver = told.solver;
  failed.seconds = told.seconds;
  failed.input_hash = told.input_hash;
  failed.input_stamp = told.input_stamp;
  failed.error = std::move(error);
  return failed;
}

/// What is to be stored of a result. Its field and rooms are taken from it: nobody is told of them.
PlanResult to_store(PlanResult& result) {
  auto field = std::exchange(result.field, {});
  auto rooms = std::exchange(result.rooms, {});
  PlanResult stored = result;
  stored.field = std::move(field);
  stored.rooms = std::move(rooms);
  return stored;
}

}  // namespace

/// What the solver's process said, and what only rank 0 knows.
PlanResult Recorder::row_of(Event& event, double now_s) const {
  PlanResult result;
  if (!event.record.empty()) result = decode_result(std::exchange(event.record, {}));
  const QueuedPlan& plan = plans_[event.plan];
  const std::string id(ids_[plan.index]);
  if (event.kind == Event::Kind::conflict)
    result = failure(result, fmt::format("plan {}: {} and {} gave different answers, so one of "
                                         "these devices is faulty",
                                         id, name_of(*event.first), name_of(*event.worker)));
  if (event.kind == Event::Kind::lost) {
    result.status = PlanStatus::failed;
    result.host = event.worker->facts.host;
    result.device = event.worker->facts.device;
    result.error = event.reason;
  }
  result.index = plan.index;
  result.id = id;
  if (event.worker) result.rank = event.worker->rank;
  result.attempts = event.attempts;
  result.failures = event.failures;
  result.predicted_s = event.predicted_s;
  result.started_s = event.time_s - result.seconds;
  result.phases.store_s = static_cast<float>(now_s - event.time_s);
  return result;
}

void Recorder::record(std::span<Event> events, double now_s) {
  while (!events.empty()) {
    const auto some = events.first(std::min(events_at_once, events.size()));
    events = events.subspan(some.size());
    // A plan may have failed twice, or failed and been answered, since the last time: what came
    // last is stored.
    std::vector<PlanResult> told(some.size());
    std::vector<PlanResult> rows;
    std::unordered_map<std::uint32_t, std::size_t> places;
    for (std::size_t i = 0; i < some.size(); ++i) {
      Event& event = some[i];
      if (!is_of_plan(event.kind)) continue;
      told[i] = row_of(event, now_s);
      if (!is_stored(event.kind)) continue;
      const auto [place, is_new] = places.emplace(event.plan, rows.size());
      if (is_new) rows.emplace_back();
      rows[place->second] = to_store(told[i]);
    }
    if (!rows.empty()) store_.store(rows);
    for (std::size_t i = 0; i < some.size(); ++i) observer_(some[i], told[i]);
  }
}

}  // namespace wallheat
