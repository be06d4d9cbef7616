#pragma once

#include <cstddef>
#include <cstdint>

// The loops of the steady solver, once per instruction set. What includes this is compiled for
// different processors: it shares nothing but plain data (see cpu/sweep.hpp).

namespace wallheat {

/// Strips begin at a multiple of this many columns and are a multiple of it long.
inline constexpr std::size_t strip_width = 8;

/// Neighbouring cells of a row, among them active ones.
struct Strip {
  std::size_t cell;  ///< offset of the first cell
  std::size_t row;
  std::size_t col;
  std::size_t cells;
};

/// A coarse grid. Its arrays have `stride` values a row, with a margin of zeros around the grid; in
/// strips, cells that are not active are zero, too. `cell = (row + 1) * stride + strip_width +
/// col`.
///
/// The operator is A u = diagonal * u - sum of coupling * neighbour. Of its nine points the lower
/// half is stored, as it is symmetric.
struct LevelData {
  std::size_t rows;
  std::size_t cols;
  std::ptrdiff_t stride;
  const Strip* begin;
  const Strip* end;
  float* inverse;  ///< 1 / diagonal; 0 where the cell is not active
  float* diagonal;
  float* east;  ///< couplings to the neighbour there
  float* south;
  float* south_east;
  float* south_west;
  /// By how much a cell of this grid counts at the nine cells (2 row + 1 +- 1, 2 col + 1 +- 1) of
  /// the next finer one, row by row.
  float* weights[9];
};

/// The finest grid, where A u = 4 u - sum of the active neighbours. Its cells have colours, as on a
/// chessboard: where row + col is even, they are red. A cell's neighbours are of the other colour:
/// left and right of number k of a row of its colour, they are k and k + 1, or k - 1 and k; above
/// and below they are k. So each colour has arrays of its own, laid out like those of a coarse grid
/// of half as many columns; strips hold for both.
struct FinestData {
  std::size_t rows;
  std::size_t cols;
  std::ptrdiff_t stride;
  const Strip* begin;
  const Strip* end;
  float* inverse[2];  ///< of red and black cells: 1 / 4; 0 where the cell is not active
};

/// What is left to solve on the finest grid, and the answer so far; of red cells, or of both
/// colours.
struct Conjugate {
  double* answer[2];
  double* residual;
  float* rounded;  ///< the residual in single precision
  float* direction;
  double* across;           ///< of black cells: what the direction makes of them
  double* product;          ///< S direction
  const double* source[2];  ///< null where there is none
};

/// What measure() finds, a value for each column; all must be 0 before, `highest` below everything.
struct Extremes {
  double* residual;  ///< largest |residual|
  double* highest;   ///< largest residual of an active cell
  double* answer;    ///< largest |answer|
};

struct SteadyKernels {
  // On a coarse grid.

  /// left = sum of coupling * neighbour. That is right - A x if x = right / diagonal.
  void (*gather)(const LevelData&, const float* x, float* left);
  /// target = x + (right - A x) / diagonal, a step of Jacobi
  void (*relax)(const LevelData&, const float* x, const float* right, float* target);
  /// On the coarse grid: right = P^T left, x = right / diagonal.
  void (*restrict_residual)(const LevelData& fine, const LevelData& coarse, const float* left,
                            float* right, float* x);
  /// x += P correction
  void (*add_correction)(const LevelData& fine, const LevelData& coarse, const float* correction,
                         float* x);
  /// The weights of `coarse`, whose strips and `inverse` (not 0 where active) are known, and from
  /// them its operator P^T A P.
  void (*coarsen)(const LevelData& fine, const LevelData& coarse);

  // On the finest grid. There, the equations of black cells are taken to hold: what spreads to
  // them is a quarter of the sum of their red neighbours. With S x = 4 x - the sum of what spreads
  // from x to the black neighbours, S x = right is left for the red cells.

  /// black = factor * what spreads
  void (*spread)(const FinestData&, const float* red, float factor, float* black);
  /// left = sum of the neighbours at active cells, anything at the others. That is right - S x if x
  /// = right / 4, from which `black` spreads.
  void (*gather_red)(const FinestData&, const float* black, float* left);
  /// As that of coarse grids. Where the residual of black cells is zero, and their values do not
  /// matter, red ones are all of P.
  void (*restrict_red)(const FinestData&, const LevelData& coarse, const float* left, float* right,
                       float* x);
  /// x = right / 4 + P correction
  void (*correct_red)(const FinestData&, const LevelData& coarse, const float* correction,
                      const float* right, float* x);
  /// target = x + (right - S x) / 4, where `black` spreads from x; columns += right target
  void (*relax_red)(const FinestData&, const float* black, const float* right, float* target,
                    double* columns);
  void (*coarsen_finest)(const FinestData&, const LevelData& coarse);

  // Sums and maxima are made column by column, so that their order does not depend on the width of
  // a vector; `columns` has as many zeros before as a row of the grid has values.

  /// In some strips: answer = 0 at active cells and factor * values at the others, where `values`
  /// are those of a grid row by row.
  void (*begin)(const FinestData&, const Strip* begin, const Strip* end, const double* values,
                double factor, double* const answer[2]);
  /// Sets the answer at black cells so that their equations hold, with a source of `constant` more.
  void (*solve_black)(const FinestData&, const Conjugate&, double constant);
  /// residual = sum of the neighbours + source + constant - 4 answer, where `answer` has its fixed
  /// values, too; columns = max(columns, |residual|)
  void (*take_residual)(const FinestData&, const Conjugate&, double constant, double* columns);
  /// The same without a constant; and what there is to know of both colours.
  void (*measure)(const FinestData&, const Conjugate&, const Extremes& columns);
  /// direction = z + beta direction
  void (*turn)(const FinestData&, const float* z, float beta, float* direction);
  /// across = a quarter of the sum of the neighbours of the direction
  void (*cross)(const FinestData&, const Conjugate&);
  /// product = S direction; columns += direction * S direction
  void (*curvature)(const FinestData&, const Conjugate&, double* columns);
  /// answer += alpha direction; residual -= alpha S direction; columns = max(columns, |residual|)
  void (*advance)(const FinestData&, const Conjugate&, double alpha, double* columns);
};

[[nodiscard]] SteadyKernels baseline_steady_kernels();
[[nodiscard]] SteadyKernels avx2_steady_kernels();
[[nodiscard]] SteadyKernels avx512_steady_kernels();
/// Those of a set that is available.
enum class Isa;
[[nodiscard]] SteadyKernels steady_kernels_for(Isa isa);

}  // namespace wallheat
