#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "queue/cost_model.hpp"

namespace wallheat {
namespace {

/// Plans of 1e6 to 1e9 updates on a device that makes 1e9 a second and needs 5 ms for each plan.
class CostModelTest : public testing::Test {
 protected:
  static double true_s(double updates) { return 0.005 + 1e-9 * updates; }
  double some_updates() { return std::pow(10, std::uniform_real_distribution(6.0, 9.0)(random_)); }
  void observe_noisily(int plans) {
    for (int plan = 0; plan < plans; ++plan) {
      const double updates = some_updates();
      model_.observe(updates,
                     true_s(updates) * std::exp(std::normal_distribution(0.0, 0.1)(random_)));
    }
  }

  std::mt19937 random_{3};
  CostModel model_;
};

TEST_F(CostModelTest, knows_nothing_before_the_first_plan) {
  EXPECT_TRUE(std::isnan(model_.predict_s(1e6)));
  EXPECT_EQ(model_.ratios().quality().plans, 0U);
  EXPECT_TRUE(std::isnan(model_.ratios().quality().median_ratio));
}

TEST_F(CostModelTest, takes_time_for_proportional_to_work_after_one_plan) {
  model_.observe(1e8, 0.5);
  EXPECT_NEAR(model_.predict_s(3e8), 1.5, 1e-9);
}

TEST_F(CostModelTest, finds_pace_and_constant_in_noise) {
  observe_noisily(256);
  EXPECT_NEAR(model_.predict_s(0), 0.005, 0.001);
  EXPECT_NEAR(model_.predict_s(1e9), 1.005, 0.06);
}

TEST_F(CostModelTest, is_not_misled_by_plans_that_were_held_up) {
  observe_noisily(200);
  for (int plan = 0; plan < 50; ++plan) model_.observe(some_updates(), 600);
  EXPECT_NEAR(model_.predict_s(1e9), 1.005, 0.1);
  EXPECT_NEAR(model_.predict_s(1e7), 0.015, 0.003);
}

TEST_F(CostModelTest, follows_a_change_of_pace) {
  observe_noisily(300);
  for (int plan = 0; plan < 256; ++plan) {
    const double updates = some_updates();
    model_.observe(updates, 3 * true_s(updates));
  }
  EXPECT_NEAR(model_.predict_s(1e9), 3.015, 0.01);
}

TEST_F(CostModelTest, learns_the_constant_from_plans_without_work) {
  model_.observe(0, 0.004);
  EXPECT_NEAR(model_.predict_s(0), 0.004, 1e-12);
  for (int plan = 0; plan < 4; ++plan) {
    model_.observe(1e8, 0.104);
    model_.observe(0, 0.004);
  }
  EXPECT_NEAR(model_.predict_s(0), 0.004, 1e-9);
  EXPECT_NEAR(model_.predict_s(2e8), 0.204, 1e-6);
}

TEST_F(CostModelTest, expects_more_of_more_work_whatever_two_plans_of_a_size_took) {
  model_.observe(1.0e6, 0.0011);
  model_.observe(1.1e6, 0.0010);
  EXPECT_NEAR(model_.predict_s(1e9), 1.0, 0.2);
}

TEST_F(CostModelTest, sees_where_time_does_not_depend_on_work) {
  for (int plan = 0; plan < 64; ++plan)
    model_.observe(some_updates() * 1e-4, 0.3 + 0.01 * (plan % 3));
  EXPECT_NEAR(model_.predict_s(1e2), 0.31, 0.02);
  EXPECT_NEAR(model_.predict_s(1e5), 0.31, 0.02);
}

TEST_F(CostModelTest, never_predicts_less_than_nothing) {
  model_.observe(1e6, 1.0);  // the more work, the faster: noise
  model_.observe(1e9, 0.5);
  model_.observe(5e8, 0.7);
  EXPECT_GE(model_.predict_s(0), 0);
  for (const double updates : {1e6, 1e9, 1e12}) EXPECT_GT(model_.predict_s(updates), 0);
}

TEST_F(CostModelTest, ignores_times_that_cannot_be) {
  model_.observe(1e8, 0.5);
  for (const double seconds : {0.0, -3.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    model_.observe(1e8, seconds);
  }
  EXPECT_NEAR(model_.predict_s(1e8), 0.5, 1e-9);
  EXPECT_EQ(model_.ratios().quality().plans, 0U);
}

TEST_F(CostModelTest, says_how_good_predictions_were_that_were_made_before) {
  model_.observe(1e8, 1);  // nothing was predicted for it
  model_.observe(1e8, 2);
  const PredictionQuality quality = model_.ratios().quality();
  EXPECT_EQ(quality.plans, 1U);
  EXPECT_NEAR(quality.median_ratio, 2, 0.002);
  EXPECT_NEAR(quality.factor_90, 2, 0.002);

  CostModel steady;
  for (int plan = 0; plan < 18; ++plan) steady.observe(1e8, 1);
  steady.observe(1e8, 1.25);
  steady.observe(1e8, 1.25);
  steady.observe(1e8, 0.25);
  EXPECT_EQ(steady.ratios().quality().plans, 20U);
  EXPECT_NEAR(steady.ratios().quality().median_ratio, 1, 0.01);
  EXPECT_NEAR(steady.ratios().quality().factor_90, 1.25, 0.01);
  EXPECT_NEAR(steady.ratios().quality().worst_factor, 4, 0.01);
}

}  // namespace
}  // namespace wallheat
