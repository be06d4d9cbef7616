#pragma once

#include <cstddef>

// The loops of the steady solver, which are compiled once per instruction set. Files that include
// this header are compiled for different processors, so it contains only plain data (see
// cpu/sweep.hpp).

namespace wallheat {

/// First column and length of a strip are multiples of this number.
inline constexpr std::ptrdiff_t strip_width = 8;

/// Consecutive cells of a row that include the active ones.
struct Strip {
  std::ptrdiff_t cell;  ///< offset of the first cell
  std::ptrdiff_t row;
  std::ptrdiff_t col;
  std::ptrdiff_t cells;
};

/// A grid of the hierarchy. Arrays have `stride` values per row, with a margin of zeros around the
/// grid: cell = (row + 1) * stride + strip_width + col. Inactive cells are zero, too.
///
/// On a coarse grid, A u = diagonal * u - sum of coupling * neighbour over eight neighbours. A is
/// symmetric, so only four couplings per cell are stored.
///
/// On the finest grid, A u = 4 u - sum of the active neighbours. Its cells are coloured like a
/// chessboard: red if row + col is even, otherwise black. All neighbours of a red cell are black.
/// The neighbours to the left and right of the k-th red cell of a row are its black cells k and k +
/// 1, or k - 1 and k; those above and below are black cells k of their rows. So each colour has
/// separate arrays, in the layout of a grid with half as many columns, with the same strips. Arrays
/// without a colour in their name contain red cells.
///
/// Black cells are eliminated: their equations hold, so each is a quarter of the sum of its red
/// neighbours. The equation S x = rhs remains for the red cells, with S x = 4 x - sum of the black
/// neighbours.
struct Level {
  std::ptrdiff_t rows, cols;  ///< shape; on the finest grid, each colour has half of the columns
  std::ptrdiff_t stride;
  const Strip* begin;
  const Strip* end;
  float* inverse[2];  ///< 1 / diagonal, by colour, red first; 0 if the cell is not active
  float* rhs;         ///< right-hand side
  float* x;           ///< solution

  // Only on coarse grids:
  float* work;  ///< the diagonal during set-up; then the residual, and an improved x
  float *east, *south, *south_east, *south_west;  ///< couplings to these neighbours
  /// Weights of a cell of this grid at the nine cells (2 row + 1 +- 1, 2 col + 1 +- 1) of the next
  /// finer grid, row by row. They are a column of the interpolation P.
  float* weights[9];

  // Only on the finest grid:
  float* black;
  float* direction;  ///< search direction of conjugate gradients
};

/// The vectors of conjugate gradients, in double precision. Arrays of two contain red and black
/// cells.
struct Vectors {
  double* x[2];
  double* residual;         ///< red cells; Level::rhs is the same in single precision
  double* black_direction;  ///< search direction in black cells
  const double* source[2];  ///< null if there is no source
};

/// One value per column. Sums and maxima are computed by column, so that their order does not
/// depend on the width of the vector registers.
struct ColumnMaxima {
  double* residual;  ///< largest |residual|
  double* x;         ///< largest |x|
};

/// The loops for one instruction set. All maxima are NaN if a value is NaN.
struct SteadyKernels {
  /// Computes the weights of `coarse` and its operator P^T A P. Its strips must be set, and
  /// `inverse` must not be 0 in active cells.
  void (*coarsen)(Level fine, Level coarse);
  /// Makes a V-cycle over `count` levels from the finest: x approximates S^-1 rhs. Adds rhs * x to
  /// `partial`.
  void (*cycle)(const Level* levels, std::size_t count, double* partial);
  /// Sets x in the given strips: to 0 in active cells, otherwise to factor * value. `values` is a
  /// grid in row-major order.
  void (*load)(Level, const Strip* begin, const Strip* end, const double* values, double factor,
               double* const x[2]);
  /// Sets x in black cells to a quarter of neighbours + source + constant.
  void (*solve_black)(Level, Vectors, double constant);
  /// Computes residual = sum of the neighbours + source + constant - 4 x. The residual of black
  /// cells contributes to the maximum, but is not stored.
  void (*residual)(Level, Vectors, double constant, ColumnMaxima largest);
  /// Sets direction = x + beta * direction.
  void (*update_direction)(Level, float beta);
  /// Adds direction * S direction to `partial`, and stores the direction in black cells for axpy().
  void (*apply)(Level, Vectors, double* partial);
  /// Sets x += alpha * direction and residual -= alpha * S direction. Stores the largest |residual|
  /// in `largest`.
  void (*axpy)(Level, Vectors, double alpha, double* largest);
};

}  // namespace wallheat
