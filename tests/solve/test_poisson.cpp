#include <random>

#include "core/generator.hpp"
#include "solve/heat_source.hpp"
#include "support/same_bits.hpp"
#include "support/shapes.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

/// Limits of the course program for Poisson's equation.
SolveParameters of_the_course(std::size_t size) {
  return {.tolerance = 1e-4,
          .max_iterations = 100000,
          .norm = Norm::l2,
          .spacing = 1 / static_cast<double>(size)};
}

TEST(Poisson, MatchesNumpyProgram) {
  // Output of the course program with NumPy 1.24; it counts iterations from 0.
  struct Case {
    std::uint64_t plan;
    std::int64_t iterations;
    double in_the_middle;
  };
  const auto solver = make_jacobi_solver(available_isas().back());
  for (const Case& expected :
       {Case{0, 19007, 0.15152741700107636}, {1, 27209, 0.062761337293887928}}) {
    const FloorPlan plan = generate_poisson_plan(1, expected.plan, 256);
    const Solution solution = *solver->solve(plan, of_the_course(256), {});
    EXPECT_EQ(solution.iterations, expected.iterations + 1);
    EXPECT_EQ(solution.field(128, 128), expected.in_the_middle);
  }
}

TEST(Poisson, StaysBelowHeatSourceBound) {
  const auto steady = make_steady_solver(available_isas().back());
  const auto expect = [&](const FloorPlan& plan, double min_share) {
    const double bound = source_magnitude_bound(source_terms(plan, {}));
    const double made = largest_magnitude(steady->solve(plan, {.accuracy = 1e-3}, {})->field);
    EXPECT_LE(made, bound);
    EXPECT_GE(made, min_share * bound);
  };
  FloorPlan strip = random_plan(61, 600, 100, 1);
  strip.source = Grid<double>(61, 600, 0.5);
  expect(strip, 0.999);
  strip.source = Grid<double>(61, 600);
  strip.source(30, 300) = 1000;
  expect(strip, 0.92);
  std::mt19937 random(6);
  for (int number = 0; number < 50; ++number) {
    FloorPlan plan = random_plan_with_sources(random);
    plan.domain = Grid<double>(plan.domain.rows, plan.domain.cols);
    expect(plan, 0);
  }
}

TEST(Poisson, MatchesJacobiWhenFastForwarded) {
  const auto fastforward = make_fastforward_solver(available_isas().back());
  const auto jacobi = make_jacobi_solver(available_isas().back());
  int jumped = 0;
  const auto expect_same = [&](const FloorPlan& plan, const SolveParameters& limits,
                               const char* what) {
    if (expect_same_iterate(*fastforward, *jacobi, plan, limits, what)) ++jumped;
  };
  for (const std::uint64_t index : {0, 1, 2}) {
    SolveParameters limits = of_the_course(200);
    limits.norm = Norm::max;
    limits.tolerance = 1e-6;
    expect_same(generate_poisson_plan(5, index, 200), limits, "a plate");
  }
  // Rooms that converge at different rates, with and without a heat source.
  const FloorPlan rooms = generate_floor_plan(2, 3, 256);
  expect_same(rooms, {}, "rooms");
  FloorPlan heated = rooms;
  heated.source = Grid<double>(256, 256, 0.5);
  expect_same(heated, {.spacing = 0.02}, "heated rooms");
  EXPECT_GE(jumped, 4);
}

}  // namespace
}  // namespace wallheat
