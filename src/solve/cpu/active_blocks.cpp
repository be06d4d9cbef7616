#include "solve/cpu/active_blocks.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "wallheat/error.hpp"

namespace wallheat {

void CompactFields::resize(std::size_t fields, std::size_t cells) {
  // Consecutive fields are offset by a quarter of a page. With equal offsets in their pages, the
  // processor would take a load from one field to depend on a store that it has just made to
  // another (4 KiB aliasing).
  constexpr std::size_t page = 4096 / sizeof(double);
  stride_ = (cells + page - 1) / page * page + page / 4;
  if (fields * stride_ <= capacity_) return;
  capacity_ = 0;
  cells_ = {};  // release the old memory first, to limit the peak
  cells_ = ZeroedArray<double>(fields * stride_);
  capacity_ = fields * stride_;
}

void ActiveBlocks::assign(const Grid<std::uint8_t>& interior, const SweepKernels& sweeps) {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  ring_ = static_cast<std::size_t>(sweeps.levels);
  block_width_ = sweeps.block_width;
  std::ranges::copy(sweeps.columns, columns_.begin());
  const std::size_t blocks = (interior.cols + block_width_ - 1) / block_width_ + 2;
  if (interior.rows > most - 2 * ring_ || blocks > most ||
      interior.rows + 2 * ring_ > most / block_width_ / blocks) {
    throw InputError("the grid of " + std::to_string(interior.rows) + " x " +
                     std::to_string(interior.cols) + " cells is too large for the solver");
  }
  masks_.rows = cell_.rows = interior.rows + 2 * ring_;
  masks_.cols = cell_.cols = blocks;
  masks_.cells.assign(masks_.rows * blocks, 0);
  cell_.cells.resize(masks_.rows * blocks);
  for (std::size_t row = 0; row < interior.rows; ++row) {
    const std::uint8_t* cells = &interior(row, 0);
    for (std::size_t col = 0; col < interior.cols; col += block_width_) {
      const std::size_t width = std::min(block_width_, interior.cols - col);
      unsigned mask = 0;
      const auto add = [&](std::size_t cell) {
        mask |= (cells[col + columns_[cell]] != 0 ? 1U : 0U) << cell;
      };
      // All blocks but the last one of a row need no branch per cell.
      for (std::size_t cell = 0; cell < block_width_; ++cell)
        if (width == block_width_ || columns_[cell] < width) add(cell);
      masks_(row + ring_, 1 + col / block_width_) = static_cast<std::uint16_t>(mask);
    }
  }
  place_blocks();
  list_runs();
}

void ActiveBlocks::place_blocks() {
  stretches_.clear();
  size_ = 0;
  std::vector<std::uint16_t> near(
      masks_.cols);  // union of the masks of all rows at most ring_ away
  for (std::size_t row = 0; row < masks_.rows; ++row) {
    std::fill(near.begin(), near.end(), 0);
    const std::size_t last = std::min(row + ring_, masks_.rows - 1);
    for (std::size_t other = row - std::min(row, ring_); other <= last; ++other) {
      const std::uint16_t* masks = &masks_(other, 0);
      for (std::size_t block = 0; block < near.size(); ++block) near[block] |= masks[block];
    }
    bool open = false;  // the previous block is stored, so this one can extend its span
    for (std::size_t block = 0; block < near.size(); ++block) {
      const bool stored = near[block] != 0 || (block > 0 && near[block - 1] != 0) ||
                          (block + 1 < near.size() && near[block + 1] != 0);
      if (stored) {
        if (!open) {
          stretches_.push_back(
              {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(block), 0});
        }
        ++stretches_.back().blocks;
        cell_(row, block) = static_cast<std::uint32_t>(size_);
        size_ += block_width_;
      }
      open = stored;
    }
  }
}

void ActiveBlocks::list_runs() {
  runs_.clear();
  words_.clear();
  begin_.assign(1, 0);
  processed_ = 0;
  std::vector<std::uint64_t> front(masks_.cols);  // masks of all levels, by block
  for (std::size_t row = ring_; row + 1 < masks_.rows; ++row) {
    std::fill(front.begin(), front.end(), 0);
    for (std::size_t level = 0; level < ring_; ++level) {
      const std::uint16_t* masks = &masks_(row - level, 0);
      for (std::size_t block = 0; block < front.size(); ++block)
        front[block] |= static_cast<std::uint64_t>(masks[block]) << max_block_width * level;
    }
    for (std::size_t block = 0; block < front.size(); ++block)
      if (front[block] != 0) block = add_run(front, row, block);
    begin_.push_back(static_cast<std::uint32_t>(runs_.size()));
  }
  words_.push_back(0);  // some instruction sets read a few bytes past a word
}

/// Returns the index of the block after the run, which always exists because the masks have a
/// border of empty blocks.
std::size_t ActiveBlocks::add_run(const std::vector<std::uint64_t>& front, std::size_t row,
                                  std::size_t block) {
  std::uint64_t full = 0;  // the word of a block whose cells are interior in all levels
  for (std::size_t level = 0; level < ring_; ++level)
    full |= ((std::uint64_t{1} << block_width_) - 1) << max_block_width * level;
  BlockRun run{{}, static_cast<std::uint32_t>(words_.size()), 0};
  for (std::size_t i = 0; i < ring_ + 2; ++i) run.cell[i] = cell_(row + 1 - i, block);
  const std::size_t first = block;
  for (; front[block] != 0; ++run.parts) {
    const std::size_t head = words_.size();
    words_.push_back(0);
    const std::size_t masked = block;
    while (front[block] != 0 && front[block] != full) words_.push_back(front[block++]);
    const std::size_t middle = block;
    while (front[block] == full) ++block;
    words_[head] = head_word(middle - masked, block - middle);
  }
  runs_.push_back(run);
  processed_ += (block - first) * block_width_;
  return block;
}

BlockRuns ActiveBlocks::runs(std::size_t first, std::size_t last) const {
  return {runs_.data() + begin_[first], runs_.data() + begin_[last], words_.data()};
}

void ActiveBlocks::load(const Grid<double>& grid, double* field) const {
  for (const StoredSpan& stretch : stretches_) {
    // Rows above row 0 and columns to the left of column 0 wrap around to large numbers, which are
    // outside, too.
    const std::size_t row = stretch.row - ring_;
    for (std::size_t block = stretch.block; block < stretch.block + stretch.blocks; ++block) {
      const std::size_t col = (block - 1) * block_width_;
      const bool inside = row < grid.rows && col < grid.cols;
      const std::size_t width = inside ? std::min(block_width_, grid.cols - col) : 0;
      for (std::size_t cell = 0; cell < block_width_; ++cell)
        field[cell] = columns_[cell] < width ? grid(row, col + columns_[cell]) : 0;
      field += block_width_;
    }
  }
}

void ActiveBlocks::store(const double* field, Grid<double>& grid) const {
  for (const StoredSpan& stretch : stretches_) {
    for (std::size_t block = stretch.block; block < stretch.block + stretch.blocks; ++block) {
      const std::size_t col = (block - 1) * block_width_;
      for (unsigned mask = masks_(stretch.row, block), cell = 0; mask != 0; mask >>= 1U, ++cell)
        if ((mask & 1U) != 0) grid(stretch.row - ring_, col + columns_[cell]) = field[cell];
      field += block_width_;
    }
  }
}

}  // namespace wallheat
