#include <cmath>

#include "run/event_writer.hpp"
#include "support/matchers.hpp"
#include "support/temporary_directory.hpp"

namespace wallheat {
namespace {

using Kind = Event::Kind;

WorkerPointer worker(int rank) {
  const std::string number = std::to_string(rank);
  return std::make_shared<WorkerInfo>(
      WorkerInfo{rank, {.host = "node" + number, .device = "cpu " + number}});
}

Event event_of(Kind kind, std::uint32_t plan, int rank) {
  return {.kind = kind,
          .worker = worker(rank),
          .plan = QueueIndex{plan},
          .attempts = 3,
          .failures = 2,
          .predicted_s = 1.5F,
          .time_s = 100};
}

/// Returns the event with the result or the failure that a solver process reports.
Event with_result(Event event, PlanStatus status) {
  PlanResult result;
  result.status = status;
  result.host = event.worker->properties.host;
  result.device = event.worker->properties.device;
  result.seconds = 10;
  result.iterations = 7;
  result.error = status == PlanStatus::failed ? "bad input" : "";
  event.encoded_result = encode_result(result);
  return event;
}

/// Returns the event without a result: the solver process crashed, or the worker was lost.
Event without_result(Event event, const std::string& reason) {
  event.reason = reason;
  event.seconds = 10;
  return event;
}

TEST(EventWriter, StoresLastOutcomeOfEachPlan) {
  const TemporaryDirectory directory;
  const auto file = directory / "results.h5";
  const StringList ids{"a", "b", "c", "d", "e", "f"};
  const QueueVector<QueuedPlan> plans{{1}, {2}, {3}, {4}, {5}};  // the first plan is solved
  ResultStore store({file, OpenMode::create}, {ids, {{"solver", "jacobi"}}}, {});
  std::vector<std::pair<Kind, PlanResult>> reports;
  const EventWriter writer{
      store, ids, plans, "jacobi 3",
      [&](const Event& event, const PlanResult& row) { reports.emplace_back(event.kind, row); }};

  Event differs = with_result(event_of(Kind::conflict, 0, 2), PlanStatus::converged);
  differs.first_worker = worker(1);
  std::vector<Event> events{
      event_of(Kind::started, 0, 1),
      with_result(event_of(Kind::finished, 0, 1), PlanStatus::converged),
      without_result(event_of(Kind::attempt_failed, 1, 1), "it crashed"),
      with_result(event_of(Kind::finished, 1, 2), PlanStatus::converged),
      differs,
      with_result(event_of(Kind::duplicate_result, 1, 1), PlanStatus::converged),
      without_result(event_of(Kind::plan_given_up, 2, 3), "its worker was lost"),
      event_of(Kind::aborted, 3, 1),
      with_result(event_of(Kind::finished, 4, 2), PlanStatus::failed),
      {.kind = Kind::stopping, .reason = "SIGTERM"}};
  std::vector<Kind> kinds;
  for (const Event& event : events) kinds.push_back(event.kind);
  writer.take(events, 100.5);
  ASSERT_EQ(reports.size(), kinds.size());
  for (std::size_t i = 0; i < reports.size(); ++i) EXPECT_EQ(reports[i].first, kinds[i]);
  EXPECT_EQ(reports[0].second.id, "b");
  EXPECT_EQ(reports[2].second.error, "it crashed");
  EXPECT_EQ(reports[5].second.iterations, 7) << "reported, although not stored";
  EXPECT_EQ(reports.back().second.id, "") << "the event has no plan";
  (void)store.close({});

  const ResultReader reader(file);
  const auto& rows = reader.rows();
  std::vector<std::string> stored;
  for (const PlanResult& row : rows)
    stored.push_back(row.id + " " + std::string(to_string(row.status)) + " " + row.error);
  const auto names_both_workers =
      Mentions({"rank 1", "cpu 1", "node1", "rank 2", "cpu 2", "node2"});
  EXPECT_THAT(stored, ElementsAre("a pending ", AllOf(StartsWith("b failed "), names_both_workers),
                                  "c converged ", "d failed its worker was lost", "e pending ",
                                  "f failed bad input"));
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].attempts, 3);
    EXPECT_EQ(rows[i].failures, 2);
    EXPECT_EQ(rows[i].predicted_s, 1.5F);
    EXPECT_EQ(rows[i].phases.store_wait_s, 0.5F);
  }
  EXPECT_EQ(rows[1].iterations, 0) << "neither result is known to be correct";
  EXPECT_EQ(rows[2].rank, 2);
  EXPECT_EQ(rows[2].started_s, 90);
  EXPECT_EQ(rows[3].host, "node3");
  EXPECT_EQ(rows[3].device, "cpu 3");
  EXPECT_EQ(rows[3].solver, "jacobi 3");
  EXPECT_EQ(rows[3].seconds, 10);
}

}  // namespace
}  // namespace wallheat
