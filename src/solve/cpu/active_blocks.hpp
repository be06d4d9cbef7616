#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "solve/cpu/sweep.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// Room for the values of a field's stored blocks, aligned for full-width loads.
class CompactField {
 public:
  /// Makes room for so many cells; what was in it is gone.
  void resize(std::size_t cells);
  [[nodiscard]] double* data() { return cells_.get(); }
  [[nodiscard]] const double* data() const { return cells_.get(); }

 private:
  struct Free {
    // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): what aligned_alloc made
    void operator()(double* cells) const { std::free(cells); }
  };
  std::unique_ptr<double[], Free> cells_;
  std::size_t capacity_ = 0;
};

/// Which blocks of a plan a sweep reads or writes, and where they lie in memory: one after the
/// other, row by row, without what is between. So the rows in flight are one piece of memory that
/// glides through the caches, and nothing else takes room there.
///
/// Stored are the blocks that hold interior cells and their four neighbours; the grid lies in a
/// ring of zeros.
class ActiveBlocks {
 public:
  /// Throws InputError if the plan has more cells than a segment's offsets can count.
  void assign(const Grid<std::uint8_t>& interior);

  /// Cells of a field.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] ActiveRows rows() const;
  /// What a row's blocks take in memory, on the average of the rows that hold interior cells.
  [[nodiscard]] std::size_t mean_row_bytes() const;

  /// Fills a field with the values of a grid, each multiplied by `factor`.
  void load(const Grid<double>& grid, double factor, CompactField& field) const;
  /// Writes a field's values into a grid; cells that are not stored keep what they have.
  void store(const double* field, Grid<double>& grid) const;

 private:
  /// Stored blocks that follow each other in a row and in memory.
  struct Run {
    std::uint32_t row;    ///< counted from the ring
    std::uint32_t block;  ///< the same
    std::uint32_t blocks;
  };
  std::vector<Segment> segments_;
  std::vector<std::uint32_t> begin_;
  std::vector<Run> runs_;
  std::size_t size_ = 0;
};

}  // namespace wallheat
