#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "forecast/replay.hpp"

namespace wallheat {
namespace {

constexpr Schedule all_schedules[] = {Schedule::static_shares, Schedule::dynamic,
                                      Schedule::longest_first};

double replayed(const std::vector<double>& plans, Schedule schedule, std::size_t workers) {
  return Replay(plans, schedule).seconds(workers);
}

TEST(Replay, hands_out_plans_as_each_schedule_does) {
  const std::vector<double> plans{5, 1, 1, 1, 4};
  EXPECT_EQ(replayed(plans, Schedule::static_shares, 2), 6) << "5 + 1 beside 1 + 1 + 4";
  EXPECT_EQ(replayed(plans, Schedule::dynamic, 2), 7) << "5 beside 1 + 1 + 1 + 4";
  EXPECT_EQ(replayed(plans, Schedule::longest_first, 2), 6) << "5 + 1 beside 4 + 1 + 1";
  EXPECT_EQ(replayed({9, 9, 1, 1}, Schedule::static_shares, 2), 18);
}

TEST(Replay, takes_the_longest_plan_at_least_and_all_of_them_at_most) {
  const std::vector<double> plans{5, 1, 1, 1, 4};
  for (const Schedule schedule : all_schedules) {
    EXPECT_EQ(replayed(plans, schedule, 1), 12);
    EXPECT_EQ(replayed(plans, schedule, 5), 5);
    EXPECT_EQ(replayed(plans, schedule, 1'000'000'000), 5);
    EXPECT_EQ(replayed({}, schedule, 3), 0);
  }
}

TEST(Replay, knows_how_many_workers_suffice) {
  const std::vector<double> plans{1, 1, 1, 1, 5};
  EXPECT_EQ(Replay(plans, Schedule::longest_first).longest_plan_s(), 5);
  EXPECT_EQ(Replay(plans, Schedule::longest_first).sufficient_workers(), 2U);
  EXPECT_EQ(Replay(plans, Schedule::dynamic).sufficient_workers(), 5U);
  EXPECT_EQ(Replay(plans, Schedule::static_shares).sufficient_workers(), 5U);
}

TEST(Replay, knows_that_plans_take_longer_beside_others) {
  EXPECT_EQ(slowdown_beside_others(1.25, 1, 1), 1) << "as it was stored";
  EXPECT_EQ(slowdown_beside_others(1.25, 1, 8), 1.25);
  EXPECT_EQ(slowdown_beside_others(1.25, 4, 8), 1) << "it was beside others then, too";
  EXPECT_EQ(slowdown_beside_others(1.25, 4, 1), 0.8);
}

TEST(Replay, gives_the_next_plan_to_the_first_worker_that_is_free) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> plans(200);
    for (double& plan : plans) plan = std::uniform_int_distribution<>(1, 100)(random);
    const std::size_t workers = std::uniform_int_distribution<std::size_t>(1, 40)(random);
    std::vector<double> free(workers, 0);
    for (const double plan : plans) *std::min_element(free.begin(), free.end()) += plan;
    EXPECT_EQ(replayed(plans, Schedule::dynamic, workers),
              *std::max_element(free.begin(), free.end()));
  }
}

}  // namespace
}  // namespace wallheat
