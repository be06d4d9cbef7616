#include "queue/records.hpp"

#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

namespace wallheat {
namespace {

/// So many results are stored at a time: enough that a sync costs each of them little, and so few
/// that their rows take little memory beside all that waits.
constexpr std::size_t results_at_once = 4096;

/// What is to be stored of a result. Its field and rooms are taken from it: nobody is told of them.
PlanResult to_store(PlanResult& result) {
  auto field = std::exchange(result.field, {});
  auto rooms = std::exchange(result.rooms, {});
  PlanResult stored = result;
  stored.field = std::move(field);
  stored.rooms = std::move(rooms);
  return stored;
}

/// Stores results, and tells of them.
void work_off(std::span<Event> results, ResultSink& sink, const Observer& observer,
              const Runtime& runtime) {
  // A plan may have failed twice, or failed and been answered, since the last time: what came last
  // is stored.
  std::vector<PlanResult> rows;
  std::unordered_map<std::uint32_t, std::size_t> places;
  const auto now = runtime.now();
  for (Event& event : results) {
    event.result.phases.store_s = std::chrono::duration<float>(now - event.added).count();
    const auto [place, is_new] = places.emplace(event.result.index, rows.size());
    if (is_new) rows.emplace_back();
    rows[place->second] = to_store(event.result);
  }
  std::unordered_map<std::uint32_t, PlanResult> otherwise;
  for (PlanResult& row : sink.store(rows)) otherwise.insert_or_assign(row.index, std::move(row));
  for (Event& event : results) {
    if (const auto stored = otherwise.find(event.result.index);
        stored != otherwise.end() && event.kind == Event::Kind::stored)
      event.result = stored->second;
    observer(event);
  }
}

}  // namespace

void work_off(Records& records, ResultSink& sink, const Observer& observer,
              const Runtime& runtime) {
  for (const Event& event : records.events) observer(event);
  std::vector<Event> some;
  while (!records.results.empty()) {
    some.clear();
    while (some.size() < results_at_once && !records.results.empty()) {
      some.push_back(std::move(records.results.front()));
      records.results.pop_front();
    }
    work_off(some, sink, observer, runtime);
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
    observer_({.kind = Event::Kind::tick, .seconds = seconds_left});
  });
}

}  // namespace wallheat
