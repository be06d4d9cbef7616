#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "core/larger.hpp"
#include "wallheat/grid.hpp"

namespace wallheat {

/// The largest magnitude of the values of which counts(cell) is true; 0 where there are none, NaN
/// where one is.
template <class Counts>
double largest_magnitude(const Grid<double>& grid, Counts counts) {
  constexpr std::size_t lanes = 8;  // side by side, as the compiler may not reorder a maximum
  std::array<double, lanes> largest{};
  const auto take = [&](std::size_t cell, std::size_t lane) {
    const double size = counts(cell) ? std::abs(grid.cells[cell]) : 0;
    largest[lane] = larger(largest[lane], size);
  };
  const std::size_t whole = grid.cells.size() / lanes * lanes;
  for (std::size_t cell = 0; cell < whole; cell += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) take(cell + lane, lane);
  for (std::size_t cell = whole; cell < grid.cells.size(); ++cell) take(cell, 0);
  double most = 0;
  for (const double size : largest) most = larger(most, size);
  return most;
}

inline double largest_magnitude(const Grid<double>& grid) {
  return largest_magnitude(grid, [](std::size_t) { return true; });
}

}  // namespace wallheat
