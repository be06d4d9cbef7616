#include "queue/coordinator.hpp"
#include "support/matchers.hpp"

// Scripts of messages, for what a user is told. What the simulation finds within its seeds is not
// tested here again (simulation/judge.cpp).

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
  report.results.push_back({plan, Result::Kind::answered, seconds, 0, {}});
  return report;
}
WorkerReport failed(std::uint32_t plan) {
  WorkerReport report;
  report.results.push_back({plan, Result::Kind::retryable, 1, 0, {}});
  return report;
}

/// A coordinator and the clock of whoever drives it.
struct Script {
  Script(std::vector<PlanQueue::Start> plans, int workers, int max_attempts = 3)
      : coordinator(plans, workers, {.max_attempts = max_attempts}) {}

  void say(int worker, WorkerReport report) {
    coordinator.heard(worker, std::move(report), now_s);
    coordinator.feed(now_s);
  }
  void pass(double seconds, double left_s = std::numeric_limits<double>::infinity()) {
    now_s += seconds;
    coordinator.tick(now_s, left_s);
  }
  /// The plans that were handed out since the last call, with their workers.
  std::vector<std::pair<int, std::uint32_t>> handed_out() {
    std::vector<std::pair<int, std::uint32_t>> all;
    for (const auto& [worker, plans] : std::exchange(coordinator.outbox.work, {}))
      for (const std::uint32_t plan : plans) all.emplace_back(worker, plan);
    return all;
  }
  /// The latest event of this kind.
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

using HandedOut = std::vector<std::pair<int, std::uint32_t>>;

TEST(Coordinator, NamesLastWorkerOfLostPlan) {
  Script run({{}}, 2, 2);
  run.say(1, ready("n1"));
  run.pass(31);
  EXPECT_EQ(run.last(Kind::worker_lost).reason, "rank 1 on n1 has said nothing for 30 s");
  run.say(2, ready("n2"));
  EXPECT_EQ(run.handed_out(), (HandedOut{{1, 0}, {2, 0}}));
  run.pass(31);
  const Event lost = run.last(Kind::lost);
  EXPECT_EQ(lost.reason, "was running at 2 workers when they fell silent, last at rank 2 on n2");
  EXPECT_EQ(lost.failures, 2);
  run.say(1, solved(0));
  EXPECT_EQ(run.last(Kind::stored).worker->rank, 1) << "answered after all";
}

TEST(Coordinator, ReportsReasonWhenNoWorkersRemain) {
  Script run({{}}, 2);
  run.say(1, {});
  run.pass(20);
  EXPECT_EQ(run.coordinator.end(), std::nullopt);
  run.coordinator.heard(1, Bye{Bye::Why::broken, "no solver anywhere", {}}, run.now_s);
  run.pass(161);
  EXPECT_EQ(run.coordinator.end(), RunEnd::nobody_left);
  EXPECT_EQ(run.coordinator.last_reason(),
            "no worker could start: rank 2 has said nothing for 180 s");
  run.say(2, ready("n2"));  // late, but here
  EXPECT_EQ(run.coordinator.end(), std::nullopt);
  run.coordinator.refuse(2, "it speaks otherwise", run.now_s);
  EXPECT_EQ(run.coordinator.last_reason(),
            "all workers have left, the last because of: rank 2 on n2 is refused: it speaks "
            "otherwise");
  run.say(2, solved(0));
  EXPECT_FALSE(run.coordinator.queue().finished()) << "nothing that it says counts any more";
}

TEST(Coordinator, RetriesOnSameWorkerWhenOthersLackTime) {
  Script run({{.updates = 1e9F}, {.updates = 1e9F}, {.updates = 2e9F}}, 2);
  run.say(1, ready("n1"));
  auto slow = ready("n2");
  slow.ready->device = "slow";
  run.say(2, slow);
  EXPECT_EQ(run.handed_out(), (HandedOut{{1, 2}, {2, 0}}));
  run.say(2, solved(0, 100));
  EXPECT_EQ(run.handed_out(), (HandedOut{{2, 1}}));
  run.say(2, solved(1, 100));
  run.say(2, failed(2));  // its copy
  run.say(1, failed(2));
  (void)run.handed_out();
  run.pass(1, 50);
  EXPECT_EQ(run.handed_out(), (HandedOut{{1, 2}})) << "the other takes 200 s";
  EXPECT_EQ(run.coordinator.end(), std::nullopt);
}

}  // namespace
}  // namespace wallheat
