#include "solve/gpu/tiling.hpp"

#include <algorithm>

#include "solve/norms.hpp"

namespace wallheat::gpu {
namespace {

constexpr auto tile_rows = static_cast<std::size_t>(cluster_tile.rows);
constexpr auto tile_cols = static_cast<std::size_t>(cluster_tile.cols);
constexpr auto tile_cells = static_cast<std::size_t>(cluster_tile.cells());
constexpr auto halo_pairs = static_cast<std::size_t>(cluster_tile.halo_pairs());

std::size_t rounded_up(std::size_t number, std::size_t unit) {
  return (number + unit - 1) / unit * unit;
}

}  // namespace

TileMask::TileMask(const Grid<std::uint8_t>& plan_interior, TileShape shape) {
  const auto shape_rows = static_cast<std::size_t>(shape.rows);
  const auto shape_cols = static_cast<std::size_t>(shape.cols);
  rows = rounded_up(plan_interior.rows, shape_rows) / shape_rows;
  cols = rounded_up(plan_interior.cols, shape_cols) / shape_cols;
  interior.resize(rows * cols);
  for (std::size_t row = 0; row < plan_interior.rows; ++row) {
    const std::uint8_t* cells = &plan_interior(row, 0);
    CellMask* words = &interior[row / shape_rows * cols];
    const std::size_t first_bit = row % shape_rows * shape_cols;
    for (std::size_t col = 0; col < plan_interior.cols; ++col) {
      const auto bit = static_cast<CellMask>(cells[col] != 0);
      words[col / shape_cols] |= bit << (first_bit + col % shape_cols);
    }
  }
}

std::vector<std::int32_t> regions_with_rooms(const TileMask& mask) {
  constexpr std::size_t core_rows = region_rows - 2 * halo_tile_rows;
  constexpr std::size_t core_cols = region_cols - 2 * halo_tile_cols;
  std::vector<std::int32_t> regions;
  for (std::size_t row = 0; row < mask.rows; row += core_rows) {
    for (std::size_t col = 0; col < mask.cols; col += core_cols) {
      CellMask any = 0;
      for (std::size_t r = row; r < std::min(row + core_rows, mask.rows); ++r)
        for (std::size_t c = col; c < std::min(col + core_cols, mask.cols); ++c)
          any |= mask.interior[r * mask.cols + c];
      if (any != 0) regions.push_back(static_cast<std::int32_t>(row * mask.cols + col));
    }
  }
  return regions;
}

Tiling::Tiling(const Grid<std::uint8_t>& plan_interior, std::size_t max_threads) {
  const TileMask mask(plan_interior, cluster_tile);
  std::vector<std::int32_t> numbers(mask.interior.size(), no_tile);
  std::int32_t count = 0;
  for (std::size_t at = 0; at < numbers.size(); ++at)
    if (mask.interior[at] != 0) numbers[at] = count++;
  tiles_.reserve(static_cast<std::size_t>(count));
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    if (numbers[at] == no_tile) continue;
    const std::size_t row = at / mask.cols;
    const std::size_t col = at % mask.cols;
    Tile tile{row * tile_rows, col * tile_cols, mask.interior[at], {}};
    tile.neighbours[left] = col > 0 ? numbers[at - 1] : no_tile;
    tile.neighbours[right] = col + 1 < mask.cols ? numbers[at + 1] : no_tile;
    tile.neighbours[up] = row > 0 ? numbers[at - mask.cols] : no_tile;
    tile.neighbours[down] = row + 1 < mask.rows ? numbers[at + mask.cols] : no_tile;
    tiles_.push_back(tile);
  }
  blocks_ = std::max<std::size_t>(rounded_up(tiles_.size(), max_threads) / max_threads, 1);
  tiles_of_block_ = std::max<std::size_t>(rounded_up(tiles_.size(), blocks_) / blocks_, 1);
  threads_ = rounded_up(tiles_of_block_, warp_threads);
}

void Tiling::load_interior(CellMask* interior) const {
  std::fill_n(interior, slots(), CellMask{0});
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

template <class Copy>
void Tiling::for_each_row(std::size_t rows, std::size_t cols, const Copy& copy) const {
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
    const std::size_t first_row = tiles_[tile].row;
    const std::size_t col = tiles_[tile].col;
    const std::size_t length = std::min(tile_cols, cols - col);
    for (std::size_t row = 0; row < std::min(tile_rows, rows - first_row); ++row)
      copy(first_row + row, col, slot_of(tile) * tile_cells + row * tile_cols, length);
  }
}

void Tiling::load_cells(const Grid<double>& field, double* cells) const {
  std::fill_n(cells, slots() * tile_cells, 0.0);
  for_each_row(field.rows, field.cols,
               [&](std::size_t row, std::size_t col, std::size_t offset, std::size_t length) {
                 std::copy_n(&field(row, col), length, cells + offset);
               });
}

void Tiling::load_halos(const Grid<double>& field, Pair* halos) const {
  std::fill_n(halos, slots() * halo_pairs, Pair{0, 0});
  const auto at = [&](std::size_t row, std::size_t col) { return value_or_zero(field, row, col); };
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
    const std::size_t row = tiles_[tile].row;
    const std::size_t col = tiles_[tile].col;
    Pair* const halo = halos + slot_of(tile) * halo_pairs;
    for (std::size_t pair = 0; pair < tile_rows / 2; ++pair) {
      const std::size_t first = row + 2 * pair;
      halo[cluster_tile.from_left() + pair] = {at(first, col - 1), at(first + 1, col - 1)};
      halo[cluster_tile.from_right() + pair] = {at(first, col + tile_cols),
                                                at(first + 1, col + tile_cols)};
    }
    for (std::size_t pair = 0; pair < tile_cols / 2; ++pair) {
      const std::size_t first = col + 2 * pair;
      halo[cluster_tile.from_up() + pair] = {at(row - 1, first), at(row - 1, first + 1)};
      halo[cluster_tile.from_down() + pair] = {at(row + tile_rows, first),
                                               at(row + tile_rows, first + 1)};
    }
  }
}

void Tiling::store_cells(const double* cells, Grid<double>& field) const {
  for_each_row(field.rows, field.cols,
               [&](std::size_t row, std::size_t col, std::size_t offset, std::size_t length) {
                 std::copy_n(cells + offset, length, &field(row, col));
               });
}

}  // namespace wallheat::gpu
