#include "run/event_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace wallheat {
namespace {

/// Events per call of ResultStore::store(): many, so that the cost of a sync is shared, but few
/// enough that their rows take little memory.
constexpr std::size_t events_at_once = 8192;

bool is_stored(Event::Kind kind) { return kind <= Event::Kind::aborted; }
bool is_of_plan(Event::Kind kind) { return kind <= Event::Kind::started; }

std::string name_of(const WorkerInfo& worker) {
  return fmt::format("rank {} ({} on {})", worker.rank, worker.properties.device,
                     worker.properties.host);
}

/// Returns a failed row with the identity of a report, but without its statistics, field and rooms.
PlanResult failure(const PlanResult& report, std::string error) {
  PlanResult failed;
  failed.status = PlanStatus::failed;
  failed.host = report.host;
  failed.device = report.device;
  failed.solver = report.solver;
  failed.seconds = report.seconds;
  failed.input_hash = report.input_hash;
  failed.input_stamp = report.input_stamp;
  failed.error = std::move(error);
  return failed;
}

}  // namespace

PlanResult EventWriter::make_row(Event& event, double now_s) const {
  PlanResult result;
  if (!is_of_plan(event.kind)) return result;
  if (!event.encoded_result.empty())
    result = decode_result(std::exchange(event.encoded_result, {}));
  if (event.kind == Event::Kind::conflict)
    result = failure(
        result,
        fmt::format("{} and {} returned conflicting results, so one of these devices is faulty",
                    name_of(*event.first_worker), name_of(*event.worker)));
  if (!event.reason.empty()) {
    result.status = PlanStatus::failed;
    result.host = event.worker->properties.host;
    result.device = event.worker->properties.device;
    result.solver = solver;
    result.seconds = event.seconds;
    result.error = event.reason;
  }
  result.index = plans[event.plan].index;
  result.id = ids[result.index];
  result.rank = event.worker->rank;
  result.attempts = event.attempts;
  result.failures = event.failures;
  result.predicted_s = event.predicted_s;
  result.started_s = event.time_s - result.seconds;
  result.phases.store_wait_s = static_cast<float>(now_s - event.time_s);
  return result;
}

void EventWriter::take(std::span<Event> events, double now_s) const {
  while (!events.empty()) {
    const auto some = events.first(std::min(events_at_once, events.size()));
    events = events.subspan(some.size());
    // May contain several rows of a plan, of which the last one counts.
    std::vector<PlanResult> rows;
    for (Event& event : some)
      if (is_stored(event.kind)) rows.push_back(make_row(event, now_s));
    store.store(rows);
    auto next = rows.begin();
    for (Event& event : some) log(event, is_stored(event.kind) ? *next++ : make_row(event, now_s));
  }
}

}  // namespace wallheat
