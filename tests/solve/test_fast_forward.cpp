#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/generator.hpp"
#include "solve/fastforward/power_expansion.hpp"
#include "solve/fastforward/rooms.hpp"
#include "solve/largest_value.hpp"
#include "support/rooms.hpp"
#include "support/same_bits.hpp"
#include "support/shared_plans.hpp"
#include "wallheat/floor_plan_files.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

/// Solves a plan with both solvers; returns true if the fast one did not fall back.
bool expect_same_iterate(const FloorPlan& plan, const Limits& limits, const std::string& what) {
  static const auto fast = make_fastforward_solver(available_isas().back());
  static const auto exact = make_jacobi_solver(available_isas().back());
  return expect_same_iterate(*fast, *exact, plan, limits, what);
}

TEST(PowerExpansion, is_the_power_and_what_makes_the_field_of_it_on_the_whole_spectrum) {
  for (const double radius : {1.0, 0.9995, 0.99}) {
    for (const std::int64_t count : {2, 4, 60, 1000, 6000}) {
      const PowerExpansion expansion = power_expansion(count, radius, 1e-11);
      EXPECT_LE(expansion.left_out, 1e-11);
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

TEST(PowerExpansion, takes_fewer_terms_where_the_spectrum_ends_before_one) {
  EXPECT_LT(power_expansion(10000, 1, 1e-11).power.size(), 380U);
  EXPECT_LT(power_expansion(10000, 0.997, 1e-11).power.size(), 200U);
}

TEST(Rooms, end_at_walls_and_do_not_meet_at_corners) {
  // Two rooms that touch at a corner, one of which goes around a pillar, and two cells alone.
  const std::vector<std::string> drawn{
      "xxxx....x",  //
      "x.xx.....",  //
      "xxxx....x",  //
      "....xxxx.",  //
  };
  Grid<std::uint8_t> interior(drawn.size(), drawn[0].size());
  for (std::size_t row = 0; row < interior.rows; ++row)
    for (std::size_t col = 0; col < interior.cols; ++col)
      interior(row, col) = drawn[row][col] == 'x' ? 1 : 0;
  const auto cells_of = [&](std::int64_t small) {
    std::vector<std::int64_t> cells;
    for (const Room& room : find_rooms(interior, small)) cells.push_back(room.cells);
    return cells;
  };
  EXPECT_EQ(cells_of(1), (std::vector<std::int64_t>{11, 1, 1, 4}));
  EXPECT_EQ(cells_of(4), (std::vector<std::int64_t>{11, 4, 2}));
  EXPECT_EQ(cells_of(100), (std::vector<std::int64_t>{17}));
}

TEST(Rooms, have_no_larger_eigenvalue_than_they_say) {
  for (const auto& [name, plan] : adversarial_plans(40)) {
    for (const Room& room : find_rooms(plan.interior, 100)) {
      // The norms of J^k f grow no faster, and show the largest eigenvalue in the end.
      Grid<double> before(plan.interior.rows + 2, plan.interior.cols + 2);
      for (const CellRun& run : room.runs)
        for (std::size_t col = run.begin; col < run.end; ++col) before(run.row + 1, col + 1) = 1;
      Grid<double> after = before;
      double ratio = 0;
      for (int made = 0; made < 300; ++made) {
        double old_squares = 0;
        double squares = 0;
        for (const CellRun& run : room.runs) {
          for (std::size_t row = run.row + 1, col = run.begin + 1; col <= run.end; ++col) {
            after(row, col) = 0.25 * (before(row, col - 1) + before(row, col + 1) +
                                      before(row - 1, col) + before(row + 1, col));
            old_squares += before(row, col) * before(row, col);
            squares += after(row, col) * after(row, col);
          }
        }
        std::swap(before, after);
        if (old_squares > 0) ratio = std::sqrt(squares / old_squares);
      }
      EXPECT_LE(ratio, room.largest_eigenvalue * (1 + 1e-12)) << name;
    }
  }
}

TEST(FastForwardSolver, gives_the_iterate_of_jacobi_for_every_shape) {
  for (const auto& [name, plan] : awkward_plans())
    for (const double tolerance : {1e-4, 3.0, 1e-8})
      (void)expect_same_iterate(plan, {tolerance, 3000}, name);
  int jumped = 0;
  for (const std::size_t side : {61, 128, 256})
    for (const auto& [name, plan] : adversarial_plans(side))
      if (expect_same_iterate(plan, {}, name + " " + std::to_string(side))) ++jumped;
  EXPECT_GE(jumped, 8);  // the others have no room that takes 1000 iterations
}

TEST(FastForwardSolver, gives_the_iterate_of_jacobi_for_generated_plans) {
  int jumped = 0;
  for (std::size_t index = 0; index < 6; ++index) {
    if (expect_same_iterate(generate_floor_plan(1, index, 512), {}, std::to_string(index)))
      ++jumped;
  }
  EXPECT_EQ(jumped, 6);
}

TEST(FastForwardSolver, gives_the_iterate_of_jacobi_for_the_real_plans_in_a_fifth_of_the_sweeps) {
  if (!std::filesystem::exists(shared_plans))
    GTEST_SKIP() << "no real floor plans at " << shared_plans;
  const auto fast = make_fastforward_solver(available_isas().back());
  for (const char* id : {"10000", "1948", "7636"}) {
    const FloorPlan plan = load_floor_plan(shared_plans, id);
    EXPECT_TRUE(expect_same_iterate(plan, {}, id));
    const Solution solution = *fast->solve(plan, {}, {});
    EXPECT_LT(solution.sweeps, static_cast<double>(solution.iterations) / 5) << id;
  }
}

TEST(FastForwardSolver, finds_the_exact_iteration_for_every_tolerance) {
  const FloorPlan plan = room(90, 120);
  int jumped = 0;
  for (double tolerance = 1; tolerance > 1e-9; tolerance *= 0.31)
    if (expect_same_iterate(plan, {tolerance, 200000}, std::to_string(tolerance))) ++jumped;
  EXPECT_GE(jumped, 6);
  // So near to rounding that no end can be proven: the exact iteration is made.
  EXPECT_FALSE(expect_same_iterate(plan, {1e-11, 100000}, "1e-11"));
}

TEST(FastForwardSolver, stops_exactly_at_the_limit_of_iterations) {
  FloorPlan plan = random_plan(120, 140, 100, 3);
  for (std::size_t col = 0; col < 140; ++col) {
    plan.interior(60, col) = 0;  // two rooms of different size
    plan.domain(60, col) = 25;
    plan.interior(0, col) = 0;
    plan.domain(0, col) = 5;
  }
  for (const double tolerance : {0.0, 1e-7}) {
    for (const std::int64_t most : {1, 999, 1000, 1001, 1063, 1064, 1065, 3000, 4001}) {
      EXPECT_EQ(expect_same_iterate(plan, {tolerance, most}, std::to_string(most)), most >= 1000);
    }
  }
}

TEST(FastForwardSolver, makes_a_fixed_number_of_iterations) {
  for (const auto& [name, shape] : adversarial_plans(120))
    for (const std::int64_t most : {1001, 1500, 6000})
      for (const double tolerance : {0.0, 1e-9})
        (void)expect_same_iterate(shape, {tolerance, most}, name + " " + std::to_string(most));
  EXPECT_TRUE(expect_same_iterate(generate_floor_plan(2, 1, 400), {0, 4000}, "generated"));
}

TEST(FastForwardSolver, needs_no_start_at_zero) {
  for (const double start : {15.0, -40.0, 24.9999}) {
    FloorPlan plan = room(110, 90);
    std::mt19937 random(7);
    for (std::size_t cell = 0; cell < plan.domain.cells.size(); ++cell)
      if (plan.interior.cells[cell] != 0)
        plan.domain.cells[cell] = start + static_cast<double>(random() % 1000) / 500;
    (void)expect_same_iterate(plan, {}, std::to_string(start));
  }
}

TEST(FastForwardSolver, finds_the_room_that_ends_last_whichever_it_is) {
  // Rooms of about the same size, some of them warm at the start: the estimate of which takes
  // longest is wrong.
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    FloorPlan plan = drawn_plan(140, 300, [](std::size_t row, std::size_t col) {
      return row > 0 && row + 1 < 140 && col % 75 != 0 && col != 299;
    });
    for (std::size_t part = 0; part < 4; ++part) {
      const double start = static_cast<double>(random() % 25);
      for (std::size_t row = 0; row < 140; ++row)
        for (std::size_t col = 75 * part; col < 75 * part + 75; ++col)
          if (plan.interior(row, col) != 0) plan.domain(row, col) = start;
    }
    EXPECT_TRUE(expect_same_iterate(plan, {}, std::to_string(seed)));
  }
}

TEST(FastForwardSolver, gives_the_same_bits_for_every_instruction_set_and_whatever_came_before) {
  const auto used = make_fastforward_solver(available_isas().back());
  for (const Isa isa : available_isas()) {
    for (const auto& [rows, cols] : {std::pair{90, 120}, {90, 117}, {70, 33}, {141, 120}}) {
      const FloorPlan plan = room(static_cast<std::size_t>(rows), static_cast<std::size_t>(cols));
      const auto fresh = make_fastforward_solver(isa);
      expect_same_bits(*used, *fresh, plan, {1e-6, 20000}, std::to_string(cols));
    }
  }
}

TEST(FastForwardSolver, falls_back_where_rounding_would_show) {
  FloorPlan plan = room(90, 90);
  for (double& value : plan.domain.cells) value *= 1e6;
  EXPECT_FALSE(expect_same_iterate(plan, {100, 20000}, "hot"));
}

TEST(FastForwardSolver, is_off_in_proportion_to_the_largest_temperature) {
  const auto fast = make_fastforward_solver(available_isas().back());
  const auto exact = make_jacobi_solver(available_isas().back());
  for (const double largest : {25.0, 1200.0, 16000.0}) {
    FloorPlan plan = room(200, 200);
    const double factor = largest / largest_magnitude(plan.domain);
    for (double& value : plan.domain.cells) value *= factor;
    const Limits limits{1e-4 * largest / 25, 20000};
    const Solution found = *fast->solve(plan, limits, {});
    const Solution expected = *exact->solve(plan, limits, {});
    EXPECT_FALSE(found.fell_back) << largest;
    EXPECT_LE(farthest_apart(found.field.cells, expected.field.cells), 2e-12 * largest);
    EXPECT_DOUBLE_EQ(found.uncertainty, 4e-11 * largest);
  }
}

TEST(FastForwardSolver, abandons_a_plan_when_asked_to_and_tells_how_far_it_is) {
  std::stop_source stop;
  std::int64_t calls = 0;
  std::int64_t last = 0;
  const auto solver = make_fastforward_solver(available_isas().back());
  const FloorPlan plan = room(300, 300);
  EXPECT_TRUE(solver->solve(plan, {}, {stop.get_token(), [&](std::int64_t iterations, double) {
                                         ++calls;
                                         last = std::max(last, iterations);
                                       }}));
  EXPECT_GT(calls, 3);
  EXPECT_GT(last, 1000);
  EXPECT_FALSE(solver->solve(
      plan, {}, {stop.get_token(), [&](std::int64_t, double) { stop.request_stop(); }}));
  EXPECT_FALSE(solver->solve(plan, {}, {stop.get_token(), {}}));
}

}  // namespace
}  // namespace wallheat
