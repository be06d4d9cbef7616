#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <thread>

#include "solve/cpu/active_blocks.hpp"
#include "solve/cpu/jacobi.hpp"
#include "solve/isa.hpp"
#include "support/rooms.hpp"
#include "support/same_bits.hpp"
#include "wallheat/error.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

/// The sweeps for an instruction set.
struct NamedSweeps {
  std::string name;
  SweepKernels sweeps;
};

std::vector<NamedSweeps> every_sweeps() {
  std::vector<NamedSweeps> every;
  for (const Isa isa : available_isas()) {
    every.push_back({std::string(to_string(isa)), kernels_for(isa).sweeps});
#ifdef __x86_64__
    // Two processors with AVX-512 need not use the same sweeps.
    if (isa == Isa::avx512) {
      every.back().sweeps = avx512_loops().sweeps;
      every.push_back({"avx512_in_order", avx512_sweeps_in_order()});
    }
#endif
  }
  return every;
}

class JacobiSolverTest : public testing::TestWithParam<NamedSweeps> {
 protected:
  void expect_bits_of_the_reference(const FloorPlan& plan, const SolveParameters& limits,
                                    const std::string& what) {
    expect_same_bits(*solver_, *reference_, plan, limits, what);
  }

  std::unique_ptr<Solver> solver_ = make_jacobi_solver(GetParam().sweeps);
  std::unique_ptr<Solver> reference_ = make_reference_solver();
};

TEST_P(JacobiSolverTest, MatchesReferenceForEveryShape) {
  for (const auto& [name, plan, limits] : iteration_cases(3000))
    expect_bits_of_the_reference(plan, limits, name);
}

TEST_P(JacobiSolverTest, MeasuresDeltaOfFirstAndOfLaterIteration) {
  const auto decay = make_delta_decay(GetParam().sweeps, 16);
  for (auto [name, plan, limits] : iteration_cases(3000)) {
    limits.tolerance = 0;
    for (const auto& [which, iterations] : {std::pair{0U, 1}, {1U, 17}}) {
      limits.max_iterations = iterations;
      EXPECT_EQ(decay(plan, limits).at(which), reference_->solve(plan, limits, {})->last_delta)
          << name << " after " << iterations;
    }
  }
}

TEST_P(JacobiSolverTest, MatchesReferenceForEveryWidth) {
  // Blocks contain up to 16 cells, so these grids end at any column of a block.
  for (std::size_t cols = 1; cols <= 70; ++cols) {
    const std::string what = std::to_string(cols) + " columns";
    expect_bits_of_the_reference(random_plan(13, cols, 80, 15), {1e-4, 61}, what);
    expect_bits_of_the_reference(random_plan(9, cols, 100, 16), {1e-4, 8}, what + ", open");
    FloorPlan single = random_plan(5, cols, 0, 17);
    single.interior(2, cols / 2) = 1;
    expect_bits_of_the_reference(single, {1e-4, 8}, what + ", one interior cell");
  }
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
    for (const auto& [name, sweeps] : every_sweeps())
      expect_same_bits(*make_jacobi_solver(sweeps)->solve(plan, limits, {}), expected,
                       "mask " + std::to_string(mask) + ", " + name);
  }
}

/// Returns the bits of everything that fastforward computes with these sweeps: fields after four
/// terms of an expansion, and norms.
std::vector<double> expand(const SweepKernels& sweeps, const FloorPlan& plan) {
  ActiveBlocks blocks;
  blocks.assign(plan.interior, sweeps);
  CompactFields fields;
  fields.resize(4, blocks.size());
  blocks.load(plan.domain, fields[0]);
  for (std::size_t i = 1; i < 4; ++i)
    for (std::size_t cell = 0; cell < blocks.size(); ++cell)
      fields[i][cell] = fields[i - 1][cell] / 3;
  constexpr TermShares shares{0.1, 0.2, 0.3, 0.4};
  const ExpansionFields terms{fields[0], fields[1], fields[2], fields[3], 0.5};
  const auto expand = [&](std::size_t first, const BlockRuns& runs, int levels) {
    const bool is_last = first + static_cast<std::size_t>(levels) == max_fused_sweeps;
    sweeps.expand(terms, runs, is_last ? &shares : nullptr);
  };
  EXPECT_TRUE(blocks.pass(max_fused_sweeps, {}, expand));
  std::vector<double> bits;
  for (std::size_t i = 0; i < 4; ++i) {
    const Norms norms = sweeps.norms(blocks.size(), fields[i]);
    Grid<double> field(plan.domain.rows, plan.domain.cols);
    blocks.store(fields[i], field);
    bits.insert(bits.end(), field.cells.begin(), field.cells.end());
    bits.insert(bits.end(), {norms.largest, norms.squares});
  }
  const Norms applied = sweeps.apply_change(blocks.size(), fields[0], fields[1], fields[2]);
  Grid<double> field(plan.domain.rows, plan.domain.cols);
  blocks.store(fields[2], field);
  bits.insert(bits.end(), field.cells.begin(), field.cells.end());
  bits.insert(bits.end(), {applied.largest, applied.squares});
  return bits;
}

TEST_P(JacobiSolverTest, ExpandsToSameBitsAsEveryOtherSweeps) {
  std::mt19937 random(18);
  std::uniform_real_distribution<double> temperature(-30, 30);
  for (int mask = 0; mask < 50; ++mask) {
    FloorPlan plan = random_rooms(random);
    // The terms of an expansion are 0 in fixed cells.
    for (std::size_t cell = 0; cell < plan.domain.cells.size(); ++cell)
      plan.domain.cells[cell] = plan.interior.cells[cell] != 0 ? temperature(random) : 0;
    EXPECT_EQ(expand(GetParam().sweeps, plan), expand(baseline_loops().sweeps, plan)) << mask;
  }
}

TEST_P(JacobiSolverTest, GivesSameBitsFromConcurrentThreads) {
  const FloorPlan first = random_plan(57, 91, 85, 7);
  const FloorPlan second = room(64, 64);
  const auto expected = *reference_->solve(first, {}, {});
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      const auto solver = make_jacobi_solver(GetParam().sweeps);
      for (int repeat = 0; repeat < 2; ++repeat) {
        expect_same_bits(*solver->solve(first, {}, {}), expected, "repeat");
        (void)solver->solve(second, {1e-2, 100}, {});  // leaves other values in the buffers
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, JacobiSolverTest, testing::ValuesIn(every_sweeps()),
                         [](const auto& each) { return each.param.name; });

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
