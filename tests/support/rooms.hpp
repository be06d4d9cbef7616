#pragma once

#include <cstddef>

#include "support/shapes.hpp"

namespace wallheat {

/// Returns a plan whose interior cells are those for which inside(row, col) is true. The others are
/// walls, in squares of 8 x 8 cells that alternate between 5 and 25 °C.
template <class Inside>
FloorPlan drawn_plan(std::size_t rows, std::size_t cols, Inside inside) {
  FloorPlan plan{Grid<double>(rows, cols), Grid<std::uint8_t>(rows, cols)};
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols; ++col) {
      plan.interior(row, col) = inside(row, col) ? 1 : 0;
      if (!inside(row, col)) plan.domain(row, col) = (row / 8 + col / 8) % 2 == 0 ? 5 : 25;
    }
  }
  return plan;
}

/// Returns plans with shapes that are hard for multigrid or for an expansion by modes.
inline std::vector<NamedPlan> adversarial_plans(std::size_t side) {
  using Place = std::size_t;
  std::vector<NamedPlan> plans{
      {"checkerboard", drawn_plan(side, side, [](Place r, Place c) { return (r + c) % 2 == 0; })},
      {"random 60 %", random_plan(side, side, 60, 21)},
      {"random 75 %", random_plan(side, side, 75, 22)},
      {"random 90 %", random_plan(side, side, 90, 23)},
      {"open", random_plan(side, side, 100, 24)},
      {"a room with a pillar", room(side, side)}};
  // The following plans are surrounded by walls.
  const auto add = [&](const char* name, auto inside) {
    const auto inner = [=](Place i) { return i > 0 && i + 1 < side; };
    plans.push_back({name, drawn_plan(side, side, [=](Place r, Place c) {
                       return inner(r) && inner(c) && inside(r, c);
                     })});
  };
  add("corridors of a cell", [](Place r, Place) { return r % 2 == 1; });
  add("shafts of a cell", [](Place, Place c) { return c % 2 == 0; });
  add("comb", [=](Place r, Place c) { return c % 2 == 1 || r + 5 > side; });
  add("wide comb", [=](Place r, Place c) { return c % 4 != 0 || r + 5 > side; });
  add("pinholes",
      [](Place r, Place c) { return (r % 16 != 0 && c % 16 != 0) || r % 16 == 7 || c % 16 == 7; });
  add("serpentine",
      [=](Place r, Place c) { return r % 4 != 0 || (r % 8 == 0 ? c + 3 > side : c < 3); });
  add("narrow serpentine",
      [=](Place r, Place c) { return r % 2 != 0 || (r % 4 == 0 ? c + 3 > side : c < 2); });
  add("two rooms that differ in size", [=](Place, Place c) { return c != side / 3; });
  return plans;
}

}  // namespace wallheat
