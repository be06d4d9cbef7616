#pragma once

#include <cstdint>
#include <vector>

#include "solve/fastforward/sweeps.hpp"
#include "wallheat/grid.hpp"

namespace wallheat {

/// Where the cells of a grid lie in a field of the fast-forward solver, which has a margin of zeros
/// around them.
struct RoomLayout {
  explicit RoomLayout(const GridShape& grid)
      : shape(grid), stride((grid.cols + room_block - 1) / room_block * room_block + room_block) {}

  [[nodiscard]] std::size_t cell(std::size_t row, std::size_t col) const {
    return (row + margin) * stride + room_block + col;
  }
  [[nodiscard]] std::size_t size() const {
    return (shape.rows + 2 * margin) * stride + 2 * room_block;
  }

  static constexpr std::size_t margin = 2;  // rows: as many as two steps at once look ahead
  GridShape shape;
  std::size_t stride;
};

/// Interior cells of a row without a wall between them.
struct CellRun {
  std::size_t row;
  std::size_t begin;  ///< first column
  std::size_t end;    ///< the column after the last
};

/// Cells that do not depend on those of any other room: one room, or many small ones.
struct Room {
  std::vector<CellRun> runs;  ///< row by row
  std::int64_t cells = 0;
  std::vector<RoomSegment> segments;
  std::vector<std::uint32_t> begin;
  std::vector<PairSegment> pair_segments;
  std::vector<std::uint16_t> pair_masks;
  std::vector<std::uint32_t> pair_begin;

  [[nodiscard]] RoomRows rows(const RoomLayout& layout) const {
    return {segments.data(), begin.data(), begin.size() - 1,
            static_cast<std::ptrdiff_t>(layout.stride)};
  }
  [[nodiscard]] RoomPairs pairs(const RoomLayout& layout) const {
    return {pair_segments.data(), pair_masks.data(), pair_begin.data(), pair_begin.size() - 1,
            static_cast<std::ptrdiff_t>(layout.stride)};
  }
};

/// Divides the interior cells into rooms, between which there are walls; those of fewer than
/// `small` cells make one together, the last.
[[nodiscard]] std::vector<Room> find_rooms(const Grid<std::uint8_t>& interior,
                                           const RoomLayout& layout, std::int64_t small);

/// About how many iterations it takes until the largest change is below `tolerance`, if all cells
/// begin at a distance of `amplitude` from their steady state: from some iterations on a grid with
/// a quarter of the resolution.
[[nodiscard]] double estimate_iterations(const Room& room, double amplitude, double tolerance);

}  // namespace wallheat
