#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "forecast/generated_queue.hpp"
#include "forecast/wait_forecast.hpp"
#include "support/matchers.hpp"

namespace wallheat {
namespace {

/// Returns the waits 1 to n s of jobs that become eligible one after the other, in a shuffled
/// order.
std::vector<Wait> one_to(std::int64_t n) {
  std::vector<Wait> waits;
  for (std::int64_t i = 0; i < n; ++i) waits.push_back({1000 * i, 1 + i * 617 % n, true});
  return waits;
}

TEST(WaitForecast, UsesOrderStatisticsAsBounds) {
  const WaitForecast forecast = forecast_waits(one_to(100));
  EXPECT_EQ(forecast.jobs, 100U);
  EXPECT_EQ(forecast.bound_s(0.5), 59);   // P(Bin(100, 0.5) <= 58) = 0.956
  EXPECT_EQ(forecast.bound_s(0.95), 99);  // P(Bin(100, 0.95) <= 98) = 0.963
  EXPECT_EQ(forecast.probability_within(25), 0.25);
  EXPECT_EQ(forecast.probability_within(1000), 1);
  const WaitForecast few = forecast_waits(one_to(58));
  EXPECT_TRUE(few.bound_s(0.5));
  EXPECT_FALSE(few.bound_s(0.95)) << "1 - 0.95^58 is less than 0.95";
  EXPECT_EQ(forecast_waits(one_to(59)).bound_s(0.95), 59);
  EXPECT_EQ(few.tested, 0U);
  EXPECT_FALSE(forecast_waits({}).bound_s(0.5));
  EXPECT_FALSE(forecast_waits({}).probability_within(60));
}

TEST(WaitForecast, CountsPendingJobsThatHaveWaitedLonger) {
  auto waits = one_to(100);
  const auto last_s = waits.back().eligible_s;
  for (int i = 0; i < 3; ++i) waits.push_back({last_s, 500, false});
  const WaitForecast forecast = forecast_waits(waits);
  EXPECT_EQ(forecast.jobs, 100U);
  EXPECT_EQ(forecast.waiting, 3U);
  EXPECT_EQ(forecast.bound_s(0.5), 61);  // P(Bin(103, 0.5) <= 60) = 0.962
  EXPECT_EQ(forecast.bound_s(0.95), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(forecast.probability_within(25).value(), 25.0 / 103, 1e-12);
  // Jobs that were cancelled early do not count.
  for (std::size_t i = 100; i < 103; ++i) waits[i].wait_s = 2;
  EXPECT_EQ(forecast_waits(waits).bound_s(0.95), 99);
}

TEST(WaitForecast, UsesLatestThousandStartedJobs) {
  std::vector<Wait> waits = one_to(1000);
  const auto last_s = waits.back().eligible_s;
  waits.push_back({last_s, 400, false});  // cancelled before the first job that counts
  for (std::int64_t i = 0; i < 1000; ++i)
    waits.push_back({last_s + 100'000 * (i + 1), 50'000 + i * 617 % 1000, true});
  const WaitForecast forecast = forecast_waits(waits);
  EXPECT_EQ(forecast.jobs, 2000U);
  EXPECT_EQ(forecast.used(), 1000U);
  EXPECT_EQ(forecast.used_from_s, last_s + 100'000);
  EXPECT_EQ(forecast.waits_s.front(), 50'000);
  EXPECT_THAT(forecast.pending_waits_s, IsEmpty());
}

TEST(WaitForecast, BacktestsBoundOnPastJobs) {
  // Each forecast uses only the waits that were known at that time.
  std::vector<Wait> waits = generated_queue("bursty", 600, 7);
  for (std::size_t job = 0; job < waits.size(); job += 5) waits[job].started = false;  // cancelled
  std::size_t judged = 0;
  std::size_t held = 0;
  for (const Wait& job : waits) {
    std::vector<Wait> known;
    for (const Wait& other : waits) {
      if (other.eligible_s >= job.eligible_s) break;
      const std::int64_t so_far_s = job.eligible_s - other.eligible_s;
      const bool ended = other.wait_s < so_far_s;
      known.push_back({other.eligible_s, ended ? other.wait_s : so_far_s, ended && other.started});
    }
    const auto bound_s = forecast_waits(known).bound_s(0.95);
    if (!bound_s || std::isinf(*bound_s)) continue;
    const bool holds = static_cast<double>(job.wait_s) <= *bound_s;
    if (holds && !job.started) continue;  // its wait might have exceeded the bound
    ++judged;
    held += holds ? 1 : 0;
  }
  const WaitForecast forecast = forecast_waits(waits);
  EXPECT_GT(judged, 200U);
  EXPECT_EQ(forecast.tested, judged);
  EXPECT_EQ(forecast.covered, held);
}

/// Backtests the bound of each job: it must cover 94 to 98 % of the waits, also if consecutive
/// waits are similar or drift. The parameter is the kind of generated_queue(). Set
/// WALLHEAT_QUEUE_JOBS=1000000 for the long form.
class WaitBoundCoverageTest : public testing::TestWithParam<const char*> {};

TEST_P(WaitBoundCoverageTest, Covers94To98PercentOfWaits) {
  const char* jobs = std::getenv("WALLHEAT_QUEUE_JOBS");
  const std::size_t count = jobs == nullptr ? 50'000 : std::strtoull(jobs, nullptr, 10);
  for (const unsigned seed : {1, 2, 3, 11}) {
    const WaitForecast forecast = forecast_waits(generated_queue(GetParam(), count, seed));
    ASSERT_GT(forecast.tested, count * 9 / 10);
    const double held =
        static_cast<double>(forecast.covered) / static_cast<double>(forecast.tested);
    std::printf("%s, seed %u: %zu jobs, held %.4f\n", GetParam(), seed, count, held);
    EXPECT_GE(held, 0.94);
    EXPECT_LE(held, 0.98);
  }
}

INSTANTIATE_TEST_SUITE_P(Queues, WaitBoundCoverageTest,
                         testing::Values("stationary", "alike", "bursty", "drifting", "daily",
                                         "jumping"),
                         [](const auto& kind) { return std::string(kind.param); });

}  // namespace
}  // namespace wallheat
