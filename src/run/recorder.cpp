#include "run/recorder.hpp"

#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <utility>

namespace wallheat {
namespace {

/// So many results are stored at a time: enough that a sync costs each of them little, and so few
/// that their rows take little memory beside all that waits.
constexpr std::size_t results_at_once = 4096;

bool is_stored(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::stored:
    case Event::Kind::failed_try:
    case Event::Kind::lost:
    case Event::Kind::conflict:
    case Event::Kind::abandoned:
      return true;
    default:
      return false;
  }
}

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

/// Fills in the result: what the solver's process said, and what only rank 0 knows.
void Recorder::complete(Event& event, double now_s) const {
  PlanResult& result = event.result;
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
}

void Recorder::record(std::span<Event> events, double now_s) {
  for (; !events.empty();) {
    // A plan may have failed twice, or failed and been answered, since the last time: what came
    // last is stored.
    std::vector<PlanResult> rows;
    std::unordered_map<std::uint32_t, std::size_t> places;
    std::size_t count = 0;
    for (; count < events.size() && rows.size() < results_at_once; ++count) {
      Event& event = events[count];
      const bool stored = is_stored(event.kind);
      const bool of_a_plan =
          stored || event.kind == Event::Kind::repeated || event.kind == Event::Kind::started;
      if (of_a_plan) complete(event, now_s);
      if (!stored) continue;
      const auto [place, is_new] = places.emplace(event.plan, rows.size());
      if (is_new) rows.emplace_back();
      rows[place->second] = to_store(event.result);
    }
    if (!rows.empty()) store_.store(rows);
    for (const Event& event : events.first(count)) observer_(event);
    events = events.subspan(count);
  }
}

}  // namespace wallheat
