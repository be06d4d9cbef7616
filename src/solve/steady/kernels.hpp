#pragma once

#include <cstddef>

// The loops of the steady solver, once per instruction set. What includes this is compiled for
// different processors: it shares nothing but plain data (see cpu/sweep.hpp).

namespace wallheat {

/// Strips begin at a multiple of this many columns and are a multiple of it long.
inline constexpr std::ptrdiff_t strip_width = 8;

/// Neighbouring cells of a row, among them active ones.
struct Strip {
  std::ptrdiff_t cell;  ///< offset of the first cell
  std::ptrdiff_t row;
  std::ptrdiff_t col;
  std::ptrdiff_t cells;
};

/// A grid of the hierarchy. Arrays have `stride` values a row, with a margin of zeros around the
/// grid: cell = (row + 1) * stride + strip_width + col. What is not active is zero, too.
///
/// On a coarse grid A u = diagonal * u - sum of coupling * neighbour. Of its nine points the lower
/// half is stored, as it is symmetric.
///
/// On the finest grid A u = 4 u - sum of the active neighbours. Its cells have colours, as on a
/// chessboard: red if row + col is even. A cell's neighbours are black then: those to
/// the left and right of number k of a row's red cells are numbers k and k + 1 of its black ones,
/// or k - 1 and k; those above and below are number k. So each colour has arrays of its own, laid
/// out like a coarse grid's of half as many columns, with the same strips. Arrays that do not name
/// a colour are of red cells.
///
/// The equations of black cells are taken to hold, so that they are a quarter of the sum of their
/// red neighbours, and S x = right is left for the red ones: S x = 4 x - sum of the black
/// neighbours.
struct Level {
  std::ptrdiff_t rows, cols;  ///< of the grid; half of its columns are of a colour
  std::ptrdiff_t stride;
  const Strip* begin;
  const Strip* end;
  float* inverse[2];  ///< 1 / diagonal, by colour, red first; 0 if the cell is not active
  float* rhs;         ///< of the equation
  float* x;           ///< its solution

  // Coarse grids have these.
  float* work;  ///< the diagonal until the next grid is made; the residual, then a better x
  float *east, *south, *south_east, *south_west;  ///< couplings to the neighbour there
  /// The weights of a cell of this grid at the nine cells (2 row + 1 +- 1, 2 col + 1 +- 1) of the
  /// next finer one, row by row: the columns of the interpolation P.
  float* weights[9];

  // The finest grid has these.
  float* black;
  float* direction;  ///< of conjugate gradients
};

/// The vectors of conjugate gradients, in double precision, by colour if there are two.
struct Vectors {
  double* x[2];
  double* residual;         ///< of red cells; rounded it is Level::rhs
  double* black_direction;  ///< the direction at black cells
  const double* source[2];  ///< null if there is none
};

/// A value for each column. Sums and maxima are made column by column, so that their order does not
/// depend on the width of a vector.
struct ColumnMaxima {
  double* residual;  ///< largest |residual|
  double* x;         ///< largest |x|
};

/// All maxima keep a NaN.
struct SteadyKernels {
  /// Makes the weights of `coarse`, whose strips and `inverse` (not 0 where active) are known, and
  /// its operator P^T A P.
  void (*coarsen)(Level fine, Level coarse);
  /// A V-cycle over `count` levels from the finest: x = about S^-1 right. Adds right * x to
  /// `partial`.
  void (*cycle)(const Level* levels, std::size_t count, double* partial);
  /// In some strips: x = 0 at active cells, else factor * value; `values` are those of the
  /// grid row by row.
  void (*load)(Level, const Strip* begin, const Strip* end, const double* values, double factor,
               double* const x[2]);
  /// x = a quarter of the sum of the neighbours, the source and the constant, at black cells.
  void (*solve_black)(Level, Vectors, double constant);
  /// residual = sum of the neighbours + source + constant - 4 x. That of black cells is looked at,
  /// but not kept.
  void (*residual)(Level, Vectors, double constant, ColumnMaxima largest);
  /// direction = x + beta * direction
  void (*update_direction)(Level, float beta);
  /// Adds direction * S direction to `partial`, and leaves the direction's black cells to axpy().
  void (*apply)(Level, Vectors, double* partial);
  /// x += alpha * direction, residual -= alpha * S direction. The largest |residual| goes to
  /// `largest`.
  void (*axpy)(Level, Vectors, double alpha, double* largest);
};

}  // namespace wallheat
