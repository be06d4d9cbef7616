#pragma once

#include <cstdint>
#include <vector>

#include "solve/steady/kernels.hpp"
#include "solve/zeroed_array.hpp"
#include "wallheat/grid.hpp"

namespace wallheat {

/// The grids of black-box multigrid for the interior cells of a mask: interpolation and Galerkin
/// operators follow from the matrix, so that no value leaks through a wall. Coarse cells are every
/// second cell of every second row. All is in single precision, as it only preconditions; the
/// V-cycle is a symmetric positive definite operator. Keeps its memory from mask to mask.
class Multigrid {
 public:
  explicit Multigrid(SteadyKernels kernels) : kernels_(kernels) {}

  void assign(const Grid<std::uint8_t>& interior);
  [[nodiscard]] const Level& finest() const { return levels_.front(); }
  /// For each row of the finest grid a strip that holds the active cells and all that touches them.
  [[nodiscard]] const std::vector<Strip>& touched() const { return touched_; }
  /// Values of an array of the finest grid, its margin included.
  [[nodiscard]] std::size_t size() const { return memory_.front().size; }
  /// finest().x = about S^-1 finest().right. Adds their product to `partial`, by column.
  void cycle(double* partial) const { kernels_.cycle(levels_.data(), depth_, partial); }

 private:
  /// What a level points to.
  struct Memory {
    std::size_t size = 0;  ///< of an array, in values
    ZeroedArray<float> arrays;
    std::vector<Strip> strips;
  };
  void add_level(std::size_t rows, std::size_t cols);
  /// All zeros again, without a strip.
  void clear(std::size_t number);
  void add_block(std::size_t number, std::size_t row, std::size_t col);
  void find_active(const Grid<std::uint8_t>& interior);
  void find_active(std::size_t number);
  void find_touched();

  SteadyKernels kernels_;
  GridShape shape_;
  std::vector<Level> levels_;  ///< that there can be for the shape, the finest first
  std::vector<Memory> memory_;
  std::size_t depth_ = 0;  ///< levels with active cells
  std::vector<Strip> touched_;
};

}  // namespace wallheat
