#pragma once

#include <cstddef>
#include <cstdint>

#include "solve/gpu/tile.hpp"

// The streaming kernel, for plans too large to stay on the chip: a block loads a region of tiles
// from device memory, makes a few sweeps on it, and stores the tiles in the middle. What is wrong
// at the region's rim, for want of neighbours, creeps inwards by one cell a sweep and never reaches
// those.

namespace wallheat::gpu {

constexpr int most_sweeps = 8;  ///< of one launch
constexpr int rim_tile_rows = most_sweeps / streamed_tile.rows;
constexpr int rim_tile_cols = most_sweeps / streamed_tile.cols;
static_assert(most_sweeps % streamed_tile.rows == 0 && most_sweeps % streamed_tile.cols == 0);

/// A field in device memory, padded to whole tiles.
struct StreamedPlan {
  std::int32_t tile_rows_count = 0;  ///< shape of the grid of tiles
  std::int32_t tile_cols_count = 0;
  const CellMask* interior = nullptr;  ///< (tile_rows_count, tile_cols_count)
  /// (regions): the first tile, row * tile_cols_count + col, of those that a block stores.
  const std::int32_t* regions = nullptr;
  /// Shape (tile_rows_count * rows of a tile, tile_cols_count * columns of a tile), °C.
  const double* from = nullptr;
  const double* terms = nullptr;  ///< of a source (source_terms), the same shape, or none
  double* to = nullptr;           ///< the same shape; only tiles with interior cells are written
  std::int32_t sweeps = 0;        ///< from 1 to most_sweeps
};

/// How many tiles a block of region_rows x region_cols threads stores.
struct RegionCore {
  std::size_t rows;
  std::size_t cols;
};
constexpr RegionCore region_core(int region_rows, int region_cols) {
  return {static_cast<std::size_t>(region_rows - 2 * rim_tile_rows),
          static_cast<std::size_t>(region_cols - 2 * rim_tile_cols)};
}

/// The life of one thread of a block. A Group is a resident kernel's, but of one block only, with
/// slots numbered row by row over the region, and has region() besides: the block's number. Returns
/// the largest change that the last sweep made to a cell it stored.
template <int region_rows, int region_cols, bool looks_at_delta, bool has_source, class Group>
WALLHEAT_HOST_DEVICE double sweep_region(Group& group, const StreamedPlan& plan) {
  constexpr int tile_rows = streamed_tile.rows;
  constexpr int tile_cols = streamed_tile.cols;
  constexpr int tile_cells = streamed_tile.cells();
  constexpr int inbox_pairs = streamed_tile.inbox_pairs();
  const int slot = group.slot();
  const int in_row = slot / region_cols;
  const int in_col = slot % region_cols;
  const std::int32_t first = plan.regions[group.region()];
  const std::int32_t row = first / plan.tile_cols_count + in_row - rim_tile_rows;
  const std::int32_t col = first % plan.tile_cols_count + in_col - rim_tile_cols;
  const bool exists =
      row >= 0 && row < plan.tile_rows_count && col >= 0 && col < plan.tile_cols_count;
  const auto interior = static_cast<KernelMask<streamed_tile>>(
      exists ? plan.interior[row * plan.tile_cols_count + col] : 0);
  const std::size_t pitch = static_cast<std::size_t>(plan.tile_cols_count) * tile_cols;
  const std::size_t corner = exists ? static_cast<std::size_t>(row) * tile_rows * pitch +
                                          static_cast<std::size_t>(col) * tile_cols
                                    : 0;

  double cells[tile_cells];
  WALLHEAT_UNROLL
  for (int cell = 0; cell < tile_cells; ++cell)
    cells[cell] = exists ? plan.from[corner + cell / tile_cols * pitch + cell % tile_cols] : 0.0;
  double terms[has_source ? tile_cells : 1];
  if constexpr (has_source) {
    WALLHEAT_UNROLL
    for (int cell = 0; cell < tile_cells; ++cell)
      terms[cell] = exists ? plan.terms[corner + cell / tile_cols * pitch + cell % tile_cols] : 0.0;
  }
  const auto with_source = [&](double sum, int cell) {
    if constexpr (has_source) return sum + terms[cell];
    return sum;
  };
  // At the region's rim nobody gives anything, and it does not matter what is found there.
  for (int place = 0; place < inbox_pairs; ++place) {
    group.inbox_of(slot)[group.offset(0, place)] = Pair{0, 0};
    group.inbox_of(slot)[group.offset(1, place)] = Pair{0, 0};
  }
  group.sync();
  const auto received = [&](int buffer) {
    return [&group, slot, buffer](int place) {
      return group.inbox_of(slot)[group.offset(buffer, place)];
    };
  };
  const auto give = [&](int buffer) {
    give_edges<streamed_tile>(cells, [&](Side side, int place, const auto& edge) {
      const auto give_to = [&](int neighbour) {
        for (const Pair& pair : edge)
          group.inbox_of(neighbour)[group.offset(buffer, place++)] = pair;
      };
      if (side == left && in_col > 0) give_to(slot - 1);
      if (side == right && in_col + 1 < region_cols) give_to(slot + 1);
      if (side == up && in_row > 0) give_to(slot - region_cols);
      if (side == down && in_row + 1 < region_rows) give_to(slot + region_cols);
    });
  };
  int buffer = 0;
  for (int remaining = plan.sweeps - 1; remaining > 0; --remaining) {
    give(buffer);
    group.sync();
    sweep<streamed_tile, false>(cells, interior, received(buffer), with_source);
    buffer ^= 1;
  }
  give(buffer);
  group.sync();
  const double change =
      sweep<streamed_tile, looks_at_delta>(cells, interior, received(buffer), with_source);

  const bool in_core = in_row >= rim_tile_rows && in_row < region_rows - rim_tile_rows &&
                       in_col >= rim_tile_cols && in_col < region_cols - rim_tile_cols;
  if (!in_core || interior == 0) return 0;
  WALLHEAT_UNROLL
  for (int cell = 0; cell < tile_cells; ++cell)
    plan.to[corner + cell / tile_cols * pitch + cell % tile_cols] = cells[cell];
  return change;
}

}  // namespace wallheat::gpu
