#include <map>

#include "queue/plan_queue.hpp"
#include "support/matchers.hpp"

// Behaviour that the simulation checks (simulation/judge.cpp) is not tested again.

namespace wallheat {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// Matches a list of these queue indices, in this order.
template <class... Number>
auto Plans(Number... plans) {
  return ElementsAre(static_cast<QueueIndex>(plans)...);
}

PlanQueue equal_plans(std::uint32_t count) {
  return {QueueVector<PlanQueue::InitialState>(count, {.updates = 1e9F}), 3};
}

/// Returns a queue of which worker 1, a CPU, and worker 2, a GPU, have solved a plan each.
PlanQueue with_a_gpu_and_a_cpu(std::uint32_t count, double gpu_s, double cpu_s) {
  PlanQueue queue = equal_plans(count + 2);
  queue.on_worker_ready(1, 1, false, "cpu");
  queue.on_worker_ready(2, 1, false, "gpu");
  EXPECT_THAT(queue.assign(1, unlimited), Plans(0));
  EXPECT_THAT(queue.assign(2, unlimited), Plans(1));
  (void)queue.on_solved(1, QueueIndex{0}, cpu_s);
  (void)queue.on_solved(2, QueueIndex{1}, gpu_s);
  return queue;
}

TEST(PlanQueue, PrefetchesMorePlansForFasterWorkers) {
  PlanQueue queue = with_a_gpu_and_a_cpu(1000, 0.002, 0.5);
  queue.set_estimate(QueueIndex{500}, 5e9);
  const auto assigned = queue.assign(2, unlimited);
  EXPECT_THAT(assigned, SizeIs(51)) << "one in progress, and plans for a tenth of a second";
  EXPECT_EQ(assigned[0], QueueIndex{500});
  EXPECT_THAT(queue.assign(1, unlimited), SizeIs(2)) << "one in progress and one prefetched";
  EXPECT_THAT(with_a_gpu_and_a_cpu(1000, 1, 1e-6).assign(1, unlimited), SizeIs(251))
      << "at most half of its share of the queued plans";
  EXPECT_THAT(with_a_gpu_and_a_cpu(9000, 1, 1e-6).assign(1, unlimited), SizeIs(1025));
}

TEST(PlanQueue, AssignsLongestThenUnknownThenFailedPlans) {
  PlanQueue queue({{.updates = 9e9F, .failures = 1}, {}, {.updates = 1e6F}, {.updates = 1e9F}}, 3);
  queue.on_worker_ready(1, 4, false, "cpu");
  EXPECT_THAT(queue.assign(1, unlimited), Plans(3, 2, 1, 0));
}

TEST(PlanQueue, SkipsPlansThatExceedRemainingTime) {
  // Plan k takes k + 1 seconds. A scan of all plans for each worker would take 4e9 steps.
  constexpr std::uint32_t count = 200'000;
  PlanQueue queue = equal_plans(count);
  for (std::uint32_t plan = 0; plan < count; ++plan)
    queue.set_estimate(QueueIndex{plan}, 1e9 * (plan + 1));
  for (int worker = 1; worker <= 200; ++worker) queue.on_worker_ready(worker, 1, false, "cpu");
  (void)queue.on_solved(1, QueueIndex{0}, 1);
  const auto assigned = [&](double left_s) {
    std::vector<QueueIndex> all;
    for (int worker = 1; worker <= 200; ++worker)
      for (const QueueIndex plan : queue.assign(worker, left_s)) all.push_back(plan);
    return all;
  };
  for (int round = 0; round < 100; ++round) EXPECT_THAT(assigned(1), IsEmpty());
  EXPECT_THAT(assigned(1.3 * 4.5), Plans(3, 2, 1));
}

TEST(PlanQueue, CopiesLastPlanAgainForFasterWorker) {
  PlanQueue queue = with_a_gpu_and_a_cpu(1, 0.1, 60);
  queue.on_worker_left(2);
  queue.set_time(1);
  EXPECT_THAT(queue.assign(1, unlimited), Plans(2));
  for (const int cpu : {3, 4}) queue.on_worker_ready(cpu, 1, false, "cpu");
  EXPECT_THAT(queue.assign(3, unlimited), Plans(2));
  EXPECT_THAT(queue.assign(4, unlimited), IsEmpty()) << "a third copy would not help";
  queue.on_worker_ready(5, 1, false, "gpu");
  EXPECT_THAT(queue.assign(5, unlimited), Plans(2));
}

TEST(PlanQueue, CopiesLatePlansBeforeLongPlans) {
  PlanQueue queue({{.updates = 9e9F}, {.updates = 3e9F}, {.updates = 2e9F}, {.updates = 1e9F}}, 3);
  queue.on_worker_ready(1, 1, false, "cpu");
  EXPECT_THAT(queue.assign(1, unlimited), Plans(0));
  (void)queue.on_solved(1, QueueIndex{0}, 9);
  queue.on_worker_left(1);
  for (const int worker : {2, 3, 4, 5})
    queue.on_worker_ready(worker, worker == 2 ? 3 : 1, false, "cpu");
  EXPECT_THAT(queue.assign(2, unlimited), Plans(1, 2, 3));
  queue.set_time(0.5);
  EXPECT_THAT(queue.assign(3, unlimited), Plans(1));
  EXPECT_THAT(queue.assign(4, unlimited), Plans(2));
  queue.set_time(1.5);
  EXPECT_THAT(queue.assign(5, unlimited), Plans(3)) << "half a second late";
}

TEST(PlanQueue, PredictsEndFromSpeedOfEachDevice) {
  EXPECT_NEAR(with_a_gpu_and_a_cpu(1000, 0.02, 4).seconds_left(), 1000 / (1 / 0.02 + 1 / 4.0),
              1e-6);
  EXPECT_TRUE(std::isnan(equal_plans(1).seconds_left()));
}

TEST(PlanQueue, IncludesDelayedPlansInPredictedEnd) {
  PlanQueue queue = equal_plans(10);
  queue.on_worker_ready(1, 1, false, "cpu");
  std::uint32_t plan = 0;
  for (const double seconds : {60.0, 60.0, 60.0, 180.0, 240.0}) {
    EXPECT_THAT(queue.assign(1, unlimited), Plans(plan));
    (void)queue.on_solved(1, QueueIndex{plan++}, seconds);
  }
  EXPECT_NEAR(queue.seconds_left(), 5 * 120, 1) << "the median alone would predict half";
  EXPECT_THAT(queue.assign(1, unlimited), Plans(5));
  EXPECT_TRUE(queue.on_started(1, QueueIndex{5}));
  const double first = queue.seconds_left();
  queue.set_time(30);
  EXPECT_LT(queue.seconds_left(), first - 20);
  queue.set_time(3000);
  EXPECT_GT(queue.seconds_left(), first);
}

}  // namespace
}  // namespace wallheat
