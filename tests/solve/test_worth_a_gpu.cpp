#include <gtest/gtest.h>

#include "solve/worth_a_gpu.hpp"

namespace wallheat {
namespace {

constexpr GridShape small{8, 10};
constexpr GridShape large{512, 512};

TEST(WorthAGpu, is_what_at_least_half_of_the_plans_are) {
  EXPECT_TRUE(worth_a_gpu({large}));
  EXPECT_FALSE(worth_a_gpu({small}));
  EXPECT_TRUE(worth_a_gpu({small, large}));
  EXPECT_FALSE(worth_a_gpu({small, large, small}));
  EXPECT_TRUE(worth_a_gpu({})) << "nothing is known";
}

TEST(WorthAGpu, counts_cells_whatever_the_shape) {
  const auto side = static_cast<std::size_t>(gpu_break_even_side);
  EXPECT_TRUE(worth_a_gpu({{side, side}}));
  EXPECT_FALSE(worth_a_gpu({{side, side - 1}}));
  EXPECT_TRUE(worth_a_gpu({{1, side * side}}));
}

}  // namespace
}  // namespace wallheat
