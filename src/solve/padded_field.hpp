#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "solve/sweep.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// How a grid lies in memory with its ring of zeros: the first cell of each row starts at a block
/// border, and the block of zeros left of a row is also the right end of the row before. Rows are
/// never near a multiple of a page apart, which would put them all into the same sets of the cache.
class PaddedLayout {
 public:
  PaddedLayout() = default;
  /// Throws InputError where the grid has more cells than a block's offset can count.
  explicit PaddedLayout(GridShape shape);

  [[nodiscard]] GridShape shape() const { return shape_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] std::size_t size() const { return (shape_.rows + 2) * stride_ + block_width; }
  [[nodiscard]] std::size_t offset(std::size_t row, std::size_t col) const {
    return (row + 1) * stride_ + block_width + col;
  }

 private:
  GridShape shape_;
  std::size_t stride_ = 0;
};

/// A field in a PaddedLayout, aligned for full-width loads.
class PaddedField {
 public:
  /// `colour` tells apart the fields that are used together: their rows begin at different places
  /// of a memory page, as a load that agrees with an earlier store in the last 12 bits of the
  /// address would have to wait for it.
  explicit PaddedField(std::size_t colour) : shift_(colour * colour_distance) {}
  /// Copies the grid in and sets everything around it to zero.
  void assign(const PaddedLayout& layout, const Grid<double>& grid);
  void copy_to(const PaddedLayout& layout, Grid<double>& grid) const;
  [[nodiscard]] double* data() { return cells_.get() + shift_; }
  [[nodiscard]] const double* data() const { return cells_.get() + shift_; }

 private:
  static constexpr std::size_t colour_distance =
      168;  // cells: about a third of a page, whole cache lines
  struct Free {
    void operator()(double* cells) const { std::free(cells); }
  };
  std::unique_ptr<double[], Free> cells_;
  std::size_t shift_;
  std::size_t capacity_ = 0;
};

/// The segments of a plan's rooms.
class SegmentList {
 public:
  void assign(const PaddedLayout& layout, const Grid<std::uint8_t>& interior);
  [[nodiscard]] ActiveRows view() const;
  /// What a row's blocks take in memory, on the average of the rows that have any.
  [[nodiscard]] std::size_t mean_row_bytes() const;

 private:
  std::vector<Segment> segments_;
  std::vector<std::uint32_t> begin_;
  std::size_t stride_ = 0;
  std::size_t blocks_ = 0;
};

}  // namespace wallheat
