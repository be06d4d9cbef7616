#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "wallheat/floor_plan.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

struct NamedPlan {
  std::string name;
  FloorPlan plan;
};

/// Returns a plan whose cells are interior with a probability of `percent`; the others are walls of
/// 5 or 25 °C. With 100 the interior touches every edge of the grid.
inline FloorPlan random_plan(std::size_t rows, std::size_t cols, unsigned percent, unsigned seed) {
  std::mt19937 random(seed);
  FloorPlan plan{Grid<double>(rows, cols), Grid<std::uint8_t>(rows, cols)};
  for (std::size_t i = 0; i < rows * cols; ++i) {
    const bool interior = random() % 100 < percent;
    plan.interior.cells[i] = interior ? 1 : 0;
    if (!interior) plan.domain.cells[i] = random() % 2 == 0 ? 5 : 25;
  }
  return plan;
}

/// Returns a random plan with heat sources of both signs, in interior and in fixed cells.
inline FloorPlan random_plan_with_sources(std::mt19937& random) {
  FloorPlan plan = random_plan(1 + random() % 60, 1 + random() % 90,
                               static_cast<unsigned>(random() % 101), random());
  plan.source = Grid<double>(plan.domain.rows, plan.domain.cols);
  for (double& value : plan.source.cells)
    if (random() % 3 == 0) value = static_cast<double>(random() % 20001) / 7 - 1000;
  return plan;
}

/// Returns a plan with one large room, surrounded by a warm wall, with a cold pillar.
inline FloorPlan room(std::size_t rows, std::size_t cols) {
  FloorPlan plan{Grid<double>(rows, cols, 25.0), Grid<std::uint8_t>(rows, cols)};
  for (std::size_t row = 1; row + 1 < rows; ++row) {
    for (std::size_t col = 1; col + 1 < cols; ++col) {
      plan.interior(row, col) = 1;
      plan.domain(row, col) = 0;
    }
  }
  plan.interior(rows / 2, cols / 3) = 0;
  plan.domain(rows / 2, cols / 3) = 5;
  return plan;
}

/// Returns plans with shapes that are hard for a vectorised or tiled solver.
inline std::vector<NamedPlan> awkward_plans() {
  std::vector<NamedPlan> plans;
  const auto add = [&](const std::string& name, FloorPlan plan) {
    plans.push_back({name, std::move(plan)});
  };
  FloorPlan warm_start = random_plan(9, 9, 100, 1);
  warm_start.domain.cells.assign(81, 20.0);
  add("one cell", FloorPlan{Grid<double>(1, 1, 3.0), Grid<std::uint8_t>(1, 1, 1)});
  add("all wall", random_plan(16, 16, 0, 2));
  add("all interior, warm at the start", std::move(warm_start));
  for (std::size_t width = 1; width <= 17; ++width) {
    add("width " + std::to_string(width),
        random_plan(11, width, 70, 100 + static_cast<unsigned>(width)));
  }
  add("tall", random_plan(300, 3, 80, 3));
  add("wide", random_plan(3, 300, 80, 4));
  add("sparse", random_plan(40, 70, 3, 5));
  add("dense", random_plan(65, 63, 97, 6));
  add("a room", room(48, 40));
  FloorPlan on_edge = room(30, 30);
  for (std::size_t row = 5; row < 20; ++row) {
    on_edge.interior(row, 0) = 1;
    on_edge.domain(row, 0) = 0;
    on_edge.interior(29, row) = 1;
    on_edge.domain(29, row) = 0;
  }
  add("a room on the edge", std::move(on_edge));
  return plans;
}

/// A plan, with the parameters that end its iteration.
struct IterationCase {
  std::string name;
  FloorPlan plan;
  SolveParameters limits;
};

/// Returns cases for which every back end of jacobi must be bit-identical to the reference: awkward
/// shapes, heat sources, norms, and all ways in which an iteration ends, after at most `most`
/// iterations.
inline std::vector<IterationCase> iteration_cases(std::int64_t most) {
  std::vector<IterationCase> cases;
  for (const auto& [name, plan] : awkward_plans())
    for (const double tolerance : {1e-4, 3.0})
      cases.push_back({name + ", tolerance " + std::to_string(tolerance), plan, {tolerance, most}});
  for (std::int64_t limit = 1; limit < std::min<std::int64_t>(most, 200);
       limit += limit < 20 ? 1 : 37)
    cases.push_back({std::to_string(limit) + " iterations", room(40, 33), {1e-9, limit}});
  // Tolerances from large ones to ones below the rounding errors: the first delta below the
  // tolerance must be found, whatever the check interval is.
  const double least = most < 1000 ? 1e-3 : 1e-17;  // smaller tolerances end at the limit
  for (double tolerance = 10; tolerance > least; tolerance *= 0.31)
    cases.push_back(
        {"tolerance 1e" + std::to_string(std::log10(tolerance)), room(26, 21), {tolerance, most}});
  cases.push_back({"tolerance 0", room(26, 21), {0, most}});
  std::mt19937 random(5);
  for (int number = 0; number < 24; ++number) {
    FloorPlan plan = random_plan_with_sources(random);
    if (number % 4 == 0) plan.source = {};
    cases.push_back({"random, " + std::to_string(number),
                     std::move(plan),
                     {.tolerance = std::array{1e-4, 1e-2, 20.0, 0.0}[random() % 4],
                      .max_iterations = 1 + static_cast<std::int64_t>(random()) %
                                                std::min<std::int64_t>(most, 250),
                      .norm = number % 2 == 0 ? Norm::l2 : Norm::max,
                      .spacing = 0.25 + static_cast<double>(random() % 100) / 77}});
  }
  return cases;
}

}  // namespace wallheat
