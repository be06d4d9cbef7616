#include "queue/records.hpp"

#include <memory>
#include <unordered_map>
#include <utility>

namespace wallheat {

void work_off(Records& records, ResultSink& sink, const Observer& observer,
              const Runtime& runtime) {
  for (const Event& event : records.events) observer(event);
  // A plan may have failed twice, or failed and been answered, since the last time: what came last
  // is stored.
  std::vector<PlanResult> rows;
  std::unordered_map<std::uint32_t, std::size_t> places;
  const auto now = runtime.now();
  for (Event& event : records.results) {
    event.result.phases.store_s = std::chrono::duration<float>(now - event.added).count();
    const auto [place, is_new] = places.emplace(event.result.index, rows.size());
    if (is_new) {
      rows.push_back(event.result);
    } else {
      rows[place->second] = event.result;
    }
  }
  std::unordered_map<std::uint32_t, PlanResult> otherwise;
  if (!rows.empty()) {
    for (PlanResult& row : sink.store(rows)) otherwise.insert_or_assign(row.index, std::move(row));
  }
  for (Event& event : records.results) {
    if (const auto stored = otherwise.find(event.result.index);
        stored != otherwise.end() && event.kind == Event::Kind::stored)
      event.result = stored->second;
    observer(event);
  }
  for (const auto& [rank, heartbeat] : records.heartbeats) observer(heartbeat);
}

Recorder::Recorder(ResultSink& sink, Observer observer, Runtime& runtime)
    : sink_(sink), observer_(std::move(observer)), runtime_(runtime), thread_(runtime) {}

void Recorder::add(Event event) {
  switch (event.kind) {
    case Event::Kind::stored:
    case Event::Kind::failed_try:
    case Event::Kind::conflict:
    case Event::Kind::abandoned:
      event.added = runtime_.now();
      news_.bytes += event.result.field.size();
      return news_.results.push_back(std::move(event));
    case Event::Kind::heartbeat:
      news_.heartbeats.insert_or_assign(event.worker->rank, std::move(event));
      return;
    default:
      return news_.events.push_back(std::move(event));
  }
}

bool Recorder::is_free_within(std::chrono::milliseconds timeout) {
  return thread_.is_free_within(timeout);
}

void Recorder::hand_over(double seconds_left) {
  thread_.run([this, seconds_left, records = std::make_shared<Records>(std::exchange(news_, {}))] {
    work_off(*records, sink_, observer_, runtime_);
    sink_.publish();
    observer_({.kind = Event::Kind::tick, .seconds = seconds_left});
  });
}

}  // namespace wallheat
