#pragma once

#include <algorithm>
#include <cstdint>
#include <stop_token>
#include <vector>

#include "solve/cpu/sweep.hpp"
#include "solve/zeroed_array.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// Room for the values of the stored blocks of some fields, aligned for full-width loads.
class CompactFields {
 public:
  /// Makes room for `fields` fields of `cells` cells; what was in it is gone.
  void resize(std::size_t fields, std::size_t cells);
  /// A field, counted from 0.
  [[nodiscard]] double* operator[](std::size_t field) { return cells_.data() + field * stride_; }

 private:
  ZeroedArray<double> cells_;
  std::size_t stride_ = 0;
  std::size_t capacity_ = 0;
};

/// Sweeps that a pass makes at most.
inline constexpr std::size_t max_sweeps_per_pass = 64;

/// Which blocks of a plan fused sweeps read or write, and where they lie in memory: one after the
/// other, row by row, without what is between. So the rows in flight are one piece of memory that
/// glides through the caches, and nothing else takes room there.
///
/// Fused sweeps, the levels, go through the rows together: front f updates row f - k in level k,
/// from what level k - 1 has made of rows f - k - 1 to f - k + 1 in this front and the two before.
/// The last rows are done by fronts that begin below the grid. A run of a front is a longest
/// stretch of blocks in which any level has something to update. With two levels, if all cells
/// of block # are interior, some of block m and none of block -:
///
///     row f - 1 (level 1)   -  m  #  #  #  m  -  -
///     row f     (level 0)   -  -  m  #  #  #  m  -
///     the run of front f       m  m  #  #  m  m       full is what is full in all levels
///     its words                (2 masked, 2 full) m m (2 masked, 0 full) m m
///
/// Stored are all blocks that runs read: those at most `levels` rows and one column from a block
/// with interior cells. The grid lies in a ring of zeros.
class ActiveBlocks {
 public:
  /// For these sweeps. Throws InputError if the plan has more cells than offsets can count.
  void assign(const Grid<std::uint8_t>& interior, const SweepKernels& sweeps);

  /// Cells of a field.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Cells that a sweep goes over, be they interior or not.
  [[nodiscard]] std::size_t processed_cells() const { return processed_; }
  [[nodiscard]] std::size_t fronts() const { return begin_.size() - 1; }
  /// The runs of the fronts from `first` to before `last`.
  [[nodiscard]] BlockRuns runs(std::size_t first, std::size_t last) const;

  /// Makes `count` sweeps in groups of as many as are fused: calls sweep(number of the group's
  /// first sweep, runs, number of sweeps). The groups take turns, each with some fronts, at a
  /// distance of as many rows as it has levels: what it reads has just been finished by the group
  /// before. So a row is read from an outer cache once per pass. Two fields suffice: a sweep
  /// overwrites what the sweep before the last has made, and the last has gone past it. Returns
  /// false if a stop was requested.
  template <class Sweep>
  [[nodiscard]] bool pass(std::size_t count, const std::stop_token& stop, Sweep sweep) const;

  /// Fills a field with the values of a grid; with 0 in the ring.
  void load(const Grid<double>& grid, double* field) const;
  /// Writes the interior cells of a field into a grid; the others keep what they have.
  void store(const double* field, Grid<double>& grid) const;

 private:
  /// Stored blocks that follow each other in a row and in memory.
  struct StoredSpan {
    std::uint32_t row;    ///< counted from the ring
    std::uint32_t block;  ///< the same
    std::uint32_t blocks;
  };
  void place_blocks();
  void list_runs();
  std::size_t add_run(const std::vector<std::uint32_t>& front, std::size_t row, std::size_t block);

  std::size_t ring_ = 0;  ///< its rows, as many as there are levels; it is one block wide
  Grid<std::uint8_t>
      masks_;  ///< of each block, the ring included: bit i says that cell i is interior
  Grid<std::uint32_t> cell_;  ///< where a stored block's first cell is
  std::vector<StoredSpan> stretches_;
  std::vector<BlockRun> runs_;
  std::vector<std::uint32_t> begin_;  ///< front f has runs begin_[f] to begin_[f + 1]
  std::vector<std::uint32_t> words_;
  std::size_t size_ = 0;
  std::size_t processed_ = 0;
};

template <class Sweep>
bool ActiveBlocks::pass(std::size_t count, const std::stop_token& stop, Sweep sweep) const {
  // The rows that are used meanwhile should stay in the second-level cache; measured.
  const std::size_t step = masks_.cols * block_width > 1040 ? 16 : 64;
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
