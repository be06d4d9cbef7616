#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <stop_token>
#include <vector>

#include "solve/cpu/sweep.hpp"
#include "solve/zeroed_array.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// Memory for the stored blocks of several fields, aligned for vector loads.
class CompactFields {
 public:
  /// Allocates `fields` fields with `cells` cells. The previous contents are lost.
  void resize(std::size_t fields, std::size_t cells);
  /// Returns field number `field`, from 0.
  [[nodiscard]] double* operator[](std::size_t field) { return cells_.data() + field * stride_; }

 private:
  ZeroedArray<double> cells_;
  std::size_t stride_ = 0;
  std::size_t capacity_ = 0;
};

/// Maximum number of sweeps per pass.
inline constexpr std::size_t max_sweeps_per_pass = 64;

/// The blocks of a plan that fused sweeps read or write, and their positions in memory. Only these
/// blocks are stored, one after the other, row by row. So the rows in use are one contiguous window
/// that moves through the caches, and nothing else occupies cache space.
///
/// Fused sweeps are called levels, and advance through the rows together: front f updates row f - k
/// in level k, from the values of level k - 1 in rows f - k - 1 to f - k + 1, which this front and
/// the previous two have computed. Fronts below the grid complete the last rows. A run of a front
/// is a maximal sequence of blocks in which at least one level has cells to update. With two
/// levels, if all cells of blocks # are interior, some of blocks m, and none of blocks -:
///
///     row f - 1 (level 1)   -  m  #  #  #  m  -  -
///     row f     (level 0)   -  -  m  #  #  #  m  -
///     the run of front f       m  m  #  #  m  m       full: full in all levels
///     its words                (2 masked, 2 full) m m (2 masked, 0 full) m m
///
/// All blocks that runs read are stored: those at most `levels` rows and one column away from a
/// block with interior cells. The grid has a border of zeros. The cells of a block are stored in
/// the order of SweepKernels::columns.
class ActiveBlocks {
 public:
  /// Sets the mask and the sweeps. Throws InputError if the plan has more cells than 32-bit offsets
  /// can address.
  void assign(const Grid<std::uint8_t>& interior, const SweepKernels& sweeps);

  /// Returns the number of stored cells of a field.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Returns the number of cells that a sweep processes, whether they are interior or not.
  [[nodiscard]] std::size_t processed_cells() const { return processed_; }
  [[nodiscard]] std::size_t fronts() const { return begin_.size() - 1; }
  /// Returns the runs of the fronts from `first` to `last` - 1.
  [[nodiscard]] BlockRuns runs(std::size_t first, std::size_t last) const;

  /// Makes `count` sweeps in groups of fused sweeps. Calls sweep(number of the first sweep of the
  /// group, runs, number of sweeps). The groups alternate, some fronts at a time; each group
  /// follows the previous one at a distance of `levels` rows, so it reads rows that are still in
  /// the cache. A row is therefore read from memory or an outer cache once per pass. Two fields
  /// suffice, because a sweep overwrites the values of the sweep before the previous one, which the
  /// previous one has already used. Returns false if a stop was requested.
  template <class Sweep>
  [[nodiscard]] bool pass(std::size_t count, const std::stop_token& stop, Sweep sweep) const;

  /// Copies the values of a grid into a field, and sets the border to 0.
  void load(const Grid<double>& grid, double* field) const;
  /// Copies the interior cells of a field into a grid. Other cells of the grid are not changed.
  void store(const double* field, Grid<double>& grid) const;

 private:
  /// Stored blocks that are consecutive in a row and in memory.
  struct StoredSpan {
    std::uint32_t row;    ///< including the border
    std::uint32_t block;  ///< first block, including the border
    std::uint32_t blocks;
  };
  void place_blocks();
  void list_runs();
  std::size_t add_run(const std::vector<std::uint64_t>& front, std::size_t row, std::size_t block);

  std::size_t ring_ = 0;         ///< rows of the border, one per level; its width is one block
  std::size_t block_width_ = 0;  ///< cells per block
  std::array<std::uint8_t, max_block_width> columns_{};  ///< see SweepKernels
  /// Masks of the blocks, including the border. Bit i: stored cell i of the block is interior.
  Grid<std::uint16_t> masks_;
  Grid<std::uint32_t> cell_;  ///< offset of the first cell of a stored block
  std::vector<StoredSpan> stretches_;
  std::vector<BlockRun> runs_;
  std::vector<std::uint32_t> begin_;  ///< front f has runs begin_[f] to begin_[f + 1]
  std::vector<std::uint64_t> words_;
  std::size_t size_ = 0;
  std::size_t processed_ = 0;
};

template <class Sweep>
bool ActiveBlocks::pass(std::size_t count, const std::stop_token& stop, Sweep sweep) const {
  // The rows in use should fit into the second-level cache. These values were measured.
  const std::size_t step = masks_.cols * block_width_ > 1040 ? 16 : 64;
  const std::size_t levels = ring_;
  const std::size_t last_lag = (count - 1) / levels * levels;
  for (std::size_t front = 0; front < fronts() + last_lag; front += step) {
    for (std::size_t lag = 0; lag <= last_lag; lag += levels) {
      if (stop.stop_requested()) return false;
      const std::size_t begin = std::max(front, lag) - lag;
      const std::size_t end = std::min(std::max(front + step, lag) - lag, fronts());
      if (begin < end)
        sweep(lag, runs(begin, end), static_cast<int>(std::min(levels, count - lag)));
    }
  }
  return true;
}

}  // namespace wallheat
