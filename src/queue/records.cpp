#include "queue/records.hpp"

#include <memory>
#include <unordered_map>
#include <utility>

namespace wallheat {
namespace {

void tell(RunObserver& observer, const Records::Record& record) {
  switch (record.kind) {
    case Records::Kind::result:
      return observer.on_stored(record.result);
    case Records::Kind::failed_try:
      return observer.on_failed_try(record.result);
    case Records::Kind::conflict:
      return observer.on_conflict(record.result);
    case Records::Kind::abandoned:
      return observer.on_abandoned(
          {{record.result.index, record.result.id}, record.result.attempts, record.last});
  }
}

}  // namespace

void work_off(Records& records, ResultSink& sink, RunObserver& observer, const Runtime& runtime) {
  for (const auto& event : records.events) event(observer);
  // A plan may have failed twice, or failed and been answered, since the last time: what came last
  // is stored.
  std::vector<PlanResult> rows;
  std::unordered_map<std::uint32_t, std::size_t> places;
  const auto now = runtime.now();
  for (Records::Record& record : records.results) {
    record.result.phases.store_s = std::chrono::duration<float>(now - record.added).count();
    const auto [place, is_new] = places.emplace(record.result.index, rows.size());
    if (is_new) {
      rows.push_back(record.result);
    } else {
      rows[place->second] = record.result;
    }
  }
  std::unordered_map<std::uint32_t, PlanResult> otherwise;
  if (!rows.empty()) {
    for (PlanResult& row : sink.store(rows)) otherwise.insert_or_assign(row.index, std::move(row));
  }
  for (Records::Record& record : records.results) {
    if (const auto stored = otherwise.find(record.result.index);
        stored != otherwise.end() && record.kind == Records::Kind::result)
      record.result = stored->second;
    tell(observer, record);
  }
  for (const auto& [rank, last] : records.heartbeats) {
    const auto& [worker, heartbeat] = last;
    observer.on_heartbeat(*worker, heartbeat.running);
    if (heartbeat.gpu) observer.on_gpu_sample(*worker, *heartbeat.gpu);
  }
}

Recorder::Recorder(ResultSink& sink, RunObserver& observer, Runtime& runtime)
    : sink_(sink), observer_(observer), runtime_(runtime), thread_(runtime) {}

void Recorder::add(Records::Kind kind, PlanResult result, const PlanProgress& last) {
  news_.bytes += result.field.size();
  news_.results.push_back({kind, std::move(result), last, runtime_.now()});
}

void Recorder::add(const WorkerPointer& worker, const Heartbeat& heartbeat) {
  news_.heartbeats.insert_or_assign(worker->rank, std::pair(worker, heartbeat));
}

bool Recorder::is_free_within(std::chrono::milliseconds timeout) {
  return thread_.is_free_within(timeout);
}

void Recorder::hand_over(double seconds_left) {
  thread_.run([this, seconds_left, records = std::make_shared<Records>(std::exchange(news_, {}))] {
    work_off(*records, sink_, observer_, runtime_);
    sink_.publish();
    observer_.on_tick(seconds_left);
  });
}

}  // namespace wallheat
