#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/cell_statistics.hpp"
#include "core/generator.hpp"
#include "core/wall_overrides.hpp"
#include "solve/superposition.hpp"
#include "support/farthest_apart.hpp"
#include "support/same_bits.hpp"
#include "support/shapes.hpp"

namespace wallheat {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
const std::vector<double> kinds{-8, 5, 12.5, 25};
const SolveParameters fine{.accuracy = 1e-8, .spacing = 0.1};

/// Returns random rooms between walls of four nominal temperatures; every third plan has a heat
/// source.
FloorPlan plan_of_many_walls(std::mt19937& random) {
  FloorPlan plan = random_plan(1 + random() % 50, 1 + random() % 50,
                               static_cast<unsigned>(random() % 101), random());
  for (std::size_t cell = 0; cell < plan.domain.cells.size(); ++cell)
    if (plan.interior.cells[cell] == 0) plan.domain.cells[cell] = kinds[random() % kinds.size()];
  if (random() % 3 != 0) return plan;
  plan.source = Grid<double>(plan.domain.rows, plan.domain.cols);
  for (double& value : plan.source.cells)
    if (random() % 4 == 0) value = static_cast<double>(random() % 2001) - 1000;
  return plan;
}

FloorPlan with_walls(FloorPlan plan, const std::vector<double>& from,
                     const std::vector<double>& to) {
  WallOverrides walls;
  for (std::size_t k = 0; k < from.size(); ++k) walls.push_back({from[k], to[k]});
  apply_wall_overrides(plan, walls);
  return plan;
}

TEST(Superposition, MatchesSolveOfChangedPlanWithinBounds) {
  const auto steady = make_steady_solver(available_isas().back());
  std::mt19937 random(33);
  for (int number = 0; number < 1000; ++number) {
    const FloorPlan plan = plan_of_many_walls(random);
    std::vector<double> temperatures;
    for (const double kind : kinds)
      temperatures.push_back(random() % 4 == 0 ? kind
                                               : static_cast<double>(random() % 1000) / 7 - 40);
    const BoundedCells superposed =
        solve_superposition(plan, kinds, *steady, fine).at(temperatures);
    const FloorPlan changed = with_walls(plan, kinds, temperatures);
    const Solution solved = *steady->solve(changed, fine, {});
    EXPECT_LE(farthest_apart(superposed.cells, interior_values(solved.field, changed.interior)),
              superposed.bound + solved.error_bound)
        << number;
    EXPECT_LT(superposed.bound, 1e-5) << number;
  }
}

TEST(Superposition, EqualsSolverWhenNoWallChanges) {
  const auto used = make_steady_solver(available_isas().back());
  const FloorPlan plan = generate_floor_plan(1, 3, 96);
  const Superposition superposition = solve_superposition(plan, {5, 25}, *used, {});
  const Solution fresh = *make_steady_solver(Isa::baseline)->solve(plan, {}, {});
  const std::vector<double> as_it_is{5, 25};
  EXPECT_EQ(superposition.at(as_it_is).cells, interior_values(fresh.field, plan.interior));
}

/// The solver caches data that depend on the mask only.
TEST(Superposition, GetsSameBitsFromReusedSolver) {
  std::mt19937 random(4);
  for (int number = 0; number < 30; ++number) {
    FloorPlan plan = plan_of_many_walls(random);
    plan.source = Grid<double>(plan.domain.rows, plan.domain.cols, 3.0);
    const auto used = make_steady_solver(available_isas().back());
    (void)used->solve(plan, fine, {});
    FloorPlan other = with_walls(plan, {5, 25}, {18, 1});
    expect_same_bits(*used, *make_steady_solver(Isa::baseline), other, fine, "other walls");
    other.source = {};
    expect_same_bits(*used, *make_steady_solver(Isa::baseline), other, fine, "without a source");
    std::reverse(other.interior.cells.begin(), other.interior.cells.end());
    expect_same_bits(*used, *make_steady_solver(Isa::baseline), other, fine, "another mask");
  }
}

double mean_with(const FloorPlan& plan, double wall, Solver& steady, double& bound) {
  const FloorPlan changed = with_walls(plan, {25}, {wall});
  const Solution solution = *steady.solve(changed, fine, {});
  bound = solution.error_bound;
  return bounded_mean(interior_values(solution.field, changed.interior), 0).value;
}

TEST(RequiredTemperature, IsLowestThatReachesMean) {
  const auto steady = make_steady_solver(available_isas().back());
  std::mt19937 random(8);
  int checked = 0;
  for (int number = 0; number < 300; ++number) {
    const FloorPlan plan = plan_of_many_walls(random);
    if (count_interior(plan) == 0) continue;
    const Superposition linear = solve_superposition(plan, {25}, *steady, fine);
    const BoundedValue now = bounded_mean(linear.now.cells, linear.now.bound);
    const auto& each = linear.walls.front().per_degree;
    const BoundedValue per_degree = bounded_mean(each.cells, each.bound);
    const double target = 18;
    const RequiredTemperature needed = needed_temperature({25, now, per_degree}, target);
    if (per_degree.value < 0.01) continue;
    ++checked;
    EXPECT_LE(needed.lower, needed.value);
    EXPECT_GE(needed.upper, needed.value);
    EXPECT_LT(needed.upper - needed.lower, 1e-4) << number;
    double bound = 0;
    const double reached = mean_with(plan, needed.upper, *steady, bound);
    EXPECT_GE(reached, target - bound) << number;
    const double below = mean_with(plan, needed.lower - 1e-6, *steady, bound);
    EXPECT_LE(below, target - 1e-6 * per_degree.value / 2 + bound) << number;
  }
  EXPECT_GT(checked, 150);
}

TEST(RequiredTemperature, EqualsThatOfLastRequiredCell) {
  const Superposition linear{{{10, 17, 14}, 1e-3}, {{5, 4, {}}, {25, 4, {{0.5, 0.1, 1}, 1e-4}}}};
  const auto each = needed_of_cells(linear, 1, 18);
  ASSERT_EQ(each.size(), 3U);
  const RequiredTemperature of_first = needed_temperature({25, {10, 1e-3}, {0.5, 1e-4}}, 18);
  EXPECT_EQ(each[0].value, 41);
  EXPECT_EQ(each[0].lower, of_first.lower);
  EXPECT_EQ(needed_for_count(each, 1).value, 29);
  const RequiredTemperature of_two = needed_for_count(each, 2);
  EXPECT_EQ(of_two.value, each[1].value);
  EXPECT_EQ(of_two.lower, each[1].lower);
  EXPECT_EQ(of_two.upper, each[1].upper);
  EXPECT_EQ(needed_for_count(each, 3).value, 41);
}

TEST(RequiredTemperature, StaysWithinBoundsOfItsInputs) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    BoundedValue now, per_degree;
    double value, least, most;
  };
  for (const auto& [now, per_degree, value, least, most] :
       {Case{{10, 1e-3}, {0.5, 1e-4}, 41, 25 + 7.999 / 0.5001, 25 + 8.001 / 0.4999},
        {{20, 1e-3}, {0.5, 1e-4}, 21, 25 - 2.001 / 0.4999, 25 - 1.999 / 0.5001},
        {{18, 1e-3}, {0.5, 1e-4}, 25, 25 - 0.001 / 0.4999, 25 + 0.001 / 0.4999},
        // The wall has no influence, or possibly a small one.
        {{10, 1e-8}, {0, 0}, infinite, infinite, infinite},
        {{20, 1e-8}, {0, 0}, -infinite, -infinite, -infinite},
        {{10, 1e-8}, {0, 1e-9}, infinite, 25 + (8 - 1e-8) / 1e-9, infinite},
        // One of the inputs is unknown.
        {{nan, 1e-8}, {0.5, 1e-9}, nan, nan, nan},
        {{nan, 1e-8}, {0, 1e-9}, nan, nan, nan},
        {{10, 1e-8}, {nan, 1e-9}, nan, nan, nan},
        {{10, nan}, {0.5, 1e-9}, 41, nan, nan},
        {{10, 1e-8}, {0.5, nan}, 41, nan, nan}}) {
    const auto about = [](double expected) {
      const double size = std::isfinite(expected) ? std::abs(expected) : 1;
      return testing::NanSensitiveDoubleNear(expected, 1e-13 * size);
    };
    const RequiredTemperature needed = needed_temperature({25, now, per_degree}, 18);
    EXPECT_THAT(needed.value, about(value)) << now.value << ", " << per_degree.value;
    EXPECT_THAT(needed.lower, about(least)) << now.value << ", " << per_degree.value;
    EXPECT_THAT(needed.upper, about(most)) << now.value << ", " << per_degree.value;
  }
}

TEST(RequiredTemperature, IsNanWhenOneCellIsNan) {
  const double nan = std::nan("");
  for (std::size_t index = 0; index < 3; ++index) {
    std::vector<RequiredTemperature> each{{20, 19, 21}, {30, 29, 31}, {40, 39, 41}};
    each[index] = {nan, nan, nan};
    const RequiredTemperature needed = needed_for_count(each, 2);
    EXPECT_TRUE(std::isnan(needed.value) && std::isnan(needed.lower) && std::isnan(needed.upper));
  }
}

TEST(ShareToCount, RoundsUpWithoutFloatingPointError) {
  EXPECT_EQ(share_to_count(0.95, 20), 19U);
  EXPECT_EQ(share_to_count(0.95, 21), 20U);
  EXPECT_EQ(share_to_count(0.07, 100), 7U);
  EXPECT_EQ(share_to_count(1, 7), 7U);
  EXPECT_EQ(share_to_count(0.001, 7), 1U);
}

}  // namespace
}  // namespace wallheat
