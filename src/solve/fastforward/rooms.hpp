#pragma once

#include <cstdint>
#include <vector>

#include "wallheat/grid.hpp"

namespace wallheat {

/// Interior cells of a row without a wall between them.
struct CellRun {
  std::size_t row;
  std::size_t begin;  ///< first column
  std::size_t end;    ///< the column after the last
};

/// Cells that do not depend on those of any other room: one room, or many small ones.
struct Room {
  std::vector<CellRun> runs;  ///< row by row
  std::size_t left = 0;       ///< its first column
  std::size_t right = 0;      ///< the column after its last
  std::int64_t cells = 0;
  double largest_eigenvalue = 0;  ///< of J, a quarter of the neighbours' sum; an upper bound
};

/// Divides the interior cells into rooms, between which there are walls; those of fewer than
/// `small` cells make one together, the last.
[[nodiscard]] std::vector<Room> find_rooms(const Grid<std::uint8_t>& interior, std::int64_t small);

/// Several as one.
[[nodiscard]] Room united(const std::vector<Room>& rooms);

/// About how many iterations it takes until the largest change is below `tolerance`, if all cells
/// begin at a distance of `amplitude` from their steady state: from some iterations on a grid with
/// a quarter of the resolution.
[[nodiscard]] double estimate_iterations(const Room& room, double amplitude, double tolerance);

}  // namespace wallheat
