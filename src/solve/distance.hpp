#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/interior_values.hpp"
#include "wallheat/grid.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// The 2-norm of one - other, two grids of the same shape: numpy.sqrt(numpy.sum((one - other)**2)),
/// to the last bit. (numpy.linalg.norm leaves the sum to a library for the processor; its last
/// digits are not the same everywhere.)
[[nodiscard]] inline double distance(const Grid<double>& one, const Grid<double>& other) {
  std::vector<double> squares(one.cells.size());
  for (std::size_t cell = 0; cell < squares.size(); ++cell) {
    const double change = one.cells[cell] - other.cells[cell];
    squares[cell] = change * change;
  }
  return std::sqrt(numpy_sum(squares));
}

/// What an estimate by a norm of delta says of a single cell, in °C: by Norm::l2 the root mean
/// square over interior cells.
[[nodiscard]] inline double estimate_of_a_cell(double estimate, const FloorPlan& plan, Norm norm) {
  const auto cells = static_cast<double>(std::max<std::int64_t>(count_interior(plan), 1));
  return norm == Norm::l2 ? estimate / std::sqrt(cells) : estimate;
}

}  // namespace wallheat
