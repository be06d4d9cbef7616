#include "queue/coordinator.hpp"
#include "support/matchers.hpp"

// Scripts of messages, for the events and reasons that a user sees. Behaviour that the simulation
// checks (simulation/judge.cpp) is not tested again.

namespace wallheat {
namespace {

using Kind = Event::Kind;

WorkerReport ready(const std::string& host) {
  WorkerReport report;
  report.ready.emplace().host = host;
  report.ready->device = "cpu";
  return report;
}
WorkerReport solved(std::uint32_t plan, double seconds = 1) {
  WorkerReport report;
  report.results.push_back({QueueIndex{plan}, TaskResult::Kind::solved, seconds, 0, {}});
  return report;
}
WorkerReport failed(std::uint32_t plan) {
  WorkerReport report;
  report.results.push_back({QueueIndex{plan}, TaskResult::Kind::retryable, 1, 0, {}});
  return report;
}

WorkerReport system_errors(const std::vector<std::uint32_t>& plans) {
  WorkerReport report;
  for (const std::uint32_t plan : plans)
    report.results.push_back({.plan = QueueIndex{plan},
                              .kind = TaskResult::Kind::host_error,
                              .error = std::to_string(plan) + "_domain.npy: EIO"});
  return report;
}

/// A coordinator and the clock of its driver.
struct Script {
  Script(QueueVector<PlanQueue::InitialState> plans, int workers, int max_attempts = 3)
      : coordinator(plans, workers, {.max_attempts = max_attempts}) {}
  Script(QueueVector<PlanQueue::InitialState> plans, int workers, Coordinator::Options options)
      : coordinator(plans, workers, options) {}

  void report(int worker, WorkerReport message) {
    coordinator.on_report(worker, std::move(message), now_s);
    coordinator.assign_plans(now_s);
  }
  void pass(double seconds, double left_s = std::numeric_limits<double>::infinity()) {
    now_s += seconds;
    coordinator.tick(now_s, left_s);
  }
  /// Returns the plans that were assigned since the last call, with their workers.
  std::vector<std::pair<int, std::uint32_t>> assigned() {
    std::vector<std::pair<int, std::uint32_t>> all;
    for (const auto& [worker, plans] : std::exchange(coordinator.outbox.assignments, {}))
      for (const QueueIndex plan : plans)
        all.emplace_back(worker, static_cast<std::uint32_t>(plan));
    return all;
  }
  /// Returns the latest event of this kind.
  Event last(Kind kind) {
    Event found;
    found.time_s = -1;
    for (const Event& event : coordinator.outbox.events)
      if (event.kind == kind) found = event;
    EXPECT_GE(found.time_s, 0) << "no such event";
    return found;
  }

  Coordinator coordinator;
  double now_s = 0;
};

using Assigned = std::vector<std::pair<int, std::uint32_t>>;

TEST(Coordinator, NamesLastWorkerOfLostPlan) {
  Script run({{}}, 2, 2);
  run.report(1, ready("n1"));
  run.pass(31);
  EXPECT_THAT(run.last(Kind::worker_lost).reason, Mentions({"rank 1", "n1", "30 s"}));
  run.report(2, ready("n2"));
  EXPECT_EQ(run.assigned(), (Assigned{{1, 0}, {2, 0}}));
  run.pass(31);
  const Event lost = run.last(Kind::plan_given_up);
  EXPECT_THAT(lost.reason, Mentions({"2 workers", "rank 2", "n2"}));
  EXPECT_EQ(lost.failures, 2);
  run.report(1, solved(0));
  EXPECT_EQ(run.last(Kind::finished).worker->rank, 1) << "the result of a lost worker is stored";
}

TEST(Coordinator, ReportsHowLongAgoPlanWasStarted) {
  WorkerReport progress;
  progress.running.push_back({.plan = QueueIndex{0}, .seconds = 0.75});
  for (const WorkerReport& first_report : {progress, solved(0, 0.75)}) {
    Script run({{}}, 1);
    run.report(1, ready("n1"));
    run.report(1, first_report);
    EXPECT_EQ(run.last(Kind::started).seconds, 0.75);
  }
}

TEST(Coordinator, ReportsReasonWhenNoWorkersRemain) {
  Script run({{}}, 2);
  run.report(1, {});
  run.pass(20);
  EXPECT_EQ(run.coordinator.end(), std::nullopt);
  run.coordinator.on_bye(1, Bye{Bye::Cause::failed, "no solver anywhere", {}}, run.now_s);
  run.pass(161);
  EXPECT_EQ(run.coordinator.end(), RunEnd::no_workers);
  EXPECT_THAT(run.coordinator.failure_reason(), Mentions({"rank 2", "180 s"}));
  run.report(2, ready("n2"));  // after the timeout
  EXPECT_EQ(run.coordinator.end(), std::nullopt);
  run.coordinator.on_invalid_message(2, "another version", run.now_s);
  EXPECT_THAT(run.coordinator.failure_reason(), Mentions({"rank 2", "n2", "another version"}));
  run.report(2, solved(0));
  EXPECT_FALSE(run.coordinator.queue().finished()) << "its results are ignored";
}

TEST(Coordinator, RetriesOnSameWorkerWhenOthersLackTime) {
  Script run({{.updates = 1e9F}, {.updates = 1e9F}, {.updates = 2e9F}}, 2);
  run.report(1, ready("n1"));
  auto slow = ready("n2");
  slow.ready->device = "slow";
  run.report(2, slow);
  EXPECT_EQ(run.assigned(), (Assigned{{1, 2}, {2, 0}}));
  run.report(2, solved(0, 100));
  EXPECT_EQ(run.assigned(), (Assigned{{2, 1}}));
  run.report(2, solved(1, 100));
  run.report(2, failed(2));  // its speculative copy
  run.report(1, failed(2));
  (void)run.assigned();
  run.pass(1, 50);
  EXPECT_EQ(run.assigned(), (Assigned{{1, 2}})) << "rank 2 needs 200 s";
  EXPECT_EQ(run.coordinator.end(), std::nullopt);
}

TEST(Coordinator, ExcludesWorkerAfterSystemErrorsWithThreePlans) {
  Script run({{}, {}, {}, {}, {}, {}}, 2);
  run.report(1, ready("n1"));
  run.report(2, ready("n2"));
  run.report(1, system_errors({0}));
  run.report(1, system_errors({2}));
  EXPECT_EQ(run.assigned(), (Assigned{{1, 0}, {2, 1}, {1, 2}, {1, 3}}));
  run.report(1, system_errors({3}));
  const Event excluded = run.last(Kind::worker_excluded);
  EXPECT_EQ(excluded.worker->name(), "rank 1 on n1");
  EXPECT_THAT(excluded.reason, Mentions({"3 consecutive plans", "3_domain.npy: EIO"}));
  EXPECT_THAT(run.coordinator.outbox.stop_requests, ElementsAre(1));
  EXPECT_THAT(run.assigned(), IsEmpty());
  for (const std::uint32_t plan : {1, 4, 5, 0, 2, 3}) run.report(2, solved(plan));
  EXPECT_EQ(run.coordinator.end(), RunEnd::finished);
}

TEST(Coordinator, StopsWithPlansPendingWhenAllWorkersAreExcluded) {
  Script run({{}, {}, {}, {}}, 1);
  run.report(1, ready("n1"));
  run.report(1, system_errors({0, 1, 2}));
  EXPECT_EQ(run.coordinator.end(), RunEnd::source_outage);
  run.pass(1);
  EXPECT_THAT(run.last(Kind::stopping).reason, Mentions({"rank 1 on n1", "2_domain.npy: EIO"}));
  EXPECT_EQ(run.coordinator.queue().queued_count(), 4U) << "no plan is given up";
}

TEST(Coordinator, FailsUnreadablePlansAndKeepsWorkerThatReadsOthers) {
  Script run({{}, {}, {}, {}, {}}, 1);
  auto worker = ready("n1");
  worker.ready->slots = 5;
  run.report(1, worker);
  run.report(1, system_errors({0, 1}));
  run.report(1, solved(4));
  run.report(1, system_errors({2, 3}));
  for (int attempt = 2; attempt <= 3; ++attempt) run.report(1, system_errors({0, 1, 2, 3}));
  EXPECT_EQ(run.coordinator.end(), RunEnd::finished);
  EXPECT_EQ(run.last(Kind::finished).failures, 3);
}

TEST(Coordinator, MakesSpeculativeCopiesOnlyOfDeterministicResults) {
  for (const bool is_deterministic : {true, false}) {
    Script run({{.updates = 1e9F}, {.updates = 2e9F}}, 2, {.is_deterministic = is_deterministic});
    run.report(1, ready("n1"));
    run.report(2, ready("n2"));
    EXPECT_EQ(run.assigned(), (Assigned{{1, 1}, {2, 0}}));
    run.report(2, solved(0));
    EXPECT_EQ(run.assigned(), is_deterministic ? (Assigned{{2, 1}}) : Assigned{});
  }
}

TEST(Coordinator, KeepsFirstResultWhenResultsNeedNotAgree) {
  Script run({{}}, 2, {.is_deterministic = false});
  run.report(1, ready("n1"));
  run.pass(31);  // rank 1 is lost
  run.report(2, ready("n2"));
  EXPECT_EQ(run.assigned(), (Assigned{{1, 0}, {2, 0}}));
  run.report(2, solved(0));
  auto other = solved(0);
  other.results[0].result_hash = 7;
  run.report(1, other);
  EXPECT_EQ(run.last(Kind::finished).worker->rank, 2);
  EXPECT_EQ(run.last(Kind::duplicate_result).worker->rank, 1);
}

TEST(Coordinator, EndsRunWhenSolverCommandFails) {
  Script run({{}, {}}, 2);
  run.report(1, ready("n1"));
  run.report(2, ready("n2"));
  run.coordinator.on_bye(1, Bye{Bye::Cause::solver_failed, "exit status 1", {}}, run.now_s);
  run.coordinator.on_bye(2, Bye{Bye::Cause::stop_requested, "stopped", {}}, run.now_s);
  EXPECT_EQ(run.coordinator.end(), RunEnd::no_workers);
  EXPECT_THAT(run.coordinator.failure_reason(), Mentions({"rank 1 on n1", "exit status 1"}));
}

}  // namespace
}  // namespace wallheat
