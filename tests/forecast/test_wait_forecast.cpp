#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "forecast/generated_queue.hpp"
#include "forecast/wait_forecast.hpp"

namespace wallheat {
namespace {

/// The numbers 1 to n as waits, one job after the other, in a shuffled order.
std::vector<Wait> one_to(std::int64_t n) {
  std::vector<Wait> waits;
  for (std::int64_t i = 0; i < n; ++i) waits.push_back({1000 * i, 1 + i * 617 % n, true});
  return waits;
}

TEST(WaitForecast, says_nothing_without_enough_history) {
  const WaitForecast none = forecast_waits({});
  EXPECT_FALSE(none.bound_s(0.5));
  EXPECT_FALSE(none.chance_within(60));
  const WaitForecast few = forecast_waits(one_to(58));
  EXPECT_TRUE(few.bound_s(0.5));
  EXPECT_FALSE(few.bound_s(0.95));
  EXPECT_EQ(few.scored, 0U);
}

TEST(WaitForecast, bounds_are_order_statistics) {
  const WaitForecast forecast = forecast_waits(one_to(100));
  EXPECT_EQ(forecast.jobs, 100U);
  EXPECT_EQ(forecast.bound_s(0.5), 59);   // P(Bin(100, 0.5) <= 58) = 0.956
  EXPECT_EQ(forecast.bound_s(0.95), 99);  // P(Bin(100, 0.95) <= 98) = 0.963
  EXPECT_EQ(forecast.chance_within(25), 0.25);
  EXPECT_EQ(forecast.chance_within(1000), 1);
}

TEST(WaitForecast, counts_jobs_that_have_waited_longer_already) {
  auto waits = one_to(100);
  const auto last_s = waits.back().eligible_s;
  for (int i = 0; i < 3; ++i) waits.push_back({last_s, 500, false});
  const WaitForecast forecast = forecast_waits(waits);
  EXPECT_EQ(forecast.jobs, 100U);
  EXPECT_EQ(forecast.waiting, 3U);
  EXPECT_EQ(forecast.bound_s(0.5), 61);  // P(Bin(103, 0.5) <= 60) = 0.962
  EXPECT_EQ(forecast.bound_s(0.95), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(forecast.chance_within(25).value(), 25.0 / 103, 1e-12);
  // Cancelled soon they tell nothing.
  for (std::size_t i = 100; i < 103; ++i) waits[i].wait_s = 2;
  EXPECT_EQ(forecast_waits(waits).bound_s(0.95), 99);
}

TEST(WaitForecast, forgets_what_was_before_a_change) {
  std::vector<Wait> waits = one_to(1000);
  for (std::int64_t i = 0; i < 300; ++i)
    waits.push_back({waits.back().eligible_s + 100'000, 50'000 + i * 617 % 1000, true});
  const WaitForecast forecast = forecast_waits(waits);
  EXPECT_GE(forecast.changes, 1U);
  EXPECT_LE(forecast.used(), 360U);
  EXPECT_GE(forecast.bound_s(0.5).value(), 50'000);
}

/// Two thousand short waits, then jobs that do not start for up to eight hours.
std::vector<Wait> stuck_queue(std::int64_t stuck) {
  std::vector<Wait> waits;
  for (std::int64_t i = 0; i < 2000; ++i) waits.push_back({100 * i, 60 + i * 617 % 50, true});
  const std::int64_t now_s = waits.back().eligible_s + 8 * 3600 + 200;
  for (std::int64_t i = 0; i < stuck; ++i) {
    const std::int64_t wait_s = 300 + 95 * i;
    waits.push_back({now_s - wait_s, wait_s, false});
  }
  return waits;
}

TEST(WaitForecast, judges_what_waits_still_as_soon_as_it_has_waited_for_too_long) {
  const WaitForecast forecast = forecast_waits(stuck_queue(300));
  const double missed = static_cast<double>(forecast.scored - forecast.held);
  EXPECT_GE(missed, 300);
  EXPECT_NEAR(static_cast<double>(forecast.held) / static_cast<double>(forecast.scored), 0.85,
              0.01);
  EXPECT_GE(forecast.changes, 1U);
  EXPECT_LT(forecast.used(), 100U);
  EXPECT_EQ(forecast.bound_s(0.5), std::numeric_limits<double>::infinity());
  EXPECT_EQ(forecast.bound_s(0.95), std::numeric_limits<double>::infinity());
}

TEST(WaitForecast, does_not_judge_what_has_not_waited_as_long_as_its_bound) {
  std::vector<Wait> waits = stuck_queue(0);
  const WaitForecast before = forecast_waits(waits);
  const std::int64_t now_s = waits.back().eligible_s + 300;
  for (int i = 0; i < 300; ++i) waits.push_back({now_s - 30, 30, false});
  const WaitForecast after = forecast_waits(waits);
  EXPECT_EQ(after.scored, before.scored);
  EXPECT_EQ(after.held, before.held);
  EXPECT_EQ(after.changes, before.changes);
}

TEST(WaitForecast, takes_no_pause_for_a_change) {
  // Nothing is submitted any more: what starts now is what had to wait for long.
  EXPECT_EQ(forecast_waits(generated_queue("stationary", 3000, 7)).changes, 0U);
}

TEST(WaitForecast, tells_each_job_what_had_started_before_it) {
  auto waits = one_to(200);
  waits[10].wait_s = 1'000'000'000;  // it has not started when the others come
  std::vector<StatedWait> told;
  (void)forecast_waits(waits, [&](const StatedWait& stated) { told.push_back(stated); });
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front().job, 5U);
  for (const StatedWait& stated : told) EXPECT_LE(stated.median_s, 200);
  EXPECT_TRUE(std::isnan(told[10].bound_95_s));
  EXPECT_GT(told.back().bound_95_s, told.back().median_s);
}

/// Each forecast is made from what had started, and judged by what came: 94 to 98 % of the bounds
/// must hold, although waits are alike, or drift. WALLHEAT_QUEUE_JOBS=1000000 is the long form.
class Calibration : public testing::TestWithParam<const char*> {};

TEST_P(Calibration, the_95_percent_bound_holds_for_94_to_98_percent) {
  const char* jobs = std::getenv("WALLHEAT_QUEUE_JOBS");
  const std::size_t count = jobs == nullptr ? 50'000 : std::strtoull(jobs, nullptr, 10);
  const WaitForecast forecast = forecast_waits(generated_queue(GetParam(), count, 11));
  ASSERT_GT(forecast.scored, count * 9 / 10);
  const double held = static_cast<double>(forecast.held) / static_cast<double>(forecast.scored);
  std::printf("%s: %zu jobs, held %.4f, %zu changes, %zu used\n", GetParam(), count, held,
              forecast.changes, forecast.used());
  EXPECT_GE(held, 0.94);
  EXPECT_LE(held, 0.98);
}

INSTANTIATE_TEST_SUITE_P(queues, Calibration,
                         testing::Values("stationary", "alike", "bursty", "drifting", "daily",
                                         "jumping"),
                         [](const auto& kind) { return std::string(kind.param); });

}  // namespace
}  // namespace wallheat
