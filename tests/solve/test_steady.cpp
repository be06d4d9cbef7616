#include <gtest/gtest.h>

#include <Eigen/SparseCholesky>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <regex>

#include "core/generator.hpp"
#include "solve/isa.hpp"
#include "solve/steady/conjugate_gradients.hpp"
#include "solve/steady/error_bound.hpp"
#include "support/error_message.hpp"
#include "support/farthest_apart.hpp"
#include "support/matchers.hpp"
#include "support/rooms.hpp"
#include "support/same_bits.hpp"
#include "support/shared_plans.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"
#include "wallheat/solver.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {
namespace {

/// The steady state by a sparse direct solve, refined in extended precision.
std::vector<long double> steady_state(const FloorPlan& plan) {
  const std::size_t rows = plan.domain.rows;
  const std::size_t cols = plan.domain.cols;
  std::vector<int> number(rows * cols, -1);
  int count = 0;
  for (std::size_t cell = 0; cell < number.size(); ++cell)
    if (plan.interior.cells[cell] != 0) number[cell] = count++;
  std::vector<long double> state(plan.domain.cells.begin(), plan.domain.cells.end());
  for (std::size_t cell = 0; cell < state.size(); ++cell)
    if (number[cell] >= 0) state[cell] = 0;
  if (count == 0) return state;
  const auto for_each_neighbour = [&](std::size_t cell, auto body) {
    const std::size_t row = cell / cols;
    const std::size_t col = cell % cols;
    if (row > 0) body(cell - cols);
    if (row + 1 < rows) body(cell + cols);
    if (col > 0) body(cell - 1);
    if (col + 1 < cols) body(cell + 1);
  };
  std::vector<Eigen::Triplet<double>> entries;
  for (std::size_t cell = 0; cell < number.size(); ++cell) {
    if (number[cell] < 0) continue;
    entries.emplace_back(number[cell], number[cell], 4.0);
    for_each_neighbour(cell, [&](std::size_t other) {
      if (number[other] >= 0) entries.emplace_back(number[cell], number[other], -1.0);
    });
  }
  Eigen::SparseMatrix<double> matrix(count, count);
  matrix.setFromTriplets(entries.begin(), entries.end());
  const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> factors(matrix);
  EXPECT_EQ(factors.info(), Eigen::Success);
  for (int refinement = 0; refinement < 3; ++refinement) {
    Eigen::VectorXd residual(count);
    for (std::size_t cell = 0; cell < number.size(); ++cell) {
      if (number[cell] < 0) continue;
      long double sum = -4 * state[cell];
      if (plan.has_heat_source()) sum += static_cast<long double>(plan.source.cells[cell]);
      for_each_neighbour(cell, [&](std::size_t other) { sum += state[other]; });
      residual[number[cell]] = static_cast<double>(sum);
    }
    const Eigen::VectorXd correction = factors.solve(residual);
    for (std::size_t cell = 0; cell < number.size(); ++cell)
      if (number[cell] >= 0) state[cell] += static_cast<long double>(correction[number[cell]]);
  }
  return state;
}

/// Expects that the solution differs from a direct solve by no more than its bound, and that the
/// bound that `verify` proves independently of the solver is not larger.
void expect_bound_holds(const Solution& solution, const FloorPlan& plan, double accuracy,
                        const std::string& what) {
  EXPECT_TRUE(solution.converged) << what;
  EXPECT_LE(solution.error_bound, accuracy) << what;
  EXPECT_LE(farthest_apart(solution.field.cells, steady_state(plan)), solution.error_bound) << what;
  EXPECT_LE(proven_error_bound(plan, {}, solution.field), solution.error_bound * (1 + 1e-6))
      << what;
}

class SteadySolverTest : public testing::Test {
 protected:
  void expect_proven(const FloorPlan& plan, double accuracy, const std::string& what) {
    expect_bound_holds(*solver_->solve(plan, {.max_iterations = 100, .accuracy = accuracy}, {}),
                       plan, accuracy, what);
  }

  std::unique_ptr<Solver> solver_ = make_steady_solver(available_isas().back());
};

TEST_F(SteadySolverTest, StaysWithinBoundForEveryShape) {
  for (const auto& plans : {awkward_plans(), adversarial_plans(61), adversarial_plans(64)})
    for (const auto& [name, plan] : plans)
      for (const double accuracy : {1e-2, 1e-8, 1e-9}) expect_proven(plan, accuracy, name);
}

TEST_F(SteadySolverTest, StaysWithinBoundForRandomPlans) {
  // WALLHEAT_RANDOM_PLANS=10000 is the long form.
  const char* asked = std::getenv("WALLHEAT_RANDOM_PLANS");
  const unsigned plans = asked != nullptr ? static_cast<unsigned>(std::atoi(asked)) : 200;
  std::mt19937 random(5);
  for (unsigned number = 0; number < plans; ++number) {
    const std::size_t rows = 1 + random() % 70;
    const std::size_t cols = 1 + random() % 70;
    FloorPlan plan = random_plan(rows, cols, 30 + random() % 71, random());
    if (number % 4 == 0) {
      plan.source = Grid<double>(rows, cols);
      for (double& value : plan.source.cells)
        if (random() % 4 == 0) value = static_cast<double>(random() % 21) / 100 - 0.1;
    }
    // From coarse answers, whose error is all the solver's, to the finest that can be proven.
    expect_proven(plan, std::pow(10.0, -static_cast<double>(random() % 10)),
                  std::to_string(number));
  }
}

TEST_F(SteadySolverTest, TakesFewIterationsForAnyRooms) {
  for (const auto& [name, plan] : adversarial_plans(512))
    EXPECT_LE(solver_->solve(plan, {}, {})->iterations, 12) << name;
  for (const auto& [rows, cols] : {std::pair{3U, 20000U}, {5, 20000}, {20000, 4}, {40000, 9}})
    EXPECT_LE(solver_->solve(room(rows, cols), {}, {})->iterations, 16) << rows << " x " << cols;
  // As many as measured: a slip in the interpolation costs some and does no other harm.
  std::int64_t of_generated = 0;
  std::int64_t of_random = 0;
  for (unsigned number = 0; number < 200; ++number) {
    of_generated += solver_->solve(generate_floor_plan(7, number, 96), {}, {})->iterations;
    of_random += solver_->solve(random_plan(90, 90, 95, number), {}, {})->iterations;
  }
  EXPECT_LE(of_generated, 1800);
  EXPECT_LE(of_random, 2035);
}

TEST_F(SteadySolverTest, MatchesPublishedSteadyStatesOfRealPlans) {
  if (!std::filesystem::exists(shared_plans))
    GTEST_SKIP() << "no real floor plans at " << shared_plans;
  const SolveParameters limits{0, 100, 1e-9};
  const auto expect = [&](const char* id, double mean, double deviation, double above,
                          double below) {
    const FloorPlan plan = load_floor_plan(shared_plans, id);
    const Solution solution = *solver_->solve(plan, limits, {});
    const Statistics found = statistics(solution.field, plan.interior);
    EXPECT_NEAR(found.mean_temp, mean, 1e-10) << id;
    EXPECT_NEAR(found.std_temp, deviation, 1e-10) << id;
    EXPECT_NEAR(found.pct_above, above, 1e-10) << id;
    EXPECT_NEAR(found.pct_below, below, 1e-10) << id;
    expect_bound_holds(solution, plan, 1e-9, id);
  };
  expect("10000", 14.016701434535163, 6.367649262232635, 30.966330331633575, 55.47538967849264);
  expect("1948", 15.04436418690041, 6.851148916928785, 39.56357520952801, 49.97380899867667);
  expect("7636", 13.964441009047855, 6.373863412849328, 31.449995879913207, 55.20504298623891);
}

TEST_F(SteadySolverTest, DependsOnNeitherUnitNorInitialField) {
  FloorPlan plan = random_plan(60, 50, 80, 9);
  const Solution expected = *solver_->solve(plan, {}, {});
  for (const int exponent : {-900, -130, 130, 900}) {
    FloorPlan scaled = plan;
    for (double& value : scaled.domain.cells) value = std::ldexp(value, exponent);
    const Solution solution = *solver_->solve(scaled, {0, 100, std::ldexp(1e-8, exponent)}, {});
    EXPECT_EQ(solution.iterations, expected.iterations) << exponent;
    for (std::size_t cell = 0; cell < plan.domain.cells.size(); ++cell)
      ASSERT_EQ(solution.field.cells[cell], std::ldexp(expected.field.cells[cell], exponent));
  }
  for (std::size_t cell = 0; cell < plan.domain.cells.size(); ++cell)
    if (plan.interior.cells[cell] != 0) plan.domain.cells[cell] = 1e300;
  expect_same_bits(*solver_->solve(plan, {}, {}), expected, "another start");
}

TEST_F(SteadySolverTest, StaysWithinBoundForSubnormalValues) {
  FloorPlan small{Grid<double>(3, 4), Grid<std::uint8_t>(3, 4)};
  for (std::size_t col = 0; col < 4; ++col) {
    small.domain(0, col) = 2e-315;
    small.interior(1, col) = 1;
  }
  expect_proven(small, 1e-300, "3 x 4");
  for (const int exponent : {-1070, -1040, -1026, -1010, -980, -500, 900}) {
    FloorPlan plan = random_plan(20, 30, 80, 11);
    for (double& value : plan.domain.cells) value = std::ldexp(value, exponent);
    const double accuracy = std::max(1e-300, std::ldexp(1e-8, exponent));
    expect_proven(plan, accuracy, std::to_string(exponent));
    for (std::size_t cell = 0; cell < plan.domain.cells.size(); cell += 3)
      plan.domain.cells[cell] *= 1e-310;
    expect_proven(plan, accuracy, std::to_string(exponent) + ", some subnormal");
    plan.source = Grid<double>(20, 30, std::ldexp(3, exponent));
    expect_proven(plan, accuracy, std::to_string(exponent) + ", with a source");
  }
}

TEST_F(SteadySolverTest, StaysWithinBoundForExtremeWallsOrStarts) {
  for (const double wall : {0.0, 5e-324, 1e-310, 1e-300, 1e-9, 25.0, 1e100, max_magnitude}) {
    for (const double start : {0.0, 1e-310, 1e300, -max_magnitude}) {
      FloorPlan plan = room(26, 23);
      for (std::size_t cell = 0; cell < plan.domain.cells.size(); ++cell)
        plan.domain.cells[cell] = plan.interior.cells[cell] != 0 ? start : cell % 3 * wall / 2;
      expect_proven(plan, std::max(1e-300, 1e-9 * wall),
                    std::to_string(wall) + ", from " + std::to_string(start));
    }
  }
}

TEST(ConjugateGradients, ReturnsNanResidualWhenWallIsNan) {
  const FloorPlan good = room(40, 40);
  for (const Isa isa : available_isas()) {
    // Beside red and black cells, in the first rows and in the last.
    for (const std::size_t cell : {5U, 6U, 40U * 39 + 5, 40U * 39 + 6, 40U * 20 + 13}) {
      ASSERT_EQ(good.interior.cells[cell], 0);
      FloorPlan plan = good;
      plan.domain.cells[cell] = std::nan("");
      ConjugateGradients gradients(kernels_for(isa).steady);
      gradients.assign(plan.interior);
      gradients.start(plan.domain, {}, 1);
      const auto progress = gradients.iterate(1e-9, 100, {});
      EXPECT_TRUE(std::isnan(progress.residual)) << cell;
      EXPECT_EQ(progress.iterations, 0) << cell;
      EXPECT_TRUE(std::isnan(gradients.measure().residual)) << cell;
    }
  }
}

TEST(ErrorBound, GrowsWithDeficitOfComparisonField) {
  // A w >= 1 - 0.75: w could be 4 times as large.
  EXPECT_GE(error_per_residual(10, 0.75), 40);
  EXPECT_LT(error_per_residual(10, 0.75), 40.001);
  EXPECT_EQ(error_per_residual(10, 1), std::numeric_limits<double>::infinity());
}

TEST(ErrorBound, CoversErrorOfAnySingleCell) {
  const FloorPlan one_cell{Grid<double>(1, 1), Grid<std::uint8_t>(1, 1, 1)};
  for (const double off : {-1e-3, 1e-3})
    EXPECT_GE(proven_error_bound(one_cell, {}, Grid<double>(1, 1, off)), 1e-3);
  const FloorPlan plan = room(20, 20);
  const Solution solution = *make_steady_solver(Isa::baseline)->solve(plan, {}, {});
  EXPECT_LT(proven_error_bound(plan, {}, solution.field), 1e-8);
  for (std::size_t cell = 0; cell < plan.domain.cells.size(); cell += 13) {
    Grid<double> field = solution.field;
    field.cells[cell] = std::nan("");
    EXPECT_EQ(proven_error_bound(plan, {}, field), std::numeric_limits<double>::infinity()) << cell;
    for (const double off : {-1e-3, 1e-3}) {
      if (plan.interior.cells[cell] == 0) break;
      field.cells[cell] = solution.field.cells[cell] + off;
      EXPECT_GE(proven_error_bound(plan, {}, field), 1e-3);
    }
  }
}

TEST_F(SteadySolverTest, NamesProvableAccuracyWhenRequestedOneIsNot) {
  auto plans = adversarial_plans(128);
  for (unsigned seed = 0; seed < 500; ++seed)
    plans.push_back({std::to_string(seed), random_plan(5 + seed % 50, 60, 40 + seed % 60, seed)});
  for (const auto& [name, plan] : plans) {
    if (name == "open") continue;  // all its cells are at 0 °C
    const std::string message = error_message_of<InputError>([&] {
      (void)solver_->solve(plan, {0, 1000, 1e-17}, {});
    });
    EXPECT_THAT(message, Mentions({"accuracy", "1e-17"})) << name;
    // The provable accuracy has two digits, unlike the requested one.
    std::smatch provable;
    ASSERT_TRUE(std::regex_search(message, provable, std::regex(R"(\d\.\de[-+]\d+)"))) << message;
    expect_proven(plan, std::stod(provable.str()), name);
  }
}

TEST_F(SteadySolverTest, ReturnsValidBoundWhenIterationLimitIsReached) {
  const FloorPlan plan = room(200, 180);
  const auto truth = steady_state(plan);
  for (const std::int64_t most : {0, 1, 3}) {
    const Solution solution = *solver_->solve(plan, {0, most, 1e-9}, {});
    EXPECT_FALSE(solution.converged);
    EXPECT_EQ(solution.iterations, most);
    EXPECT_LE(farthest_apart(solution.field.cells, truth), solution.error_bound);
  }
}

}  // namespace
}  // namespace wallheat
