#pragma once

#include <cmath>
#include <vector>

#include "wallheat/grid.hpp"
#include "wallheat/statistics.hpp"

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

}  // namespace wallheat
