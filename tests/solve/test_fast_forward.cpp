#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "core/generator.hpp"
#include "solve/fastforward/power_expansion.hpp"
#include "support/rooms.hpp"
#include "support/same_bits.hpp"
#include "support/shared_plans.hpp"
#include "wallheat/floor_plan_files.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

const auto fast = make_fastforward_solver(available_isas().back());
const auto exact = make_jacobi_solver(available_isas().back());

/// Solves a plan with both solvers; returns true if the fast one did not fall back.
bool expect_same_iterate(const FloorPlan& plan, const SolveParameters& limits,
                         const std::string& what) {
  return expect_same_iterate(*fast, *exact, plan, limits, what);
}

TEST(PowerExpansion, ApproximatesPowerOnWholeSpectrum) {
  for (const double radius : {1.0, 0.9995, 0.99}) {
    for (const std::int64_t count : {2, 4, 60, 1000, 6000}) {
      const PowerExpansion expansion = power_expansion(count, 1 / radius, 1e-11);
      EXPECT_LE(expansion.truncation_error, 1e-11);
      const auto value = [&](const std::vector<double>& coefficients, double x) {
        double sum = 0;
        for (std::size_t i = 0; i < coefficients.size(); ++i)
          sum += coefficients[i] * std::cos(2 * static_cast<double>(i) * std::acos(x / radius));
        return sum;
      };
      for (double share = -1; share <= 1; share += 1.0 / 512) {
        const double x = share * radius;
        const double power = value(expansion.power, x);
        EXPECT_NEAR(power, std::pow(x, static_cast<double>(count)), 1.01e-11) << count << ", " << x;
        EXPECT_NEAR((1 - x * x) * value(expansion.growth, x), 1 - power,
                    2e-15 * static_cast<double>(count))
            << count << ", " << x;
      }
      EXPECT_NEAR(expansion.damping, std::pow(radius, static_cast<double>(count)), 1e-12);
    }
  }
}

TEST(PowerExpansion, KeepsDigitsOfSlowestModeInLongJumps) {
  // At the end of the spectrum all T_i are 1.
  for (const double stretch : {1 + 1.0 / 26500, 1 + 1.0 / 3001, 1.0 / 0.9995}) {
    constexpr std::int64_t count = 60000;
    const PowerExpansion expansion = power_expansion(count, stretch, 1e-30);
    const long double power = std::pow(1 / static_cast<long double>(stretch), count);
    const long double x = 1 / static_cast<long double>(stretch);
    const auto sum = [](const std::vector<double>& of) {
      return std::accumulate(of.rbegin(), of.rend(), 0.0L);
    };
    const auto growth = static_cast<double>((1 - power) / (1 - x * x));
    EXPECT_NEAR(expansion.damping, static_cast<double>(power), 4e-15 * expansion.damping);
    EXPECT_NEAR(static_cast<double>(sum(expansion.power)), expansion.damping,
                1e-14 * expansion.damping);
    EXPECT_NEAR(static_cast<double>(sum(expansion.growth)), growth, 1e-13 * growth);
  }
}

TEST(PowerExpansion, TakesFewerTermsForNarrowSpectrum) {
  EXPECT_LT(power_expansion(10000, 1, 1e-11).power.size(), 380U);
  EXPECT_LT(power_expansion(10000, 1 / 0.997, 1e-11).power.size(), 200U);
}

TEST(FastForwardSolver, MatchesJacobiForEveryShape) {
  for (const auto& [name, plan] : awkward_plans())
    for (const double tolerance : {1e-4, 3.0, 1e-8})
      (void)expect_same_iterate(plan, {tolerance, 3000}, name);
  int jumped = 0;
  for (const std::size_t side : {61, 128, 256})
    for (const auto& [name, plan] : adversarial_plans(side))
      if (expect_same_iterate(plan, {}, name + " " + std::to_string(side))) ++jumped;
  EXPECT_EQ(jumped, 6);  // all others end before 1000 iterations
  for (std::size_t index = 0; index < 6; ++index)
    EXPECT_TRUE(expect_same_iterate(generate_floor_plan(1, index, 512), {}, std::to_string(index)));
}

TEST(FastForwardSolver, MatchesJacobiInFewerSweepsForRealPlans) {
  if (!std::filesystem::exists(shared_plans))
    GTEST_SKIP() << "no real floor plans at " << shared_plans;
  for (const char* id : {"10000", "1948", "7636"}) {
    const FloorPlan plan = load_floor_plan(shared_plans, id);
    EXPECT_TRUE(expect_same_iterate(plan, {}, id));
    const Solution solution = *fast->solve(plan, {}, {});
    EXPECT_LT(solution.sweeps, static_cast<double>(solution.iterations) / 5) << id;
  }
}

TEST(FastForwardSolver, FindsExactIterationForEveryTolerance) {
  const FloorPlan plan = room(90, 120);
  int jumped = 0;
  for (double tolerance = 1; tolerance > 1e-9; tolerance *= 0.31)
    if (expect_same_iterate(plan, {tolerance, 200000}, std::to_string(tolerance))) ++jumped;
  EXPECT_GE(jumped, 6);
}

TEST(FastForwardSolver, StopsExactlyAtIterationLimit) {
  const FloorPlan two_rooms =
      drawn_plan(120, 140, [](std::size_t row, std::size_t) { return row != 0 && row != 60; });
  for (const double tolerance : {0.0, 1e-7})
    for (const std::int64_t most : {1, 999, 1000, 1001, 1063, 1064, 1065, 3000, 4001})
      EXPECT_EQ(expect_same_iterate(two_rooms, {tolerance, most}, std::to_string(most)),
                most >= 1000);
}

TEST(FastForwardSolver, MakesFixedNumberOfIterations) {
  for (const auto& [name, shape] : adversarial_plans(120))
    for (const std::int64_t most : {1001, 1500, 6000})
      for (const double tolerance : {0.0, 1e-9})
        (void)expect_same_iterate(shape, {tolerance, most}, name + " " + std::to_string(most));
  EXPECT_TRUE(expect_same_iterate(generate_floor_plan(2, 1, 400), {0, 4000}, "generated"));
  // A rough initial field changes much in the first iterations.
  FloorPlan rough = room(300, 300);
  std::mt19937 random(29);
  for (double& value : rough.domain.cells) value = static_cast<double>(random() % 2001) / 40 - 25;
  EXPECT_TRUE(expect_same_iterate(rough, {0, 20000}, "a rough start"));
  EXPECT_TRUE(expect_same_iterate(room(300, 300), {0, 60000}, "a long jump"));
}

TEST(FastForwardSolver, MatchesJacobiForAnyInitialField) {
  std::mt19937 random(7);
  for (const double start : {15.0, -40.0, 24.9999}) {
    FloorPlan plan = room(110, 90);
    for (std::size_t cell = 0; cell < plan.domain.cells.size(); ++cell)
      if (plan.interior.cells[cell] != 0)
        plan.domain.cells[cell] = start + static_cast<double>(random() % 1000) / 500;
    (void)expect_same_iterate(plan, {}, std::to_string(start));
  }
  // Rooms of similar size, some of them warm, so that the slowest room is misestimated.
  for (int number = 0; number < 12; ++number) {
    FloorPlan plan = drawn_plan(140, 300, [](std::size_t row, std::size_t col) {
      return row > 0 && row + 1 < 140 && col % 75 != 0 && col != 299;
    });
    for (std::size_t part = 0; part < 4; ++part) {
      const double of_part = static_cast<double>(random() % 25);
      for (std::size_t row = 0; row < 140; ++row)
        for (std::size_t col = 75 * part; col < 75 * part + 75; ++col)
          if (plan.interior(row, col) != 0) plan.domain(row, col) = of_part;
    }
    EXPECT_TRUE(expect_same_iterate(plan, {}, std::to_string(number)));
  }
}

TEST(FastForwardSolver, ScalesErrorWithLargestTemperature) {
  std::mt19937 random(3);
  for (const double largest : {1e-90, 0.01, 25.0, 1200.0, 16000.0, 1e7, 1e90}) {
    FloorPlan plan = room(200, 200);
    for (double& value : plan.domain.cells) value = random() % 2 == 0 ? largest : -largest;
    for (const double tolerance : {0.0, 4e-6}) {
      const SolveParameters limits{tolerance * largest, 20000};
      EXPECT_TRUE(expect_same_iterate(plan, limits, std::to_string(largest)));
      EXPECT_DOUBLE_EQ(fast->solve(plan, limits, {})->uncertainty, 4e-11 * largest);
    }
  }
}

TEST(FastForwardSolver, FallsBackWhenJumpsCannotProveConvergence) {
  const auto expect_exact = [](const FloorPlan& plan, const SolveParameters& limits,
                               const char* what) {
    EXPECT_FALSE(expect_same_iterate(plan, limits, what)) << what;
  };
  const auto room_of = [](std::size_t side, auto value_of) {
    FloorPlan plan = room(side, side);
    for (std::size_t cell = 0; cell < plan.domain.cells.size(); ++cell)
      plan.domain.cells[cell] = value_of(plan.domain.cells[cell], plan.interior.cells[cell] != 0);
    return plan;
  };
  std::mt19937 random(8);
  expect_exact(room(120, 120), {.norm = Norm::l2}, "the 2-norm");
  expect_exact(room(90, 120), {1e-11, 100000}, "a tolerance near rounding");
  for (const double scale : {1e-200, 1e200})
    expect_exact(room_of(90, [&](double value, bool) { return value * scale; }),
                 {1e-4 * scale, 20000}, "squares that over- or underflow");
  expect_exact(room_of(90, [](double, bool interior) { return interior ? 1e300 : 1e-9; }),
               {1e-4, 3000}, "walls much colder than the initial field");
  expect_exact(room_of(540, [&](double, bool) { return random() % 2 == 0 ? 25.0 : -25.0; }),
               {0, 12000}, "an initial field so rough that a jump would exceed the rounding bound");
  // Jumps would be exact, but jacobi is not.
  expect_exact(
      room_of(150, [&](double, bool) { return 25 + static_cast<double>(random() % 100) * 1e-9; }),
      {1e-13, 20000}, "temperatures much larger than their changes");
}

}  // namespace
}  // namespace wallheat
