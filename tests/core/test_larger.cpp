#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/interior_values.hpp"
#include "support/farthest_apart.hpp"

namespace wallheat {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

TEST(Larger, is_the_larger_of_two_numbers_and_smaller_the_other) {
  for (const double one : {-infinite, -2.5, -0.0, 0.0, 1e-320, 3.0, infinite}) {
    for (const double other : {-infinite, -2.5, 0.0, 4.0, infinite}) {
      EXPECT_EQ(larger(one, other), std::fmax(one, other));
      EXPECT_EQ(smaller(one, other), std::fmin(one, other));
    }
  }
}

TEST(Larger, keeps_a_nan_wherever_it_comes) {
  for (std::size_t index = 0; index < 4; ++index) {
    std::vector<double> values{3, -infinite, 7, infinite};
    values[index] = not_a_number;
    EXPECT_TRUE(std::isnan(std::accumulate(values.begin(), values.end(), 5.0, larger))) << index;
    EXPECT_TRUE(std::isnan(std::accumulate(values.begin(), values.end(), 5.0, smaller))) << index;
  }
}

// Of the tests themselves: a field of NaN is near to nothing.

TEST(FarthestApart, is_the_largest_difference_and_infinite_if_one_is_no_number_or_missing) {
  EXPECT_EQ(farthest_apart(std::vector{1.0, 2.0, 3.0}, std::vector{1.5, -2.0, 3.0}), 4);
  EXPECT_EQ(farthest_apart(std::vector{1.0, 2.0}, std::vector{1.0, 2.0}), 0);
  for (std::size_t index = 0; index < 3; ++index) {
    std::vector<double> values{1, 2, 3};
    values[index] = not_a_number;
    EXPECT_EQ(farthest_apart(values, std::vector{1.0, 2.0, 3.0}), infinite) << index;
    EXPECT_EQ(farthest_apart(values, values), infinite) << index;
  }
  EXPECT_EQ(farthest_apart(std::vector{1.0}, std::vector{1.0, 2.0}), infinite);
}

}  // namespace
}  // namespace wallheat
