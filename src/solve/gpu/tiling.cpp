#include "solve/gpu/tiling.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

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
    for (std::size_t col = 0; col < plan_interior.cols; col += shape_cols) {
      CellMask bits = 0;  // in a register: three times as fast as to set each bit in memory
      const std::size_t length = std::min(shape_cols, plan_interior.cols - col);
      for (std::size_t i = 0; i < length; ++i)
        bits |= static_cast<CellMask>(cells[col + i] != 0) << i;
      *words++ |= bits << first_bit;
    }
  }
}

std::vector<std::int32_t> regions_with_interior_cells(const TileMask& mask) {
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
  for (std::size_t at = 0; at < mask.interior.size(); ++at)
    if (mask.interior[at] != 0)
      tiles_.push_back({at / mask.cols * tile_rows, at % mask.cols * tile_cols, mask.interior[at]});
  blocks_ = std::max<std::size_t>(rounded_up(tiles_.size(), max_threads) / max_threads, 1);
  threads_ = rounded_up(std::max<std::size_t>(rounded_up(tiles_.size(), blocks_) / blocks_, 1),
                        warp_threads);
  if (blocks_ > max_cluster_blocks) return;
  std::vector<std::uint32_t> row_major(tiles_.size());
  std::iota(row_major.begin(), row_major.end(), 0U);
  distribute(row_major, 0, blocks_);

  Grid<std::int32_t> slot_at(mask.rows, mask.cols, no_tile);
  for (const Tile& tile : tiles_)
    slot_at(tile.row / tile_rows, tile.col / tile_cols) = static_cast<std::int32_t>(tile.slot);
  for (Tile& tile : tiles_) {
    const std::size_t row = tile.row / tile_rows;
    const std::size_t col = tile.col / tile_cols;
    tile.neighbours[left] = col > 0 ? slot_at(row, col - 1) : no_tile;
    tile.neighbours[right] = col + 1 < mask.cols ? slot_at(row, col + 1) : no_tile;
    tile.neighbours[up] = row > 0 ? slot_at(row - 1, col) : no_tile;
    tile.neighbours[down] = row + 1 < mask.rows ? slot_at(row + 1, col) : no_tile;
  }
}

void Tiling::distribute(std::span<std::uint32_t> tiles, std::size_t first_block,
                        std::size_t blocks) {
  if (blocks == 1) {
    std::size_t slot = first_block * threads_;
    for (const std::uint32_t tile : tiles) tiles_[tile].slot = slot++;
    return;
  }
  const std::size_t half = blocks / 2;
  const std::size_t tiles_of_half = tiles.size() * half / blocks;
  const auto col = [&](std::uint32_t tile) { return tiles_[tile].col; };
  const auto [leftmost, rightmost] = std::ranges::minmax(tiles, {}, col);
  if (col(rightmost) - col(leftmost) > tiles_[tiles.back()].row - tiles_[tiles.front()].row) {
    // Move the first tiles by column to the front. Each half keeps its row-major order.
    const auto by_col = [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(col(a), a) < std::pair(col(b), b);
    };
    std::vector<std::uint32_t> sorted(tiles.begin(), tiles.end());
    const auto limit = sorted.begin() + static_cast<std::ptrdiff_t>(tiles_of_half);
    std::ranges::nth_element(sorted, limit, by_col);
    std::stable_partition(tiles.begin(), tiles.end(),
                          [&](std::uint32_t tile) { return by_col(tile, *limit); });
  }
  distribute(tiles.first(tiles_of_half), first_block, half);
  distribute(tiles.subspan(tiles_of_half), first_block + half, blocks - half);
}

void Tiling::load_interior(CellMask* interior) const {
  std::fill_n(interior, slots(), CellMask{0});
  for (const Tile& tile : tiles_) interior[tile.slot] = tile.interior;
}

void Tiling::load_neighbours(std::int32_t* neighbours) const {
  std::fill_n(neighbours, slots() * sides, no_tile);
  for (const Tile& tile : tiles_)
    std::copy_n(tile.neighbours, sides, neighbours + tile.slot * sides);
}

template <class Copy>
void Tiling::for_each_row(std::size_t rows, std::size_t cols, const Copy& copy) const {
  for (const Tile& tile : tiles_) {
    const std::size_t length = std::min(tile_cols, cols - tile.col);
    for (std::size_t row = 0; row < std::min(tile_rows, rows - tile.row); ++row)
      copy(tile.row + row, tile.col, tile.slot * tile_cells + row * tile_cols, length);
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
  for (const Tile& tile : tiles_) {
    const std::size_t row = tile.row;
    const std::size_t col = tile.col;
    Pair* const halo = halos + tile.slot * halo_pairs;
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
