#include <gtest/gtest.h>

#include <cmath>

#include "forecast/cluster.hpp"

namespace wallheat {
namespace {

/// 15 GB/s, a CPU of 1 and a GPU of 1000 Gflop/s.
constexpr Offload published{.bytes_per_s = 15e9, .cpu_per_s = 1e9, .gpu_per_s = 1e12, .start_s = 0};

TEST(Offload, pays_from_the_published_figures_on) {
  EXPECT_NEAR(break_even_operations(published, 8), 0.534, 0.0005);
  EXPECT_NEAR(break_even_operations(published, 16), 1.068, 0.0005);
  EXPECT_NEAR(break_even_operations(published, 4), 0.267, 0.0005);
}

TEST(Offload, never_pays_on_a_slower_gpu) {
  EXPECT_TRUE(std::isinf(break_even_operations({1e9, 1e9, 1e9, 0}, 8)));
}

TEST(Offload, breaks_even_where_both_take_as_long) {
  const Offload offload{.bytes_per_s = 2e9, .cpu_per_s = 3e9, .gpu_per_s = 9e9, .start_s = 1e-3};
  const double n = break_even_operations(offload, 1e6);
  EXPECT_NEAR(n / 3e9, 1e-3 + 1e6 / 2e9 + n / 9e9, 1e-12);
}

}  // namespace
}  // namespace wallheat
