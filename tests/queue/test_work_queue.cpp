#include <deque>

#include "queue/work_queue.hpp"
#include "support/matchers.hpp"

// What the simulation finds within its seeds is not tested here again: no plan is lost or answered
// twice, nobody idles for long (tests/simulation/cluster).

namespace wallheat {
namespace {

std::vector<WorkQueue::Item> plans(std::uint32_t count) {
  std::vector<WorkQueue::Item> result;
  for (std::uint32_t plan = 0; plan < count; ++plan) result.push_back({plan, 0});
  return result;
}

/// A queue whose only order so far gave `count` plans to worker 1, one each to its threads.
WorkQueue all_running_at_worker_1(std::uint32_t count, int max_attempts = 3) {
  WorkQueue queue(plans(count), max_attempts);
  queue.worker_joined(1, count);
  (void)queue.orders();
  for (std::uint32_t plan = 0; plan < count; ++plan) queue.plan_started(1, plan);
  return queue;
}

/// The order to start these plans at a worker.
Order start(int worker, std::vector<std::uint32_t> plans) {
  return {Order::Kind::assign, worker, std::move(plans), 0};
}

TEST(WorkQueue, gives_each_thread_a_plan_and_lets_as_many_wait_once_one_is_solved) {
  WorkQueue queue(plans(100));
  queue.worker_joined(1, 2);
  EXPECT_THAT(queue.orders(), ElementsAre(start(1, {0, 1}))) << "in the order that was asked for";
  EXPECT_THAT(queue.orders(), IsEmpty()) << "what was said is not said again";
  (void)queue.plan_finished(1, 0, 1);
  EXPECT_THAT(queue.orders(), ElementsAre(start(1, {2, 3, 4})));
}

TEST(WorkQueue, feeds_idle_threads_of_all_workers_before_anything_waits) {
  WorkQueue queue(plans(3));
  for (int worker = 1; worker <= 3; ++worker) queue.worker_joined(worker, 1);
  for (const Order& order : queue.orders()) EXPECT_EQ(order.plans.size(), 1U);
}

TEST(WorkQueue, sends_short_plans_in_batches_and_long_ones_singly) {
  const auto batch_for = [](double seconds) {
    WorkQueue queue(plans(10000));
    queue.worker_joined(1, 1);
    (void)queue.orders();
    queue.plan_started(1, 0);
    queue.plan_finished(1, 0, seconds);
    const auto orders = queue.orders();
    return orders.empty() ? 0 : orders[0].plans.size();
  };
  EXPECT_EQ(batch_for(60), 1U);
  EXPECT_EQ(batch_for(2.0), 2U);
  EXPECT_GT(batch_for(1e-6), 100U);
  EXPECT_LE(batch_for(1e-6), 1025U) << "no worker holds more than a bounded number of plans";
}

TEST(WorkQueue, starts_long_plans_first_and_troubled_ones_last) {
  WorkQueue queue({{0, 1}, {1, 0}, {2, 0}, {3, 0}});
  queue.set_work(0, 9e9);
  queue.set_work(2, 1e6);
  queue.set_work(3, 1e9);
  queue.worker_joined(1, 4);
  EXPECT_THAT(queue.orders().at(0).plans, ElementsAre(3, 2, 1, 0));
}

TEST(WorkQueue, knows_all_who_are_at_a_plan_however_many_were_lost_and_are_back) {
  WorkQueue queue(plans(1), 9);
  for (int worker = 1; worker <= 6; ++worker) {
    queue.worker_joined(worker, 1);
    (void)queue.orders();
    queue.plan_started(worker, 0);
    (void)queue.worker_lost(worker);
  }
  for (int worker = 1; worker <= 6; ++worker) {
    queue.worker_joined(worker, 1);
    queue.plan_started(worker, 0, 10);
  }
  EXPECT_THAT(queue.orders(), IsEmpty());
  EXPECT_EQ(queue.plan_finished(4, 0, 1), WorkQueue::Answer::first);
  for (const int worker : {1, 6, 2, 5}) {
    EXPECT_TRUE(queue.is_late_copy(0));
    EXPECT_EQ(queue.plan_finished(worker, 0, 1), WorkQueue::Answer::repeated);
  }
  queue.worker_left(3);
  EXPECT_FALSE(queue.is_late_copy(0));
  EXPECT_FALSE(queue.any_busy());
}

TEST(WorkQueue, tries_a_plan_where_it_failed_if_the_others_are_busy_for_long) {
  WorkQueue queue(plans(2));
  queue.worker_joined(1, 1);
  queue.worker_joined(2, 1);
  ASSERT_EQ(queue.orders().size(), 2U);
  queue.plan_started(1, 0);
  queue.plan_started(2, 1);
  EXPECT_EQ(queue.plan_failed(1, 0, true), WorkQueue::Failure::to_be_tried_again);
  queue.time_passed(30);
  EXPECT_THAT(queue.orders(), IsEmpty()) << "worker 2 may be free soon";
  queue.time_passed(40);
  EXPECT_THAT(queue.orders(), ElementsAre(start(1, {0})));
}

TEST(WorkQueue, tries_a_plan_where_it_failed_if_nobody_else_has_time_for_it) {
  WorkQueue queue(plans(1));
  queue.worker_joined(1, 1, "quick");
  queue.worker_joined(2, 1, "slow");
  ASSERT_THAT(queue.orders(), ElementsAre(start(1, {0})));
  EXPECT_EQ(queue.plan_failed(1, 0, true), WorkQueue::Failure::to_be_tried_again);
  EXPECT_THAT(queue.orders(), ElementsAre(start(2, {0}))) << "elsewhere";
  queue.plans_returned(2, {0});
  queue.worker_left(2);
  EXPECT_THAT(queue.orders(), ElementsAre(start(1, {0})));
}

TEST(WorkQueue, keeps_a_plan_that_failed_for_workers_that_are_on_their_way) {
  WorkQueue queue(plans(1));
  queue.worker_joined(1, 1, "gpu");
  ASSERT_THAT(queue.orders(), ElementsAre(start(1, {0})));
  EXPECT_EQ(queue.plan_failed(1, 0, true), WorkQueue::Failure::to_be_tried_again);
  queue.expect_more_workers(true);
  EXPECT_THAT(queue.orders(), IsEmpty());
  queue.worker_joined(2, 1, "cpu");
  queue.expect_more_workers(false);
  EXPECT_THAT(queue.orders(), ElementsAre(start(2, {0})));
}

TEST(WorkQueue, copies_the_last_plans_for_idle_workers_longest_first) {
  WorkQueue queue = all_running_at_worker_1(3);
  queue.set_work(2, 1e9);
  queue.worker_joined(2, 1);
  queue.time_passed(1);
  EXPECT_THAT(queue.orders(), ElementsAre(start(2, {2})));
  EXPECT_THAT(queue.orders(), IsEmpty()) << "one copy of a plan";
  EXPECT_EQ(queue.plan_finished(2, 2, 1), WorkQueue::Answer::first);
  EXPECT_TRUE(queue.is_late_copy(2)) << "a second answer may come";
  EXPECT_EQ(queue.plan_finished(1, 2, 1), WorkQueue::Answer::repeated);
  EXPECT_FALSE(queue.is_late_copy(2));
}

TEST(WorkQueue, gives_nothing_to_a_worker_that_is_leaving) {
  WorkQueue queue(plans(3));
  queue.worker_joined(1, 1);
  queue.worker_joined(2, 1);
  queue.worker_leaving(1);
  ASSERT_THAT(queue.orders(), ElementsAre(start(2, {0})));
  queue.worker_left(1);
  queue.worker_joined(1, 1);
  EXPECT_THAT(queue.orders(), ElementsAre(start(1, {1}))) << "it is new";
}

TEST(WorkQueue, starts_nothing_that_would_not_end_in_time) {
  WorkQueue queue(plans(4));
  queue.set_work(0, 1e9);
  queue.set_work(1, 100e9);
  queue.set_work(2, 1e9);
  queue.set_work(3, 100e9);
  queue.worker_joined(1, 1);
  EXPECT_THAT(queue.orders(0), IsEmpty()) << "no time is left";
  queue.plan_started(1, queue.orders(1000).at(0).plans.at(0));
  (void)queue.plan_finished(1, 1, 100);  // so a plan of 1e9 updates takes a second
  queue.worker_left(1);
  queue.worker_joined(1, 1);
  EXPECT_THAT(queue.orders(50).at(0).plans, ElementsAre(0));
  (void)queue.plan_finished(1, 0, 1);
  EXPECT_THAT(queue.orders(50).at(0).plans, ElementsAre(2));
  (void)queue.plan_finished(1, 2, 1);
  EXPECT_THAT(queue.orders(50), IsEmpty());
  EXPECT_FALSE(queue.any_busy()) << "so nothing is worth waiting for";
  EXPECT_FALSE(queue.all_finished());
}

TEST(WorkQueue, looks_only_at_plans_that_fit_into_the_time_left) {
  // Plan k takes k + 1 seconds.
  constexpr std::uint32_t count = 200'000;
  WorkQueue queue(plans(count));
  for (std::uint32_t plan = 0; plan < count; ++plan) queue.set_work(plan, 1e9 * (plan + 1));
  for (int worker = 1; worker <= 200; ++worker) queue.worker_joined(worker, 1, "cpu");
  (void)queue.plan_finished(1, 0, 1);
  const auto fitting = [&](double left_s) {
    std::vector<std::uint32_t> given;
    for (const Order& order : queue.orders(left_s))
      given.insert(given.end(), order.plans.begin(), order.plans.end());
    return given;
  };
  // Were each plan looked at for each worker, this would be 4e9 looks: the test's time-out.
  for (int look = 0; look < 100; ++look) EXPECT_THAT(fitting(1), IsEmpty());
  EXPECT_THAT(fitting(1.3 * 4.5), testing::UnorderedElementsAre(3, 2, 1));
}

TEST(WorkQueue, looks_only_at_workers_that_have_changed) {
  // Were each worker looked at for each event, or each plan for each copy, this would be 4e9 looks:
  // the test's time-out.
  constexpr int workers = 10'000;
  constexpr std::uint32_t count = 20 * workers;
  WorkQueue queue(plans(count));
  for (std::uint32_t plan = 0; plan < count; ++plan) queue.set_work(plan, 1e9);
  for (int worker = 1; worker <= workers; ++worker) queue.worker_joined(worker, 1, "cpu");
  std::deque<std::pair<int, std::uint32_t>> at_work;
  const auto obey = [&] {
    for (const Order& order : queue.orders()) {
      if (order.kind == Order::Kind::retract) {
        queue.plans_returned(order.worker, {});
        continue;
      }
      for (const std::uint32_t plan : order.plans) {
        queue.plan_started(order.worker, plan);
        at_work.emplace_back(order.worker, plan);
      }
    }
  };
  obey();
  while (!queue.all_finished()) {
    ASSERT_FALSE(at_work.empty());
    const auto [worker, plan] = at_work.front();
    at_work.pop_front();
    queue.time_passed(1e-4);
    (void)queue.plan_finished(worker, plan, 1);
    obey();
  }
}

TEST(WorkQueue, asks_those_again_that_got_nothing_once_something_has_changed) {
  const Order plan_0{Order::Kind::assign, 1, {0}, 0};
  for (const bool more_time : {true, false}) {
    WorkQueue queue(plans(2));
    queue.set_work(0, 100e9);
    queue.set_work(1, 1e9);
    queue.worker_joined(1, 1);
    (void)queue.plan_finished(1, 1, 1);  // so plan 0 will take 100 s
    EXPECT_THAT(queue.orders(10), IsEmpty());
    EXPECT_THAT(queue.orders(10), IsEmpty());
    if (!more_time) queue.set_work(0, 2e9);
    EXPECT_THAT(queue.orders(more_time ? 1000 : 9), ElementsAre(plan_0));
  }
}

/// A queue of `count` equal plans in which each worker has solved one, as fast as its kind is.
WorkQueue with_a_gpu_and_a_cpu(std::uint32_t count, double gpu_s, double cpu_s) {
  WorkQueue queue(plans(count + 2));
  for (std::uint32_t plan = 0; plan < count + 2; ++plan) queue.set_work(plan, 1e9);
  queue.worker_joined(1, 1, "cpu");
  queue.worker_joined(2, 1, "gpu");
  for (const Order& order : queue.orders(1e9)) {
    for (const std::uint32_t plan : order.plans) queue.plan_started(order.worker, plan);
    EXPECT_EQ(order.plans.size(), 1U);
    (void)queue.plan_finished(order.worker, order.plans[0], order.worker == 1 ? cpu_s : gpu_s);
  }
  return queue;
}

/// A worker of one thread has solved five of ten equal plans, of which two were held up.
WorkQueue with_plans_held_up() {
  WorkQueue queue(plans(10));
  for (std::uint32_t plan = 0; plan < 10; ++plan) queue.set_work(plan, 1e9);
  queue.worker_joined(1, 1, "cpu");
  (void)queue.orders();
  std::uint32_t plan = 0;
  for (const double seconds : {60.0, 60.0, 60.0, 180.0, 240.0}) {
    queue.plan_started(1, plan);
    (void)queue.plan_finished(1, plan++, seconds);
  }
  return queue;
}

TEST(WorkQueue, foresees_the_end_by_what_plans_take_with_those_that_are_held_up) {
  const WorkQueue queue = with_plans_held_up();
  EXPECT_NEAR(queue.seconds_left(), 5 * 120, 1) << "the median alone says half";
}

TEST(WorkQueue, foresees_the_end_sooner_while_a_plan_runs_and_later_where_that_is_held_up) {
  WorkQueue queue = with_plans_held_up();
  queue.plan_started(1, 5);
  const double first = queue.seconds_left();
  queue.time_passed(30);
  const double later = queue.seconds_left();
  EXPECT_LT(later, first - 20);
  queue.time_passed(3000);
  EXPECT_GT(queue.seconds_left(), first);
}

TEST(WorkQueue, foresees_each_kind_of_device_by_its_own_pace) {
  WorkQueue queue = with_a_gpu_and_a_cpu(1000, 0.02, 4);
  EXPECT_NEAR(queue.seconds_left(), 1000 / (1 / 0.02 + 1 / 4.0), 1e-6);
  const auto orders = queue.orders(3);
  ASSERT_EQ(orders.size(), 1U) << "the CPU would not end in time";
  EXPECT_EQ(orders[0].worker, 2);
}

TEST(WorkQueue, takes_a_second_worker_of_a_kind_for_as_fast_as_the_first) {
  WorkQueue queue = with_a_gpu_and_a_cpu(1000, 0.02, 4);
  queue.worker_left(2);
  queue.worker_joined(3, 1, "gpu");
  queue.worker_joined(4, 1, "cpu");
  const auto orders = queue.orders(3);
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].worker, 3);
}

TEST(WorkQueue, lets_more_plans_wait_at_a_fast_worker_and_gives_it_the_longest) {
  WorkQueue queue = with_a_gpu_and_a_cpu(1000, 0.002, 2);
  queue.set_work(500, 5e9);
  std::map<int, std::vector<std::uint32_t>> given;
  for (const Order& order : queue.orders()) given[order.worker] = order.plans;
  EXPECT_EQ(given[1].size(), 2U) << "one that runs and one that waits";
  EXPECT_EQ(given[2].size(), 51U) << "one that runs, and what lasts a tenth of a second";
  EXPECT_EQ(given[2][0], 500U);
}

TEST(WorkQueue, does_not_leave_the_last_plan_to_slow_workers_that_copied_it) {
  WorkQueue queue(plans(3));
  for (std::uint32_t plan = 0; plan < 3; ++plan) queue.set_work(plan, 1e9);
  const auto begin = [&](int worker, std::uint32_t plan) {
    ASSERT_THAT(queue.orders(1e9), ElementsAre(start(worker, {plan})));
    queue.plan_started(worker, plan);
  };
  // Plan 0 shows that a GPU takes a tenth of a second, plan 1 that a CPU takes a minute.
  queue.worker_joined(1, 1, "gpu");
  begin(1, 0);
  (void)queue.plan_finished(1, 0, 0.1);
  queue.worker_left(1);
  queue.worker_joined(2, 1, "cpu");
  begin(2, 1);
  (void)queue.plan_finished(2, 1, 60);
  begin(2, 2);
  queue.worker_joined(3, 1, "cpu");
  begin(3, 2);
  queue.worker_joined(4, 1, "cpu");
  EXPECT_THAT(queue.orders(), IsEmpty()) << "a third of the same would not help";
  queue.worker_joined(5, 1, "gpu");
  begin(5, 2);
}

}  // namespace
}  // namespace wallheat
