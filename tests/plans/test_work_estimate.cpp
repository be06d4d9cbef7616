#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/generator.hpp"
#include "plans/work_estimate.hpp"
#include "support/shapes.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

const std::filesystem::path shared_plans = WALLHEAT_SHARED_FLOORPLANS;

/// Returns the squared maximum distance from a wall, by comparing all pairs of cells.
std::int64_t max_wall_distance_by_brute_force(const Grid<std::uint8_t>& interior) {
  std::vector<std::pair<std::int64_t, std::int64_t>> rooms,
      walls;  // includes the border of the grid
  const auto rows = static_cast<std::int64_t>(interior.rows);
  const auto cols = static_cast<std::int64_t>(interior.cols);
  for (std::int64_t row = -1; row <= rows; ++row)
    for (std::int64_t col = -1; col <= cols; ++col) {
      const bool is_in_grid = row >= 0 && row < rows && col >= 0 && col < cols;
      const bool is_room = is_in_grid && interior.cells.at(row * cols + col) != 0;
      (is_room ? rooms : walls).emplace_back(row, col);
    }
  std::int64_t widest = 0;
  for (const auto& [row, col] : rooms) {
    std::int64_t nearest = std::numeric_limits<std::int64_t>::max();
    for (const auto& [y, x] : walls)
      nearest = std::min(nearest, (y - row) * (y - row) + (x - col) * (x - col));
    widest = std::max(widest, nearest);
  }
  return widest;
}

TEST(WorkEstimate, FindsMaxWallDistanceExactly) {
  std::mt19937 random(5);
  for (unsigned round = 0; round < 300; ++round) {
    const FloorPlan plan = random_plan(1 + random() % 20, 1 + random() % 20, random() % 101, round);
    ASSERT_EQ(max_wall_distance_squared(plan.interior),
              max_wall_distance_by_brute_force(plan.interior))
        << "round " << round;
  }
}

TEST(WorkEstimate, AcceptsAnyShape) {
  for (const auto& [name, plan] : awkward_plans()) {
    const WorkEstimate estimate = estimate_work(plan.interior, {});
    EXPECT_EQ(estimate.interior_cells, count_interior(plan)) << name;
    EXPECT_GE(estimate.iterations, estimate.interior_cells > 0 ? 1 : 0) << name;
    EXPECT_LE(estimate.iterations, 20000) << name;
    EXPECT_EQ(estimate.updates, static_cast<double>(estimate.interior_cells * estimate.iterations))
        << name;
  }
  EXPECT_EQ(estimate_work(Grid<std::uint8_t>(0, 0), {}).updates, 0);
  EXPECT_EQ(max_wall_distance_squared(Grid<std::uint8_t>(70'000, 3, 1)), 4);
  EXPECT_EQ(max_wall_distance_squared(Grid<std::uint8_t>(3, 70'000, 1)), 4);
  EXPECT_EQ(max_wall_distance_squared(Grid<std::uint8_t>(1000, 1001, 1)), 500 * 500);
}

TEST(WorkEstimate, StaysWithinIterationLimits) {
  const Grid<std::uint8_t> hall(1000, 1000, 1);
  EXPECT_EQ(estimate_work(hall, {}).iterations, 20000);
  EXPECT_EQ(estimate_work(hall, {1e-4, 7}).iterations, 7);
  EXPECT_EQ(estimate_work(hall, {0, 123}).iterations, 123);
  EXPECT_EQ(estimate_work(hall, {1e9, 20000}).iterations, 1);
}

TEST(WorkEstimate, IsLowerForSolversWithFewerSweeps) {
  const Grid<std::uint8_t> hall(300, 300, 1);
  const WorkEstimate jacobi = estimate_work(hall, {});
  const WorkEstimate fast = estimate_work(hall, {}, SolverKind::fastforward);
  EXPECT_EQ(fast.iterations, jacobi.iterations);
  EXPECT_LT(fast.updates, jacobi.updates / 5);
  EXPECT_GT(fast.updates, jacobi.updates / 50);
  EXPECT_EQ(estimate_work(hall, {1e-4, 500}, SolverKind::fastforward).updates,
            estimate_work(hall, {1e-4, 500}).updates);
  // The work of the steady solver depends only on the number of cells.
  const Grid<std::uint8_t> corridor(90000, 1, 1);
  EXPECT_LT(estimate_steady_work(count_interior(hall), {}).updates, fast.updates);
  EXPECT_EQ(estimate_steady_work(0, {}).updates, 0);
}

TEST(WorkEstimate, IsWithinOneThirdForGeneratedPlans) {
  const auto solver = make_jacobi_solver(available_isas().back());
  for (const std::size_t size : {64, 128, 192}) {
    for (std::uint64_t index = 0; index < 8; ++index) {
      const FloorPlan plan = generate_floor_plan(77, index, size);
      const auto iterations = static_cast<double>(solver->solve(plan, {}, {})->iterations);
      const auto predicted = static_cast<double>(estimate_work(plan.interior, {}).iterations);
      EXPECT_GT(predicted, iterations / 1.33) << "plan " << index << " of " << size;
      EXPECT_LT(predicted, iterations * 1.33) << "plan " << index << " of " << size;
    }
  }
}

TEST(WorkEstimate, IsWithinOneEighthForRealPlans) {
  if (!std::filesystem::exists(shared_plans))
    GTEST_SKIP() << "no real floor plans at " << shared_plans;
  for (const auto& [id, iterations] :
       std::map<std::string, double>{{"10000", 3602}, {"1948", 10221}, {"7636", 5904}}) {
    const WorkEstimate estimate = estimate_work(load_floor_plan(shared_plans, id).interior, {});
    EXPECT_NEAR(static_cast<double>(estimate.iterations) / iterations, 1, 0.125) << id;
  }
}

}  // namespace
}  // namespace wallheat
