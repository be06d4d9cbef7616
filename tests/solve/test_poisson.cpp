#include <array>
#include <random>

#include "core/generator.hpp"
#include "support/same_bits.hpp"
#include "support/shapes.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

/// What the program of the course on Poisson's equation asks for.
Limits of_the_course(std::size_t size) {
  return {.tolerance = 1e-4,
          .max_iterations = 100000,
          .norm = Norm::l2,
          .spacing = 1 / static_cast<double>(size)};
}

TEST(Poisson, gives_the_figures_of_the_numpy_program) {
  // As that program prints them with NumPy 1.24; it counts iterations from 0.
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

TEST(Poisson, has_the_bits_of_the_reference_with_every_instruction_set_and_norm) {
  const auto reference = make_reference_solver();
  std::mt19937 random(4);
  for (int number = 0; number < 120 && !testing::Test::HasFailure(); ++number) {
    FloorPlan plan = random_plan_with_sources(random);
    if (number % 4 == 0) plan.source = {};
    const Limits limits{.tolerance = std::array{1e-4, 1e-2, 1.0, 0.0}[random() % 4],
                        .max_iterations = 1 + static_cast<std::int64_t>(random() % 400),
                        .norm = number % 2 == 0 ? Norm::l2 : Norm::max,
                        .spacing = 0.25 + static_cast<double>(random() % 100) / 77};
    const Solution expected = *reference->solve(plan, limits, {});
    for (const Isa isa : available_isas())
      expect_same_bits(*make_jacobi_solver(isa)->solve(plan, limits, {}), expected,
                       std::to_string(number) + ", " + std::string(to_string(isa)));
  }
}

TEST(Poisson, ends_by_either_norm_at_the_first_iteration_below_the_tolerance) {
  // The reference looks at every iteration, the fast solver at few.
  const auto reference = make_reference_solver();
  const auto solver = make_jacobi_solver(available_isas().back());
  for (const std::uint64_t index : {0, 1, 2, 3}) {
    const FloorPlan plan = generate_poisson_plan(3, index, 64);
    for (const Norm norm : {Norm::max, Norm::l2}) {
      Limits limits = of_the_course(64);
      limits.norm = norm;
      const Solution expected = *reference->solve(plan, limits, {});
      EXPECT_TRUE(expected.converged);
      // A source as weak as that of plan 1 changes less than this in the first iteration.
      EXPECT_GT(expected.iterations, norm == Norm::max ? (index == 1 ? 0 : 50) : 500);
      expect_same_bits(*solver->solve(plan, limits, {}), expected, std::to_string(index));
    }
  }
}

TEST(Poisson, is_fast_forwarded_to_the_same_iteration) {
  int jumped = 0;
  const auto expect_same = [&](const FloorPlan& plan, const Limits& limits,
                               const std::string& what) {
    for (const Isa isa : available_isas())
      if (expect_same_iterate(*make_fastforward_solver(isa), *make_jacobi_solver(isa), plan, limits,
                              what))
        ++jumped;
  };
  for (const std::uint64_t index : {0, 1, 2}) {
    Limits limits = of_the_course(200);
    limits.norm = Norm::max;
    limits.tolerance = 1e-6;
    expect_same(generate_poisson_plan(5, index, 200), limits, std::to_string(index));
  }
  // Rooms that take different times, with and without a source.
  const FloorPlan rooms = generate_floor_plan(2, 3, 256);
  expect_same(rooms, {}, "rooms");
  FloorPlan heated = rooms;
  heated.source = Grid<double>(256, 256, 0.5);
  expect_same(heated, {.spacing = 0.02}, "heated rooms");
  EXPECT_GE(jumped, static_cast<int>(4 * available_isas().size()));
}

TEST(Poisson, does_not_mind_what_a_source_is_outside_the_rooms) {
  FloorPlan plan = generate_poisson_plan(1, 0, 64);
  FloorPlan other = plan;
  for (std::size_t cell = 0; cell < plan.source.cells.size(); ++cell)
    if (plan.interior.cells[cell] == 0) other.source.cells[cell] = 1e300;
  for (const auto& solver : every_solver())
    expect_same_bits(*solver->solve(other, of_the_course(64), {}),
                     *solver->solve(plan, of_the_course(64), {}), "edges");
}

}  // namespace
}  // namespace wallheat
