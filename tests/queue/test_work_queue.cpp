#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <queue>
#include <random>
#include <set>

#include "queue/work_queue.hpp"

namespace wallheat {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

TEST(WorkQueue, gives_each_thread_a_plan_and_lets_as_many_wait_once_one_is_solved) {
  WorkQueue queue(plans(100));
  queue.worker_joined(1, 2);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 1, {0, 1}, 0}))
      << "in the order that was asked for";
  EXPECT_THAT(queue.orders(), IsEmpty()) << "what was said is not said again";
  (void)queue.plan_finished(1, 0, 1);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 1, {2, 3, 4}, 0}));
}

TEST(WorkQueue, keeps_long_plans_for_whoever_is_free_first) {
  WorkQueue queue(plans(4));
  queue.worker_joined(1, 1);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 1, {0}, 0}));
  (void)queue.plan_finished(1, 0, 60);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 1, {1}, 0}));
  queue.worker_joined(2, 2);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 2, {2, 3}, 0}));
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

/// Of three plans worker 1 has solved the first, is at the next, and has the last waiting.
WorkQueue with_a_plan_that_waits_at_worker_1() {
  WorkQueue queue(plans(3));
  queue.worker_joined(1, 1);
  (void)queue.orders();
  (void)queue.plan_finished(1, 0, 1);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 1, {1, 2}, 0}));
  queue.plan_started(1, 1);
  return queue;
}

TEST(WorkQueue, retracts_waiting_plans_for_idle_workers_at_the_end) {
  WorkQueue queue = with_a_plan_that_waits_at_worker_1();
  queue.worker_joined(2, 1);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::retract, 1, {}, 1}));
  EXPECT_THAT(queue.orders(), IsEmpty()) << "one retraction at a time";
  queue.plans_returned(1, {2});
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 2, {2}, 0}));
}

// Found by simulation: it went to and fro for hours.
TEST(WorkQueue, does_not_retract_again_what_no_idle_worker_may_have) {
  WorkQueue queue(plans(3));
  queue.worker_joined(1, 1);
  queue.worker_joined(2, 1);
  ASSERT_EQ(queue.orders().size(), 2U);
  (void)queue.plan_finished(1, 0, 1);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 1, {2}, 0}));
  queue.plan_started(1, 2);
  EXPECT_EQ(queue.plan_failed(2, 1, true), WorkQueue::Failure::to_be_tried_again);
  // Plan 1, which failed at worker 2, waits at worker 1. Worker 2 may copy what runs there.
  for (int look = 0; look < 10; ++look) {
    for (const Order& order : queue.orders()) {
      EXPECT_EQ(order.kind, Order::Kind::assign);
      if (order.worker == 2) queue.plan_started(2, order.plans.at(0));
    }
  }
}

TEST(WorkQueue, gives_the_plans_of_a_worker_that_left_to_others) {
  WorkQueue queue(plans(2));
  queue.worker_joined(1, 2);
  (void)queue.orders();
  queue.plan_started(1, 0);
  queue.worker_left(1);
  queue.worker_joined(2, 2);
  const auto orders = queue.orders();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_THAT(orders[0].plans, ElementsAre(0, 1));
}

TEST(WorkQueue, counts_a_plan_once_whoever_answers) {
  WorkQueue queue(plans(1));
  queue.worker_joined(1, 1);
  (void)queue.orders();
  (void)queue.worker_lost(1);
  queue.worker_joined(2, 1);
  (void)queue.orders();
  EXPECT_EQ(queue.plan_finished(1, 0, 1.0), WorkQueue::Answer::first) << "late, but as good as any";
  EXPECT_EQ(queue.plan_finished(2, 0, 1.0), WorkQueue::Answer::repeated);
  EXPECT_EQ(queue.plan_finished(2, 77, 1.0), WorkQueue::Answer::unknown);
  EXPECT_TRUE(queue.all_finished());
}

TEST(WorkQueue, gives_the_plans_of_a_lost_worker_to_others) {
  WorkQueue queue = all_running_at_worker_1(2);
  (void)queue.worker_lost(1);
  queue.worker_joined(2, 2);
  const auto orders = queue.orders();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_THAT(orders[0].plans, ElementsAre(0, 1));
}

TEST(WorkQueue, takes_a_lost_worker_back_with_its_late_answers) {
  WorkQueue queue = all_running_at_worker_1(2);
  (void)queue.worker_lost(1);
  queue.worker_joined(1, 2);
  EXPECT_EQ(queue.plan_finished(1, 0, 1), WorkQueue::Answer::first);
  const auto orders = queue.orders();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_THAT(orders[0].plans, ElementsAre(1));
}

TEST(WorkQueue, counts_a_worker_that_is_back_as_busy_with_what_it_still_runs) {
  WorkQueue queue(plans(4));
  for (int worker = 1; worker <= 3; ++worker) queue.worker_joined(worker, 1);
  for (const Order& order : queue.orders()) queue.plan_started(order.worker, order.plans.at(0));
  (void)queue.worker_lost(1);  // plan 0 is pending again
  queue.worker_joined(1, 1);
  EXPECT_TRUE(queue.plan_started(1, 0, 40)) << "nobody else is at it";
  EXPECT_THAT(queue.orders(), IsEmpty()) << "its thread is not free";
  (void)queue.plan_finished(2, 1, 1);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 2, {3}, 0}));
  queue.plan_started(2, 3);
  // Nothing is pending: what takes longest is copied, whoever has it.
  (void)queue.plan_finished(3, 2, 1);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 3, {0}, 0}));
  EXPECT_EQ(queue.plan_finished(3, 0, 1), WorkQueue::Answer::first);
  EXPECT_TRUE(queue.is_late_copy(0));
  EXPECT_EQ(queue.plan_finished(1, 0, 99), WorkQueue::Answer::repeated);
  EXPECT_FALSE(queue.is_late_copy(0));
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

// A plan that was given to a worker whose thread never takes it kept all others from copies.
TEST(WorkQueue, copies_what_was_given_to_a_thread_and_never_starts) {
  WorkQueue queue(plans(2));
  queue.worker_joined(1, 1);
  queue.worker_joined(2, 1);
  queue.worker_joined(3, 1);
  ASSERT_EQ(queue.orders().size(), 2U);
  queue.plan_started(2, 1);  // worker 1 says nothing of plan 0
  std::set<std::uint32_t> given;
  for (int hour = 0; hour < 10; ++hour) {
    queue.time_passed(3600);
    for (const Order& order : queue.orders()) given.insert(order.plans.begin(), order.plans.end());
    (void)queue.plan_finished(2, 1, 1);
  }
  EXPECT_TRUE(given.contains(0));
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
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 1, {0}, 0}));
}

TEST(WorkQueue, gives_up_a_plan_that_loses_one_worker_after_the_other) {
  WorkQueue queue(plans(2), 3);
  for (int worker = 1; worker <= 3; ++worker) {
    queue.worker_joined(worker, 1);
    (void)queue.orders();
    queue.plan_started(worker, 0);  // plan 1 only waits
    const auto given_up = queue.worker_lost(worker);
    if (worker < 3) {
      EXPECT_THAT(given_up, IsEmpty());
      queue.worker_joined(worker + 1, 1);
      (void)queue.plan_finished(9, 1, 1);  // whoever has time solves plan 1
    } else {
      EXPECT_THAT(given_up, ElementsAre(0));
    }
  }
  EXPECT_TRUE(queue.all_finished());
}

TEST(WorkQueue, tries_a_failed_plan_elsewhere_until_it_has_failed_too_often) {
  WorkQueue queue(plans(1), 3);
  queue.worker_joined(1, 1);
  queue.worker_joined(2, 1);
  (void)queue.orders();
  queue.plan_started(1, 0);
  EXPECT_EQ(queue.plan_failed(1, 0, true), WorkQueue::Failure::to_be_tried_again);
  auto orders = queue.orders();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].worker, 2) << "not where it failed";
  EXPECT_EQ(queue.plan_failed(2, 0, true), WorkQueue::Failure::to_be_tried_again);
  orders = queue.orders();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].worker, 1);
  EXPECT_EQ(queue.plan_failed(1, 0, true), WorkQueue::Failure::final);
  EXPECT_EQ(queue.failures(0), 3);
  EXPECT_TRUE(queue.all_finished());
}

TEST(WorkQueue, tries_a_failed_plan_at_the_same_worker_where_there_is_no_other) {
  WorkQueue queue = all_running_at_worker_1(1);
  (void)queue.plan_failed(1, 0, true);
  EXPECT_EQ(queue.orders().size(), 1U);
}

TEST(WorkQueue, does_not_try_again_what_cannot_pass) {
  WorkQueue queue = all_running_at_worker_1(1);
  EXPECT_EQ(queue.plan_failed(1, 0, false), WorkQueue::Failure::final);
  EXPECT_TRUE(queue.all_finished());
}

TEST(WorkQueue, counts_the_failures_of_earlier_sessions) {
  WorkQueue queue({{0, 2}}, 3);
  queue.worker_joined(1, 1);
  (void)queue.orders();
  EXPECT_EQ(queue.plan_failed(1, 0, true), WorkQueue::Failure::final);
}

TEST(WorkQueue, starts_long_plans_first_and_troubled_ones_last) {
  WorkQueue queue({{0, 1}, {1, 0}, {2, 0}, {3, 0}});
  queue.set_work(0, 9e9);
  queue.set_work(2, 1e6);
  queue.set_work(3, 1e9);
  queue.worker_joined(1, 4);
  EXPECT_THAT(queue.orders().at(0).plans, ElementsAre(3, 2, 1, 0));
}

TEST(WorkQueue, copies_the_last_plans_for_idle_workers_longest_first) {
  WorkQueue queue = all_running_at_worker_1(3);
  queue.set_work(2, 1e9);
  queue.worker_joined(2, 1);
  queue.time_passed(1);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 2, {2}, 0}));
  EXPECT_THAT(queue.orders(), IsEmpty()) << "one copy of a plan";
  EXPECT_EQ(queue.plan_finished(2, 2, 1), WorkQueue::Answer::first);
  EXPECT_TRUE(queue.is_late_copy(2)) << "a second answer may come";
  EXPECT_EQ(queue.plan_finished(1, 2, 1), WorkQueue::Answer::repeated);
  EXPECT_FALSE(queue.is_late_copy(2));
}

TEST(WorkQueue, lets_the_copy_go_on_when_the_first_try_fails) {
  WorkQueue queue = all_running_at_worker_1(1);
  queue.worker_joined(2, 1);
  ASSERT_EQ(queue.orders().size(), 1U);
  EXPECT_EQ(queue.plan_failed(1, 0, true), WorkQueue::Failure::to_be_tried_again);
  EXPECT_EQ(queue.plan_finished(2, 0, 1), WorkQueue::Answer::first);
  EXPECT_TRUE(queue.all_finished());
}

// Found by simulation: what came back from whoever had the copy was handed out again.
TEST(WorkQueue, gives_a_plan_up_with_its_last_try_though_a_copy_runs) {
  WorkQueue queue = all_running_at_worker_1(1, 1);
  queue.worker_joined(2, 1);
  ASSERT_EQ(queue.orders().size(), 1U);
  EXPECT_EQ(queue.plan_failed(1, 0, true), WorkQueue::Failure::final);
  EXPECT_TRUE(queue.all_finished());
  queue.plans_returned(2, {0});
  EXPECT_THAT(queue.orders(), IsEmpty());
}

TEST(WorkQueue, takes_the_answer_of_a_copy_whose_plan_was_given_up) {
  WorkQueue queue = all_running_at_worker_1(1, 1);
  queue.worker_joined(2, 1);
  ASSERT_EQ(queue.orders().size(), 1U);
  EXPECT_EQ(queue.plan_failed(1, 0, true), WorkQueue::Failure::final);
  EXPECT_EQ(queue.plan_finished(2, 0, 1), WorkQueue::Answer::first);
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

/// Plans of which worker 1 has solved the first, a copy of which keeps worker 2 busy.
WorkQueue with_a_leftover_at_worker_2() {
  WorkQueue queue = all_running_at_worker_1(1);
  queue.worker_joined(2, 1);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 2, {0}, 0}));
  queue.plan_started(2, 0);
  EXPECT_EQ(queue.plan_finished(1, 0, 1), WorkQueue::Answer::first);
  return queue;
}

TEST(WorkQueue, finishes_a_plan_once_even_if_its_copies_are_lost) {
  // One failure is enough to give a plan up.
  WorkQueue queue = all_running_at_worker_1(2, 1);
  queue.worker_joined(2, 1);
  ASSERT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 2, {1}, 0}));
  queue.plan_started(2, 1);
  EXPECT_EQ(queue.plan_finished(1, 1, 1), WorkQueue::Answer::first);
  EXPECT_THAT(queue.worker_lost(2), IsEmpty()) << "the plan is answered";
  EXPECT_FALSE(queue.is_late_copy(1));
  EXPECT_FALSE(queue.all_finished()) << "plan 0 is left";
  EXPECT_EQ(queue.plan_finished(1, 0, 1), WorkQueue::Answer::first);
  EXPECT_TRUE(queue.all_finished());
}

TEST(WorkQueue, takes_the_late_answer_to_a_plan_that_was_given_up) {
  WorkQueue queue = all_running_at_worker_1(1, 1);
  EXPECT_THAT(queue.worker_lost(1), ElementsAre(0));
  EXPECT_TRUE(queue.all_finished());
  queue.worker_joined(1, 1);
  EXPECT_EQ(queue.plan_failed(1, 0, true), WorkQueue::Failure::of_a_copy) << "that is known";
  EXPECT_EQ(queue.plan_finished(1, 0, 1), WorkQueue::Answer::first);
  EXPECT_EQ(queue.plan_finished(1, 0, 1), WorkQueue::Answer::repeated);
  EXPECT_TRUE(queue.all_finished());
}

TEST(WorkQueue, counts_a_worker_with_a_leftover_as_busy) {
  WorkQueue queue = with_a_leftover_at_worker_2();
  EXPECT_TRUE(queue.any_busy());
  EXPECT_EQ(queue.plan_finished(2, 0, 1), WorkQueue::Answer::repeated);
  EXPECT_FALSE(queue.any_busy());
}

TEST(WorkQueue, gives_nothing_to_a_worker_that_is_leaving) {
  WorkQueue queue(plans(3));
  queue.worker_joined(1, 1);
  queue.worker_joined(2, 1);
  queue.worker_leaving(1);
  ASSERT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 2, {0}, 0}));
  queue.worker_left(1);
  queue.worker_joined(1, 1);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 1, {1}, 0})) << "it is new";
}

TEST(WorkQueue, tries_a_plan_where_it_failed_if_nobody_else_has_time_for_it) {
  WorkQueue queue(plans(1));
  queue.worker_joined(1, 1, "quick");
  queue.worker_joined(2, 1, "slow");
  ASSERT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 1, {0}, 0}));
  EXPECT_EQ(queue.plan_failed(1, 0, true), WorkQueue::Failure::to_be_tried_again);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 2, {0}, 0})) << "elsewhere";
  queue.plans_returned(2, {0});
  queue.worker_left(2);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 1, {0}, 0}));
}

TEST(WorkQueue, keeps_a_plan_that_failed_for_workers_that_are_on_their_way) {
  WorkQueue queue(plans(1));
  queue.worker_joined(1, 1, "gpu");
  ASSERT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 1, {0}, 0}));
  EXPECT_EQ(queue.plan_failed(1, 0, true), WorkQueue::Failure::to_be_tried_again);
  queue.expect_more_workers(true);
  EXPECT_THAT(queue.orders(), IsEmpty());
  queue.worker_joined(2, 1, "cpu");
  queue.expect_more_workers(false);
  EXPECT_THAT(queue.orders(), ElementsAre(Order{Order::Kind::assign, 2, {0}, 0}));
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
  const auto start = [&](int worker, std::uint32_t plan) {
    ASSERT_THAT(queue.orders(1e9), ElementsAre(Order{Order::Kind::assign, worker, {plan}, 0}));
    queue.plan_started(worker, plan);
  };
  // Plan 0 shows that a GPU takes a tenth of a second, plan 1 that a CPU takes a minute.
  queue.worker_joined(1, 1, "gpu");
  start(1, 0);
  (void)queue.plan_finished(1, 0, 0.1);
  queue.worker_left(1);
  queue.worker_joined(2, 1, "cpu");
  start(2, 1);
  (void)queue.plan_finished(2, 1, 60);
  start(2, 2);
  queue.worker_joined(3, 1, "cpu");
  start(3, 2);
  queue.worker_joined(4, 1, "cpu");
  EXPECT_THAT(queue.orders(), IsEmpty()) << "a third of the same would not help";
  queue.worker_joined(5, 1, "gpu");
  start(5, 2);
}

/// A cluster under a simulated clock: threads take plans as real workers do, messages take time,
/// and whoever reads the seed can repeat what happened.
class SimulatedCluster {
 public:
  /// `slowness`: how many times as long as the fastest each worker takes; empty: all are equal.
  SimulatedCluster(unsigned seed, std::size_t count, std::vector<std::size_t> threads,
                   std::vector<double> slowness = {})
      : random_(seed),
        queue_(plans(static_cast<std::uint32_t>(count))),
        threads_(std::move(threads)),
        slowness_(std::move(slowness)) {
    slowness_.resize(threads_.size(), 1);
    for (std::size_t plan = 0; plan < count; ++plan) {
      seconds_.push_back(0.2 + static_cast<double>(random_() % 1000) / 500);
      queue_.set_work(static_cast<std::uint32_t>(plan), 1e9 * seconds_.back());
    }
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      join(i);
      waiting_.emplace_back();
      running_.push_back(0);
    }
  }

  /// Runs to the end; workers leave and come back with the given chance per event, in per mille.
  void run(unsigned leave_per_mille) {
    obey();
    while (!queue_.all_finished()) {
      ASSERT_FALSE(events_.empty()) << "the queue waits for nothing";
      const Event event = events_.top();
      events_.pop();
      queue_.time_passed(event.time - now_);
      now_ = event.time;
      handle(event);
      if (random_() % 1000 < leave_per_mille) leave_and_return(random_() % threads_.size());
      obey();
    }
  }

  [[nodiscard]] double makespan() const { return now_; }
  [[nodiscard]] double work() const {
    return std::accumulate(seconds_.begin(), seconds_.end(), 0.0);
  }
  [[nodiscard]] const std::map<std::uint32_t, int>& answers() const { return answers_; }

 private:
  struct Event {
    double time;
    std::size_t worker;
    unsigned life;  // events of an earlier life of the worker are void
    Order order;    // what reaches the worker, or
    bool done;      // the plan in order.plans is solved
    friend bool operator<(const Event& a, const Event& b) { return a.time > b.time; }
  };

  void join(std::size_t worker) {
    queue_.worker_joined(static_cast<int>(worker), threads_[worker],
                         std::to_string(slowness_[worker]));
  }

  double message_time() { return 0.0005 + static_cast<double>(random_() % 100) * 1e-5; }

  void obey() {
    for (Order& order : queue_.orders()) {
      const auto worker = static_cast<std::size_t>(order.worker);
      events_.push({now_ + message_time(), worker, lives_[worker], std::move(order), false});
    }
  }

  void handle(const Event& event) {
    const std::size_t worker = event.worker;
    if (event.life != lives_[worker]) return;
    if (event.done) {
      const std::uint32_t plan = event.order.plans.front();
      --running_[worker];
      if (queue_.plan_finished(static_cast<int>(worker), plan,
                               seconds_[plan] * slowness_[worker]) == WorkQueue::Answer::first)
        ++answers_[plan];
    } else if (event.order.kind == Order::Kind::assign) {
      for (const std::uint32_t plan : event.order.plans) waiting_[worker].push_back(plan);
    } else {
      std::vector<std::uint32_t> returned;
      while (!waiting_[worker].empty() && returned.size() < event.order.count) {
        returned.push_back(waiting_[worker].back());
        waiting_[worker].pop_back();
      }
      queue_.plans_returned(static_cast<int>(worker), returned);
    }
    start(worker);
  }

  void start(std::size_t worker) {
    while (running_[worker] < threads_[worker] && !waiting_[worker].empty()) {
      const std::uint32_t plan = waiting_[worker].front();
      waiting_[worker].pop_front();
      ++running_[worker];
      queue_.plan_started(static_cast<int>(worker), plan);
      events_.push({now_ + seconds_[plan] * slowness_[worker],
                    worker,
                    lives_[worker],
                    {Order::Kind::assign, 0, {plan}, 0},
                    true});
    }
  }

  void leave_and_return(std::size_t worker) {
    if (random_() % 2 == 0) {
      queue_.worker_left(static_cast<int>(worker));
    } else {
      for (const std::uint32_t plan : queue_.worker_lost(static_cast<int>(worker)))
        ++answers_[plan];
    }
    ++lives_[worker];
    waiting_[worker].clear();
    running_[worker] = 0;
    join(worker);
  }

  std::mt19937 random_;
  WorkQueue queue_;
  std::vector<std::size_t> threads_;
  std::vector<double> slowness_;
  std::vector<double> seconds_;
  std::vector<std::deque<std::uint32_t>> waiting_;
  std::vector<std::size_t> running_;
  std::map<std::size_t, unsigned> lives_;
  std::priority_queue<Event> events_;
  std::map<std::uint32_t, int> answers_;
  double now_ = 0;
};

TEST(WorkQueue, loses_no_plan_and_solves_none_twice_in_any_order_of_events) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const std::size_t count = 1 + random() % 120;
    std::vector<std::size_t> threads(1 + random() % 6);
    for (auto& number : threads) number = 1 + random() % 4;
    std::vector<double> slowness(seed % 2 == 0 ? 0 : threads.size());
    for (auto& number : slowness) number = random() % 2 == 0 ? 1 : 30;
    SimulatedCluster cluster(seed, count, threads, slowness);
    cluster.run(seed % 3 == 0 ? 0 : 20);
    ASSERT_EQ(cluster.answers().size(), count) << "seed " << seed;
    for (const auto& [plan, times] : cluster.answers())
      ASSERT_EQ(times, 1) << "seed " << seed << ", plan " << plan;
  }
}

TEST(WorkQueue, keeps_all_threads_busy_to_the_end) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SimulatedCluster cluster(seed, 200, {1, 4, 2, 1, 3});
    cluster.run(0);
    constexpr double threads = 11;
    // No schedule without foresight can promise to be better than one longest plan (2.2 s) beyond
    // an even share; messages take some milliseconds.
    EXPECT_LT(cluster.makespan(), cluster.work() / threads + 2.2 + 0.1) << "seed " << seed;
  }
}

TEST(WorkQueue, is_held_up_by_slow_workers_no_longer_than_a_fast_one_takes_for_a_plan) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    // Two CPU sockets next to a GPU on which 40 plans at a time take a twentieth of what they take
    // on a core.
    SimulatedCluster cluster(seed, 1500, {16, 40, 16}, {20, 1, 20});
    cluster.run(0);
    const double rate = 40 + 32 / 20.0;
    // Beyond an even share: the plan that the GPU is at (2.2 s) before it can copy the last one.
    EXPECT_LT(cluster.makespan(), cluster.work() / rate + 2 * 2.2 + 0.1) << "seed " << seed;
  }
}

}  // namespace
}  // namespace wallheat
