#include <gtest/gtest.h>

#include <cmath>

#include "core/generator.hpp"
#include "solve/worth_a_gpu.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

constexpr GridShape small{8, 10};
constexpr GridShape large{512, 512};

/// 15 GB/s, a CPU of 1 and a GPU of 1000 Gflop/s.
constexpr Offload published{.bytes_per_s = 15e9, .cpu_per_s = 1e9, .gpu_per_s = 1e12, .start_s = 0};

TEST(Offload, pays_from_the_published_figures_on) {
  EXPECT_NEAR(break_even_operations(published, 8), 0.534, 0.0005);
  EXPECT_NEAR(break_even_operations(published, 16), 1.068, 0.0005);
  EXPECT_NEAR(break_even_operations(published, 4), 0.267, 0.0005);
}

TEST(Offload, never_pays_on_a_slower_gpu) {
  EXPECT_TRUE(std::isinf(break_even_operations({1e9, 1e9, 1e9, 0}, 8)));
  EXPECT_EQ(break_even_plan_side({1e9, 1e9, 1e8, 0}), 0U);
}

TEST(Offload, breaks_even_where_both_take_as_long) {
  const Offload offload{.bytes_per_s = 2e9, .cpu_per_s = 3e9, .gpu_per_s = 9e9, .start_s = 1e-3};
  const double n = break_even_operations(offload, 1e6);
  EXPECT_NEAR(n / 3e9, 1e-3 + 1e6 / 2e9 + n / 9e9, 1e-12);
}

TEST(Offload, tells_the_size_of_plans) {
  constexpr std::size_t side = break_even_plan_side(assumed_gpu);
  EXPECT_GT(side, 100U);
  EXPECT_LT(side, 200U);
  const auto gain = [](double length) {
    const double cells = length * length;
    return usual_updates(cells) - break_even_operations(assumed_gpu, 17 * cells);
  };
  EXPECT_GE(gain(side), 0);
  EXPECT_LT(gain(side - 1.0), 0);
  Offload slow = assumed_gpu;
  slow.start_s *= 10;
  EXPECT_GT(break_even_plan_side(slow), side);
}

TEST(Offload, knows_the_work_of_generated_plans) {
  for (const std::size_t side : {96, 160, 256}) {
    double updates = 0;
    constexpr std::uint64_t plans = 4;
    const auto solver = make_jacobi_solver(available_isas().back());
    for (std::uint64_t index = 0; index < plans; ++index) {
      const FloorPlan plan = generate_floor_plan(1, index, side);
      updates += static_cast<double>(count_interior(plan)) *
                 static_cast<double>(solver->solve(plan, {}, {})->iterations) / plans;
    }
    const double foreseen = usual_updates(static_cast<double>(side * side));
    EXPECT_GT(updates, foreseen / 2) << side;
    EXPECT_LT(updates, foreseen * 2) << side;
  }
}

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
