#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <thread>

#include "support/rooms.hpp"
#include "support/same_bits.hpp"
#include "wallheat/error.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

class JacobiSolverTest : public testing::TestWithParam<Isa> {
 protected:
  void expect_bits_of_the_reference(const FloorPlan& plan, const SolveParameters& limits,
                                    const std::string& what) {
    expect_same_bits(*solver_, *reference_, plan, limits, what);
  }

  std::unique_ptr<Solver> solver_ = make_jacobi_solver(GetParam());
  std::unique_ptr<Solver> reference_ = make_reference_solver();
};

TEST_P(JacobiSolverTest, MatchesReferenceForEveryShape) {
  for (const auto& [name, plan, limits] : iteration_cases(3000))
    expect_bits_of_the_reference(plan, limits, name);
}

TEST_P(JacobiSolverTest, MatchesReferenceOnWideGrids) {
  // More rows than one sweep processes at a time; more blocks than the bits of a machine word.
  for (const auto& [rows, cols] :
       {std::pair{90U, 1100U}, {60, 3000}, {25, 9001}, {2, 20000}, {1, 70000}})
    for (const std::int64_t most : {37, 150})
      expect_bits_of_the_reference(random_plan(rows, cols, 97, 11), {1e-4, most},
                                   std::to_string(rows) + " x " + std::to_string(cols));
  expect_bits_of_the_reference(room(6, 800'000), {1e-4, 17}, "all cells of each block");
  const auto is_even = [](std::size_t, std::size_t col) { return col % 2 == 0; };
  expect_bits_of_the_reference(drawn_plan(1, 600'000, is_even), {1e-4, 17}, "some of each block");
}

TEST_P(JacobiSolverTest, MatchesReferenceAtLimitsOfDoubleRange) {
  // Along a corridor that is warm at one end only, temperatures become subnormal.
  std::vector<FloorPlan> plans{{Grid<double>(3, 1300), Grid<std::uint8_t>(3, 1300)}};
  for (std::size_t col = 1; col < 1300; ++col) plans[0].interior(1, col) = 1;
  plans[0].domain(1, 0) = 25;
  // Other plans have the smallest and the largest numbers, or values that cancel.
  for (const auto& [one, other] :
       {std::pair{3e-308, 5e-324}, {1e300, -1e300}, {-25.0, 25.0}, {1e-320, 25.0}}) {
    plans.push_back(random_plan(40, 40, 80, 12));
    for (double& value : plans.back().domain.cells)
      value = value == 5 ? one : value == 25 ? other : 3e-308;
  }
  for (const FloorPlan& plan : plans)
    for (const SolveParameters& limits :
         {SolveParameters{1e-4, 5}, SolveParameters{1e-4, 700}, SolveParameters{0, 700}})
      expect_bits_of_the_reference(plan, limits, std::to_string(plan.domain.cells[0]));
}

/// Rooms and walls in any arrangement, from single cells to halls that fill many blocks.
FloorPlan random_rooms(std::mt19937& random) {
  const auto up_to = [&](std::size_t most) { return random() % (most + 1); };
  const bool tall = up_to(3) == 0;
  FloorPlan plan = random_plan(1 + up_to(tall ? 200 : 40), 1 + up_to(tall ? 20 : 90),
                               static_cast<unsigned>(up_to(100)), random());
  for (std::size_t rectangles = up_to(6); rectangles > 0; --rectangles) {
    const bool interior = up_to(2) != 0;
    const std::size_t top = up_to(plan.domain.rows - 1);
    const std::size_t left = up_to(plan.domain.cols - 1);
    const std::size_t bottom = top + up_to(plan.domain.rows - 1 - top);
    const std::size_t right = left + up_to(plan.domain.cols - 1 - left);
    for (std::size_t row = top; row <= bottom; ++row) {
      for (std::size_t col = left; col <= right; ++col) {
        plan.interior(row, col) = interior ? 1 : 0;
        plan.domain(row, col) = interior ? 0 : 5;
      }
    }
  }
  return plan;
}

TEST(JacobiSolver, MatchesReferenceForRandomMasks) {
  const char* wanted = std::getenv("WALLHEAT_PARITY_MASKS");
  const int masks = wanted != nullptr ? std::stoi(wanted) : 300;
  constexpr unsigned seed = 14;
  const auto reference = make_reference_solver();
  std::mt19937 random(seed);
  for (int mask = 0; mask < masks && !testing::Test::HasFailure(); ++mask) {
    const bool has_source = mask % 3 == 0;
    const FloorPlan plan = has_source ? random_plan_with_sources(random) : random_rooms(random);
    const SolveParameters limits{.tolerance = std::array{1e-4, 1e-2, 1.0, 0.0}[random() % 4],
                                 .max_iterations = 1 + static_cast<std::int64_t>(random() % 250),
                                 .norm = mask % 4 == 0 ? Norm::l2 : Norm::max,
                                 .spacing = 0.25 + static_cast<double>(random() % 100) / 77};
    const Solution expected = *reference->solve(plan, limits, {});
    for (const Isa isa : available_isas())
      expect_same_bits(*make_jacobi_solver(isa)->solve(plan, limits, {}), expected,
                       "mask " + std::to_string(mask) + ", " + std::string(to_string(isa)));
  }
}

TEST_P(JacobiSolverTest, GivesSameBitsFromConcurrentThreads) {
  const FloorPlan first = random_plan(57, 91, 85, 7);
  const FloorPlan second = room(64, 64);
  const auto expected = *reference_->solve(first, {}, {});
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      const auto solver = make_jacobi_solver(GetParam());
      for (int repeat = 0; repeat < 2; ++repeat) {
        expect_same_bits(*solver->solve(first, {}, {}), expected, "repeat");
        (void)solver->solve(second, {1e-2, 100}, {});  // leaves other values in the buffers
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, JacobiSolverTest, testing::ValuesIn(available_isas()),
                         [](const auto& isa) { return std::string(to_string(isa.param)); });

TEST(ReferenceSolver, AssumesZeroDegreesOutsideGrid) {
  const FloorPlan plan{Grid<double>(1, 1, 8.0), Grid<std::uint8_t>(1, 1, 1)};
  const Solution solution = *make_reference_solver()->solve(plan, {}, {});
  EXPECT_EQ(solution.field(0, 0), 0.0);
  EXPECT_EQ(solution.iterations, 2);
}

TEST(JacobiSolver, RejectsUnsupportedInstructionSet) {
  if (available_isas().size() == 3) GTEST_SKIP() << "this processor has every instruction set";
  EXPECT_THROW((void)make_jacobi_solver(Isa::avx512), RunError);
}

}  // namespace
}  // namespace wallheat
