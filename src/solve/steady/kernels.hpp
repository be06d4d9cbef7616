#pragma once

#include <cstddef>
#include <cstdint>

// The loops of the steady solver, once per instruction set. What includes this is compiled for
// different processors: it shares nothing but plain data (see cpu/sweep.hpp).

namespace wallheat {

/// Strips begin at a multiple of this many columns and are a multiple of it long.
inline constexpr std::size_t strip_width = 16;

/// Neighbouring cells of a row, among them active ones.
struct Strip {
  std::size_t cell;  ///< offset of the first cell
  std::size_t row;
  std::size_t col;
  std::size_t cells;
};

/// A grid of the hierarchy. Its arrays have `stride` values a row, with a margin of zeros around
/// the grid; in strips, cells that are not active are zero, too. `cell = (row + 1) * stride +
/// strip_width + col`.
///
/// The operator is A u = diagonal * u - sum of coupling * neighbour. Of its nine points the lower
/// half is stored, as it is symmetric. The finest grid has the diagonal 4 and the coupling 1
/// between active cells, and stores neither.
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

/// What is left to solve on the finest grid, and the answer so far.
struct Conjugate {
  double* answer;
  double* residual;
  float* rounded;  ///< the residual in single precision
  float* direction;
  const double* source;  ///< null where there is none
};

/// What measure() finds, a value for each column; all must be 0 before, `highest` below everything.
struct Extremes {
  double* residual;  ///< largest |residual|
  double* highest;   ///< largest residual of an active cell
  double* answer;    ///< largest |answer|
};

struct SteadyKernels {
  /// target = x + momentum (x - target) + step / diagonal (right - A x); `target` is not `x`.
  void (*smooth)(const LevelData&, const float* x, const float* right, float momentum, float step,
                 float* target);
  /// What smooth() makes of x = first / diagonal right and target = 0.
  void (*smooth_from_zero)(const LevelData&, const float* right, float first, float momentum,
                           float step, float* scratch, float* target);
  /// left = right - A x at active cells; anything at the others.
  void (*residual)(const LevelData&, const float* x, const float* right, float* left);
  /// coarse_right = P^T left
  void (*restrict_residual)(const LevelData& fine, const LevelData& coarse, const float* left,
                            float* coarse_right);
  /// x += P correction
  void (*add_correction)(const LevelData& fine, const LevelData& coarse, const float* correction,
                         float* x);
  /// The weights of `coarse`, whose strips and `inverse` (not 0 where active) are known.
  void (*interpolate)(const LevelData& fine, const LevelData& coarse);
  /// The operator P^T A P of `coarse`, whose weights are known.
  void (*coarsen)(const LevelData& fine, const LevelData& coarse);

  // On the finest grid. Sums and maxima are made column by column, so that their order does not
  // depend on the width of a vector; `columns` has level.cols + strip_width zeros before.

  /// answer = 0 at active cells and factor * values at the others, where `values` are those of a
  /// grid row by row.
  void (*begin)(const LevelData&, const double* values, double factor, double* answer);
  /// direction = z + beta direction
  void (*turn)(const LevelData&, const float* z, float beta, float* direction);
  /// columns += direction * A direction
  void (*curvature)(const LevelData&, const float* direction, double* columns);
  /// columns += a b
  void (*dot)(const LevelData&, const float* a, const float* b, double* columns);
  /// residual = sum of the neighbours + source - 4 answer, where `answer` has its fixed values,
  /// too.
  void (*measure)(const LevelData&, const Conjugate&, const Extremes& columns);
  /// answer += alpha direction; residual -= alpha A direction; columns = max(columns, |residual|)
  void (*advance)(const LevelData&, const Conjugate&, double alpha, double* columns);
};

[[nodiscard]] SteadyKernels baseline_steady_kernels();
[[nodiscard]] SteadyKernels avx2_steady_kernels();
[[nodiscard]] SteadyKernels avx512_steady_kernels();
/// Those of a set that is available.
enum class Isa;
[[nodiscard]] SteadyKernels steady_kernels_for(Isa isa);

}  // namespace wallheat
