#pragma once

#include <cstddef>
#include <vector>

namespace wallheat {

/// A rectangular array of cells in row-major order, shape (rows, cols).
template <class T>
struct Grid {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<T> cells;

  Grid() = default;
  Grid(std::size_t rows_, std::size_t cols_, T fill = T{})
      : rows(rows_), cols(cols_), cells(rows_ * cols_, fill) {}

  [[nodiscard]] T& operator()(std::size_t row, std::size_t col) { return cells[row * cols + col]; }
  [[nodiscard]] const T& operator()(std::size_t row, std::size_t col) const {
    return cells[row * cols + col];
  }
  friend bool operator==(const Grid&, const Grid&) = default;
};

/// The shape of a grid without its cells.
struct GridShape {
  std::size_t rows = 0;
  std::size_t cols = 0;
  friend auto operator<=>(const GridShape&, const GridShape&) = default;
};

}  // namespace wallheat
