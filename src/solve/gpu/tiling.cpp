#include "solve/gpu/tiling.hpp"

#include <algorithm>

namespace wallheat::gpu {
namespace {

std::size_t tiles_along(std::size_t cells, std::size_t tile) { return (cells + tile - 1) / tile; }

}  // namespace

TileMask::TileMask(const Grid<std::uint8_t>& plan_interior)
    : rows(tiles_along(plan_interior.rows, tile_rows)),
      cols(tiles_along(plan_interior.cols, tile_cols)),
      interior(rows * cols) {
  for (std::size_t row = 0; row < plan_interior.rows; ++row) {
    const std::uint8_t* cells = &plan_interior(row, 0);
    std::uint32_t* words = &interior[row / tile_rows * cols];
    const std::size_t first_bit = row % tile_rows * tile_cols;
    for (std::size_t col = 0; col < plan_interior.cols; ++col) {
      const auto bit = static_cast<std::uint32_t>(cells[col] != 0);
      words[col / tile_cols] |= bit << (first_bit + col % tile_cols);
    }
  }
}

Tiling::Tiling(const TileMask& mask) {
  std::vector<std::int32_t> numbers(mask.interior.size(), no_tile);
  std::int32_t count = 0;
  for (std::size_t place = 0; place < numbers.size(); ++place)
    if (mask.interior[place] != 0) numbers[place] = count++;
  tiles_.reserve(static_cast<std::size_t>(count));
  for (std::size_t place = 0; place < numbers.size(); ++place) {
    if (numbers[place] == no_tile) continue;
    const std::size_t row = place / mask.cols;
    const std::size_t col = place % mask.cols;
    Tile tile{row * tile_rows, col * tile_cols, mask.interior[place], {}};
    tile.neighbours[left] = col > 0 ? numbers[place - 1] : no_tile;
    tile.neighbours[right] = col + 1 < mask.cols ? numbers[place + 1] : no_tile;
    tile.neighbours[up] = row > 0 ? numbers[place - mask.cols] : no_tile;
    tile.neighbours[down] = row + 1 < mask.rows ? numbers[place + mask.cols] : no_tile;
    tiles_.push_back(tile);
  }
}

int Tiling::deal(int blocks) {
  constexpr std::size_t warp = 32;
  blocks_ = static_cast<std::size_t>(blocks);
  tiles_a_block_ = std::max<std::size_t>((tiles_.size() + blocks_ - 1) / blocks_, 1);
  threads_ = (tiles_a_block_ + warp - 1) / warp * warp;
  return static_cast<int>(threads_);
}

void Tiling::load_interior(std::uint32_t* interior) const {
  std::fill_n(interior, slots(), 0U);
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile)
    interior[slot_of(tile)] = tiles_[tile].interior;
}

void Tiling::load_neighbours(std::int32_t* neighbours) const {
  std::fill_n(neighbours, slots() * sides, no_tile);
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
    for (std::size_t side = 0; side < sides; ++side) {
      const std::int32_t neighbour = tiles_[tile].neighbours[side];
      if (neighbour != no_tile)
        neighbours[slot_of(tile) * sides + side] =
            static_cast<std::int32_t>(slot_of(static_cast<std::size_t>(neighbour)));
    }
  }
}

void Tiling::load_cells(const Grid<double>& field, double* cells) const {
  std::fill_n(cells, slots() * tile_cells, 0.0);
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
    const auto& [first_row, first_col, interior, neighbours] = tiles_[tile];
    double* to = cells + slot_of(tile) * tile_cells;
    const std::size_t rows = std::min<std::size_t>(tile_rows, field.rows - first_row);
    const std::size_t cols = std::min<std::size_t>(tile_cols, field.cols - first_col);
    for (std::size_t row = 0; row < rows; ++row)
      std::copy_n(&field(first_row + row, first_col), cols, to + row * tile_cols);
  }
}

void Tiling::load_inboxes(const Grid<double>& field, Pair* inboxes) const {
  std::fill_n(inboxes, slots() * inbox_pairs, Pair{0, 0});
  // Row and column -1 wrap to the largest number, which is outside, too.
  const auto at = [&](std::size_t row, std::size_t col) {
    return row < field.rows && col < field.cols ? field(row, col) : 0.0;
  };
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
    const auto& [row, col, interior, neighbours] = tiles_[tile];
    Pair* inbox = inboxes + slot_of(tile) * inbox_pairs;
    for (std::size_t pair = 0; pair < tile_rows / 2; ++pair) {
      const std::size_t first = row + 2 * pair;
      inbox[from_left + pair] = {at(first, col - 1), at(first + 1, col - 1)};
      inbox[from_right + pair] = {at(first, col + tile_cols), at(first + 1, col + tile_cols)};
    }
    for (std::size_t pair = 0; pair < tile_cols / 2; ++pair) {
      const std::size_t first = col + 2 * pair;
      inbox[from_up + pair] = {at(row - 1, first), at(row - 1, first + 1)};
      inbox[from_down + pair] = {at(row + tile_rows, first), at(row + tile_rows, first + 1)};
    }
  }
}

void Tiling::store_cells(const double* cells, Grid<double>& field) const {
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
    const auto& [first_row, first_col, interior, neighbours] = tiles_[tile];
    const double* from = cells + slot_of(tile) * tile_cells;
    const std::size_t rows = std::min<std::size_t>(tile_rows, field.rows - first_row);
    const std::size_t cols = std::min<std::size_t>(tile_cols, field.cols - first_col);
    for (std::size_t row = 0; row < rows; ++row)
      std::copy_n(from + row * tile_cols, cols, &field(first_row + row, first_col));
  }
}

}  // namespace wallheat::gpu
