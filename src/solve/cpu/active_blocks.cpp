#include "solve/cpu/active_blocks.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <string>

#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr std::uint8_t all_cells = 0xff;

std::size_t blocks_across(std::size_t cols) { return (cols + block_width - 1) / block_width; }

/// Bit i of block b + 1: cell b * block_width + i of this row is interior. The row's ends and, for
/// a row outside of the grid, all of it are the ring.
void set_masks(const Grid<std::uint8_t>& interior, std::size_t row,
               std::vector<std::uint8_t>& masks) {
  std::fill(masks.begin(), masks.end(), 0);
  if (row >= interior.rows) return;
  const std::uint8_t* cells = &interior(row, 0);
  for (std::size_t col = 0; col < interior.cols; ++col) {
    masks[1 + col / block_width] |=
        static_cast<std::uint8_t>((cells[col] != 0 ? 1U : 0U) << col % block_width);
  }
}

/// The segments of a row, as block numbers: calls `add(block, blocks)` for each.
template <class Add>
void for_each_segment(const std::vector<std::uint8_t>& masks, Add add) {
  constexpr std::size_t longest = std::numeric_limits<std::uint16_t>::max();
  for (std::size_t block = 0; block < masks.size(); ++block) {
    if (masks[block] == 0) continue;
    std::size_t end = block + 1;
    while (masks[end] == all_cells && end - block < longest) ++end;
    if (masks[end] != 0 && masks[end] != all_cells) ++end;
    add(block, end - block);
    block = end - 1;
  }
}

}  // namespace

void CompactField::resize(std::size_t cells) {
  if (cells <= capacity_) return;
  constexpr std::size_t alignment = block_width * sizeof(double);
  cells_.reset(static_cast<double*>(std::aligned_alloc(alignment, cells * sizeof(double))));
  capacity_ = cells_ ? cells : 0;
  if (!cells_) throw std::bad_alloc();
}

void ActiveBlocks::assign(const Grid<std::uint8_t>& interior) {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  const std::size_t blocks = blocks_across(interior.cols) + 2;
  if (interior.rows > most - 2 || blocks > most ||
      (interior.rows + 2) > most / block_width / blocks) {
    throw InputError("the grid of " + std::to_string(interior.rows) + " x " +
                     std::to_string(interior.cols) + " cells is too large for the solver");
  }
  segments_.clear();
  runs_.clear();
  begin_.assign(1, 0);
  size_ = 0;

  // Rows are counted from the ring, and held are what three of them need.
  using Row = std::vector<std::uint8_t>;
  std::array<Row, 3> masks{Row(blocks), Row(blocks), Row(blocks)};
  std::vector<std::uint32_t> up(blocks);
  std::vector<std::uint32_t> here(blocks);
  std::vector<std::uint32_t> down(blocks);  // where a block's first cell is stored
  for (std::size_t row = 0; row < interior.rows + 2; ++row) {
    // Places the blocks of this row ...
    std::rotate(masks.begin(), masks.begin() + 1, masks.end());
    set_masks(interior, row, masks[2]);
    std::swap(up, here);
    std::swap(here, down);
    bool open = false;  // the last run ends just here
    for (std::size_t block = 0; block < blocks; ++block) {
      const bool stored = masks[0][block] != 0 || masks[1][block] != 0 || masks[2][block] != 0 ||
                          (block > 0 && masks[1][block - 1] != 0) ||
                          (block + 1 < blocks && masks[1][block + 1] != 0);
      if (stored) {
        if (!open) {
          runs_.push_back({static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(block), 0});
        }
        ++runs_.back().blocks;
        down[block] = static_cast<std::uint32_t>(size_);
        size_ += block_width;
      }
      open = stored;
    }
    // ... which completes the neighbours of the row before.
    if (row < 2) continue;
    const Row& row_masks = masks[0];
    for_each_segment(row_masks, [&](std::size_t block, std::size_t count) {
      const std::uint8_t last = count > 1 ? row_masks[block + count - 1] : std::uint8_t{0};
      segments_.push_back({here[block], up[block], down[block],
                           static_cast<std::uint16_t>(count > 1 ? count - 2 : 0), row_masks[block],
                           last});
    });
    begin_.push_back(static_cast<std::uint32_t>(segments_.size()));
  }
}

ActiveRows ActiveBlocks::rows() const {
  return {segments_.data(), begin_.data(), begin_.size() - 1};
}

std::size_t ActiveBlocks::mean_row_bytes() const {
  std::size_t rows = 0;
  for (std::size_t row = 0; row + 1 < begin_.size(); ++row)
    rows += begin_[row] != begin_[row + 1] ? 1 : 0;
  return rows == 0 ? 0 : size_ * sizeof(double) / rows;
}

void ActiveBlocks::load(const Grid<double>& grid, double factor, CompactField& field) const {
  field.resize(size_);
  double* target = field.data();
  for (const Run& run : runs_) {
    // Row and column -1 wrap to the largest number: outside, too.
    const std::size_t row = run.row - std::size_t{1};
    for (std::size_t block = run.block; block < run.block + run.blocks; ++block) {
      const std::size_t col = (block - 1) * block_width;
      const bool inside = row < grid.rows && col < grid.cols;
      const std::size_t width = inside ? std::min(block_width, grid.cols - col) : 0;
      for (std::size_t lane = 0; lane < width; ++lane)
        target[lane] = factor * grid(row, col + lane);
      std::fill(target + width, target + block_width, 0.0);
      target += block_width;
    }
  }
}

void ActiveBlocks::store(const double* field, Grid<double>& grid) const {
  for (const Run& run : runs_) {
    const std::size_t row = run.row - std::size_t{1};
    for (std::size_t block = run.block; block < run.block + run.blocks; ++block) {
      const std::size_t col = (block - 1) * block_width;
      if (row < grid.rows && col < grid.cols) {
        std::copy_n(field, std::min(block_width, grid.cols - col), &grid(row, col));
      }
      field += block_width;
    }
  }
}

}  // namespace wallheat
