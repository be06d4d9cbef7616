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

/// A value of a field, which beyond its edges is 0. Row and column -1 wrap to the largest number,
/// and so are beyond them, too.
[[nodiscard]] inline double value_or_zero(const Grid<double>& field, std::size_t row,
                                          std::size_t col) {
  return row < field.rows && col < field.cols ? field(row, col) : 0;
}

/// The largest magnitude of the values of which counts(cell) is true; 0 if there are none, NaN if
/// one is.
template <class Counts>
double largest_magnitude(const Grid<double>& grid, Counts counts) {
  constexpr std::size_t lanes = 8;  // side by side, as the compiler may not reorder a maximum
  std::array<double, lanes> largest{};
  const auto take = [&](std::size_t cell, std::size_t lane) {
    const double size = counts(cell) ? std::abs(grid.cells[cell]) : 0;
    largest[lane] = nan_max(largest[lane], size);
  };
  const std::size_t whole = grid.cells.size() / lanes * lanes;
  for (std::size_t cell = 0; cell < whole; cell += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) take(cell + lane, lane);
  for (std::size_t cell = whole; cell < grid.cells.size(); ++cell) take(cell, 0);
  double most = 0;
  for (const double size : largest) most = nan_max(most, size);
  return most;
}

inline double largest_magnitude(const Grid<double>& grid) {
  return largest_magnitude(grid, [](std::size_t) { return true; });
}

/// The 2-norm of one - other, two grids of the same shape: numpy.sqrt(numpy.sum((one - other)**2)),
/// to the last bit. (numpy.linalg.norm leaves the sum to a library for the processor; its last
/// digits are not the same everywhere.)
[[nodiscard]] inline double l2_distance(const Grid<double>& one, const Grid<double>& other) {
  std::vector<double> squares(one.cells.size());
  for (std::size_t cell = 0; cell < squares.size(); ++cell) {
    const double change = one.cells[cell] - other.cells[cell];
    squares[cell] = change * change;
  }
  return std::sqrt(numpy_sum(squares));
}

/// What an estimate by a norm of delta says of a single cell, in °C: by Norm::l2 the root mean
/// square over interior cells.
[[nodiscard]] inline double per_cell_estimate(double estimate, const FloorPlan& plan, Norm norm) {
  const auto cells = static_cast<double>(std::max<std::int64_t>(count_interior(plan), 1));
  return norm == Norm::l2 ? estimate / std::sqrt(cells) : estimate;
}

}  // namespace wallheat
