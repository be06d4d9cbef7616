#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "solve/sweep.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// How a grid lies in memory with its ring of zeros: the first cell of each row starts at a block
/// border, and the block of zeros left of a row is also the right end of the row before.
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
  /// Copies the grid in and sets everything around it to zero.
  void assign(const PaddedLayout& layout, const Grid<double>& grid);
  void copy_to(const PaddedLayout& layout, Grid<double>& grid) const;
  [[nodiscard]] double* data() { return cells_.get(); }
  [[nodiscard]] const double* data() const { return cells_.get(); }

 private:
  struct Free {
    void operator()(double* cells) const { std::free(cells); }
  };
  std::unique_ptr<double[], Free> cells_;
  std::size_t capacity_ = 0;
};

/// The blocks of a plan that hold interior cells.
class BlockList {
 public:
  void assign(const PaddedLayout& layout, const Grid<std::uint8_t>& interior);
  [[nodiscard]] ActiveBlocks view() const;

 private:
  std::vector<std::uint32_t> offsets_;
  std::vector<std::uint8_t> masks_;
  std::size_t stride_ = 0;
};

}  // namespace wallheat
