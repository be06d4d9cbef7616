#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/cell_statistics.hpp"
#include "wallheat/grid.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// Returns a value of a field; 0 if the cell is outside the grid. Row or column -1, which wraps
/// around to the largest number, is outside, too.
[[nodiscard]] inline double value_or_zero(const Grid<double>& field, std::size_t row,
                                          std::size_t col) {
  return row < field.rows && col < field.cols ? field(row, col) : 0;
}

/// Returns the largest magnitude of the values for which counts(cell) is true. Returns 0 if there
/// are no such values, and NaN if one of them is NaN.
template <class Counts>
double largest_magnitude(const Grid<double>& grid, Counts counts) {
  // Independent maxima can be vectorised. The compiler may not reorder a single chain of maxima.
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> largest{};
  const auto take = [&](std::size_t cell, std::size_t lane) {
    const double size = counts(cell) ? std::abs(grid.cells[cell]) : 0;
    largest[lane] = nan_max(largest[lane], size);
  };
  const std::size_t whole = grid.cells.size() / lanes * lanes;
  for (std::size_t cell = 0; cell < whole; cell += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) take(cell + lane, lane);
  for (std::size_t cell = whole; cell < grid.cells.size(); ++cell) take(cell, 0);
  double maximum = 0;
  for (const double size : largest) maximum = nan_max(maximum, size);
  return maximum;
}

/// Returns the largest magnitude of all values; NaN if one of them is NaN.
inline double largest_magnitude(const Grid<double>& grid) {
  return largest_magnitude(grid, [](std::size_t) { return true; });
}

/// Returns the 2-norm of one - other, two grids of the same shape: bit-identical to
/// numpy.sqrt(numpy.sum((one - other)**2)). (numpy.linalg.norm uses a BLAS, whose last digits
/// depend on the processor.)
[[nodiscard]] inline double l2_distance(const Grid<double>& one, const Grid<double>& other) {
  std::vector<double> squares(one.cells.size());
  for (std::size_t cell = 0; cell < squares.size(); ++cell) {
    const double change = one.cells[cell] - other.cells[cell];
    squares[cell] = change * change;
  }
  return std::sqrt(numpy_sum(squares));
}

/// Converts an error estimate in a norm to one per cell, in °C: for Norm::l2 the root mean square
/// over the interior cells, otherwise the estimate itself.
[[nodiscard]] inline double per_cell_estimate(double estimate, const FloorPlan& plan, Norm norm) {
  const auto cells = static_cast<double>(std::max<std::int64_t>(count_interior(plan), 1));
  return norm == Norm::l2 ? estimate / std::sqrt(cells) : estimate;
}

}  // namespace wallheat
