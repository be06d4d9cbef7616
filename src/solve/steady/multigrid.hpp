#pragma once

#include <cstdint>
#include <vector>

#include "solve/steady/kernels.hpp"
#include "solve/zeroed_array.hpp"
#include "wallheat/grid.hpp"

namespace wallheat {

/// One grid of the hierarchy with its memory, which is kept from plan to plan: all that a plan may
/// have written lies in its strips and is cleared before the next.
struct Level {
  /// Makes room for a grid, with all values zero and no strip; `finest` has no stored operator.
  void assign(std::size_t rows, std::size_t cols, bool finest);
  /// Adds a cell of a strip, in the order of rows and columns; strips grow as needed.
  void add_block(std::size_t row, std::size_t col);
  void seal();  ///< no strip is added any more

  [[nodiscard]] std::size_t cell(std::size_t row, std::size_t col) const {
    return (row + 1) * static_cast<std::size_t>(data.stride) + strip_width + col;
  }
  LevelData data{};
  std::int64_t active = 0;  ///< number of active cells
  float* right = nullptr;   ///< of the equation A x = right
  float* x = nullptr;
  float* scratch = nullptr;
  std::size_t size = 0;  ///< values of an array, its margin included
  std::vector<Strip> strips;
  std::vector<float*> arrays;  ///< all of them
  ZeroedArray<float> memory;
};

/// A V-cycle of black-box multigrid for A u = right on the active cells of a mask, where A u = 4 u
/// - sum of the active neighbours: interpolation and Galerkin operators follow from the matrix, so
/// that no value leaks through a wall (J. E. Dendy, "Black box multigrid", J. Comput. Phys. 48,
/// 1982). Coarse cells are every second cell of every second row. Smoothing is by two steps of a
/// Chebyshev iteration with the inverse diagonal (Saad, "Iterative methods for sparse linear
/// systems", 2003, section 12.3). All in single precision, as it only preconditions. The cycle is a
/// symmetric positive definite operator.
class Multigrid {
 public:
  explicit Multigrid(SteadyKernels kernels) : kernels_(kernels) {}

  void assign(const Grid<std::uint8_t>& interior);
  [[nodiscard]] Level& finest() { return levels_.front(); }
  [[nodiscard]] const Level& finest() const { return levels_.front(); }
  /// finest().x = about A^-1 finest().right
  void cycle() { cycle(0); }

 private:
  void cycle(std::size_t number);
  void solve_coarsest(Level& level);
  void invert_coarsest(const Level& level);
  [[nodiscard]] std::vector<double> coarsest_matrix(const Level& level) const;

  SteadyKernels kernels_;
  std::vector<Level> levels_;
  std::size_t depth_ = 0;  ///< levels in use
  // The coarsest matrix, inverted, and where its cells are; nothing where it has too many.
  std::vector<float> inverse_;
  std::vector<std::size_t> cells_;
  std::vector<float> gathered_;
};

}  // namespace wallheat
