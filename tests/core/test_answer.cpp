#include <gtest/gtest.h>

#include <cmath>

#include "core/answer.hpp"

namespace wallheat {
namespace {

TEST(Answer, is_far_from_the_steady_state_by_more_than_a_tenth_of_its_temperatures) {
  PlanResult plate;
  plate.status = PlanStatus::converged;
  plate.statistics.mean_temp = 0.0001;
  plate.statistics.std_temp = 0.002;
  plate.error_estimate = 0.02;
  EXPECT_TRUE(is_far_from_steady(plate));
  plate.error_estimate = 0.0001;
  EXPECT_FALSE(is_far_from_steady(plate));
  plate.error_estimate = std::nan("");
  EXPECT_TRUE(is_far_from_steady(plate)) << "too few iterations to tell";
  plate.error_bound = 1e-9;
  EXPECT_FALSE(is_far_from_steady(plate)) << "steady proves its bound";
  EXPECT_FALSE(is_far_from_steady(PlanResult{}));
}

TEST(Answer, took_its_cpu_time_on_a_core_of_its_own) {
  PlanResult row;
  row.device = "cpu avx2";
  row.seconds = 20;
  EXPECT_EQ(seconds_on_own_core(row), 20) << "nobody knows better";
  row.cpu_s = 1;
  EXPECT_EQ(seconds_on_own_core(row), 1);
  row.device = "gpu 0";
  EXPECT_EQ(seconds_on_own_core(row), 20) << "its thread waits for the GPU";
}

}  // namespace
}  // namespace wallheat
