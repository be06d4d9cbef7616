#include "queue/records.hpp"

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

void Records::add(Kind kind, PlanResult result, Runtime::Clock::time_point now) {
  bytes += result.field.size();
  Record& record = results.emplace_back();
  record.kind = kind;
  record.added = now;
  record.result = std::move(result);
}

void work_off(Records& records, ResultSink& sink, RunObserver& observer, const Runtime& runtime) {
  for (const auto& event : records.events) event(observer);
  if (records.results.empty()) return;
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
  for (PlanResult& row : sink.store(rows)) otherwise.insert_or_assign(row.index, std::move(row));
  for (Records::Record& record : records.results) {
    if (const auto stored = otherwise.find(record.result.index);
        stored != otherwise.end() && record.kind == Records::Kind::result)
      record.result = stored->second;
    tell(observer, record);
  }
}

}  // namespace wallheat
