#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "queue/duration_model.hpp"

namespace wallheat {
namespace {

/// Plans of 1e6 to 1e9 cell updates on a device that does 1e9 updates per second and needs 5 ms per
/// plan.
class DurationModelTest : public testing::Test {
 protected:
  static double true_s(double updates) { return 0.005 + 1e-9 * updates; }
  double some_updates() { return std::pow(10, std::uniform_real_distribution(6.0, 9.0)(random_)); }
  void learn_noisily(int plans, double factor = 1) {
    for (int plan = 0; plan < plans; ++plan) {
      const double updates = some_updates();
      const double noise = std::exp(std::normal_distribution(0.0, 0.1)(random_));
      pace_.add_sample(updates, factor * true_s(updates) * noise);
    }
  }

  std::mt19937 random_{3};
  DurationModel pace_;
};

TEST_F(DurationModelTest, FitsLineThroughOriginAfterFirstPlan) {
  EXPECT_TRUE(std::isnan(pace_.predict_seconds(1e6)));
  EXPECT_TRUE(std::isinf(pace_.max_updates_within(1)));
  pace_.add_sample(1e8, 0.5);
  EXPECT_NEAR(pace_.predict_seconds(3e8), 1.5, 1e-9);
  EXPECT_NEAR(pace_.max_updates_within(1.5), 3e8, 1);
}

TEST_F(DurationModelTest, FitsNoisyPlansDespiteOutliers) {
  learn_noisily(200);
  // The standard deviation of this prediction is 0.045 s: 3000 simulated fits, two of 1000 of which
  // were farther off than 0.15 s.
  EXPECT_NEAR(pace_.predict_seconds(1e9), 1.005, 0.15);
  EXPECT_NEAR(pace_.predict_seconds(1e7), 0.015, 0.003);
  for (int plan = 0; plan < 40; ++plan) pace_.add_sample(some_updates(), 600);
  EXPECT_NEAR(pace_.predict_seconds(1e9), 1.005, 0.3);
  EXPECT_NEAR(pace_.predict_seconds(1e7), 0.015, 0.01);
}

TEST_F(DurationModelTest, AdaptsWhenSpeedChanges) {
  learn_noisily(300);
  learn_noisily(256, 3);
  EXPECT_NEAR(pace_.predict_seconds(1e9), 3.015, 0.3);
}

TEST_F(DurationModelTest, LearnsConstantFromPlansWithoutWork) {
  pace_.add_sample(0, 0.004);
  EXPECT_NEAR(pace_.predict_seconds(0), 0.004, 1e-12);
  for (int plan = 0; plan < 4; ++plan) {
    pace_.add_sample(1e8, 0.104);
    pace_.add_sample(0, 0.004);
  }
  EXPECT_NEAR(pace_.predict_seconds(0), 0.004, 1e-9);
  EXPECT_NEAR(pace_.predict_seconds(2e8), 0.204, 1e-6);
}

TEST_F(DurationModelTest, PredictsNonNegativeTimesDespiteInvalidSamples) {
  pace_.add_sample(1e6, 1.0);  // noise: more work takes less time
  pace_.add_sample(1e9, 0.5);
  pace_.add_sample(5e8, 0.7);
  EXPECT_GE(pace_.predict_seconds(0), 0);
  const double before = pace_.predict_seconds(1e8);
  EXPECT_GT(before, 0);
  for (const double seconds : {0.0, -3.0, std::nan(""), std::numeric_limits<double>::infinity()})
    pace_.add_sample(1e8, seconds);
  EXPECT_EQ(pace_.predict_seconds(1e8), before);
}

}  // namespace
}  // namespace wallheat
