#pragma once

#include <cstddef>

#include "support/shapes.hpp"

namespace wallheat {

/// A plan from a rule: interior where inside(row, col), else a wall of 5 or 25 °C by turns.
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

/// The shapes at which multigrid, or an expansion by modes, may go wrong.
inline std::vector<NamedPlan> adversarial_plans(std::size_t side) {
  const auto inner = [=](std::size_t i) { return i > 0 && i + 1 < side; };
  return {
      {"corridors of a cell",
       drawn_plan(side, side, [=](auto r, auto c) { return inner(r) && inner(c) && r % 2 == 1; })},
      {"shafts of a cell",
       drawn_plan(side, side, [=](auto r, auto c) { return inner(r) && inner(c) && c % 2 == 0; })},
      {"checkerboard", drawn_plan(side, side, [=](auto r, auto c) { return (r + c) % 2 == 0; })},
      {"comb", drawn_plan(side, side,
                          [=](auto r, auto c) {
                            return inner(r) && inner(c) && (c % 2 == 1 || r + 5 > side);
                          })},
      {"wide comb", drawn_plan(side, side,
                               [=](auto r, auto c) {
                                 return inner(r) && inner(c) && (c % 4 != 0 || r + 5 > side);
                               })},
      {"pinholes", drawn_plan(side, side,
                              [=](auto r, auto c) {
                                const bool wall = r % 16 == 0 || c % 16 == 0;
                                const bool hole = r % 16 == 7 || c % 16 == 7;
                                return inner(r) && inner(c) && (!wall || hole);
                              })},
      {"serpentine", drawn_plan(side, side,
                                [=](auto r, auto c) {
                                  const bool turn = r % 8 == 0 ? c + 3 > side : c < 3;
                                  return inner(r) && inner(c) && (r % 4 != 0 || turn);
                                })},
      {"narrow serpentine", drawn_plan(side, side,
                                       [=](auto r, auto c) {
                                         const bool turn = r % 4 == 0 ? c + 3 > side : c < 2;
                                         return inner(r) && inner(c) && (r % 2 != 0 || turn);
                                       })},
      {"random 60 %", random_plan(side, side, 60, 21)},
      {"random 75 %", random_plan(side, side, 75, 22)},
      {"random 90 %", random_plan(side, side, 90, 23)},
      {"open", random_plan(side, side, 100, 24)},
      {"a room with a pillar", room(side, side)},
      {"two rooms that differ in size",
       drawn_plan(side, side,
                  [=](auto r, auto c) { return inner(r) && inner(c) && c != side / 3; })},
  };
}

}  // namespace wallheat
