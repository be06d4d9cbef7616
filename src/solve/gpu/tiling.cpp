#include "solve/gpu/tiling.hpp"

#include <algorithm>

namespace wallheat::gpu {
namespace {

std::size_t tiles_along(std::size_t cells, int tile) {
  const auto size = static_cast<std::size_t>(tile);
  return (cells + size - 1) / size;
}

}  // namespace

TileMask::TileMask(const Grid<std::uint8_t>& plan_interior, TileShape tile_shape)
    : shape(tile_shape),
      rows(tiles_along(plan_interior.rows, tile_shape.rows)),
      cols(tiles_along(plan_interior.cols, tile_shape.cols)),
      interior(rows * cols) {
  const auto tile_rows = static_cast<std::size_t>(tile_shape.rows);
  const auto tile_cols = static_cast<std::size_t>(tile_shape.cols);
  for (std::size_t row = 0; row < plan_interior.rows; ++row) {
    const std::uint8_t* cells = &plan_interior(row, 0);
    CellMask* words = &interior[row / tile_rows * cols];
    const std::size_t first_bit = row % tile_rows * tile_cols;
    for (std::size_t col = 0; col < plan_interior.cols; ++col) {
      const auto bit = static_cast<CellMask>(cells[col] != 0);
      words[col / tile_cols] |= bit << (first_bit + col % tile_cols);
    }
  }
}

Tiling::Tiling(const TileMask& mask) : shape_(mask.shape) {
  std::vector<std::int32_t> numbers(mask.interior.size(), no_tile);
  std::int32_t count = 0;
  for (std::size_t place = 0; place < numbers.size(); ++place)
    if (mask.interior[place] != 0) numbers[place] = count++;
  tiles_.reserve(static_cast<std::size_t>(count));
  for (std::size_t place = 0; place < numbers.size(); ++place) {
    if (numbers[place] == no_tile) continue;
    const std::size_t row = place / mask.cols;
    const std::size_t col = place % mask.cols;
    Tile tile{row * static_cast<std::size_t>(shape_.rows),
              col * static_cast<std::size_t>(shape_.cols),
              mask.interior[place],
              {}};
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
  const std::size_t a_block = std::max<std::size_t>((tiles_.size() + blocks_ - 1) / blocks_, 1);
  threads_ = (a_block + warp - 1) / warp * warp;
  slot_of_.resize(tiles_.size());
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile)
    slot_of_[tile] = tile / a_block * threads_ + tile % a_block;
  return static_cast<int>(threads_);
}

void Tiling::load_interior(CellMask* interior) const {
  std::fill_n(interior, slots(), CellMask{0});
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile)
    interior[slot_of_[tile]] = tiles_[tile].interior;
}

void Tiling::load_neighbours(std::int32_t* neighbours) const {
  std::fill_n(neighbours, slots() * sides, no_tile);
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
    for (std::size_t side = 0; side < sides; ++side) {
      const std::int32_t neighbour = tiles_[tile].neighbours[side];
      if (neighbour != no_tile)
        neighbours[slot_of_[tile] * sides + side] =
            static_cast<std::int32_t>(slot_of_[static_cast<std::size_t>(neighbour)]);
    }
  }
}

template <class Copy>
void Tiling::for_each_row(std::size_t rows, std::size_t cols, Copy copy) const {
  const auto tile_rows = static_cast<std::size_t>(shape_.rows);
  const auto tile_cols = static_cast<std::size_t>(shape_.cols);
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
    const std::size_t first_row = tiles_[tile].row;
    const std::size_t col = tiles_[tile].col;
    const std::size_t length = std::min(tile_cols, cols - col);
    for (std::size_t row = 0; row < std::min(tile_rows, rows - first_row); ++row)
      copy(first_row + row, col, (slot_of_[tile] * tile_rows + row) * tile_cols, length);
  }
}

void Tiling::load_cells(const Grid<double>& field, double* cells) const {
  std::fill_n(cells, slots() * static_cast<std::size_t>(shape_.cells()), 0.0);
  for_each_row(field.rows, field.cols,
               [&](std::size_t row, std::size_t col, std::size_t place, std::size_t length) {
                 std::copy_n(&field(row, col), length, cells + place);
               });
}

void Tiling::load_inboxes(const Grid<double>& field, Pair* inboxes) const {
  const auto tile_rows = static_cast<std::size_t>(shape_.rows);
  const auto tile_cols = static_cast<std::size_t>(shape_.cols);
  const auto inbox_pairs = static_cast<std::size_t>(shape_.inbox_pairs());
  const auto from_right = static_cast<std::size_t>(shape_.from_right());
  const auto from_up = static_cast<std::size_t>(shape_.from_up());
  const auto from_down = static_cast<std::size_t>(shape_.from_down());
  std::fill_n(inboxes, slots() * inbox_pairs, Pair{0, 0});
  // Row and column -1 wrap to the largest number, which is outside, too.
  const auto at = [&](std::size_t row, std::size_t col) {
    return row < field.rows && col < field.cols ? field(row, col) : 0.0;
  };
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
    const auto& [row, col, interior, neighbours] = tiles_[tile];
    Pair* inbox = inboxes + slot_of_[tile] * inbox_pairs;
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
  for_each_row(field.rows, field.cols,
               [&](std::size_t row, std::size_t col, std::size_t place, std::size_t length) {
                 std::copy_n(cells + place, length, &field(row, col));
               });
}

}  // namespace wallheat::gpu
