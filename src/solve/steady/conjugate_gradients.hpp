#pragma once

#include <cstdint>
#include <functional>
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

/// Conjugate gradients for 4 u - sum of the four neighbours = source at interior cells, of which
/// those of one colour are eliminated (see kernels.hpp), preconditioned by multigrid in single
/// precision (Saad, "Iterative methods for sparse linear systems", 2003, algorithm 9.1). The search
/// directions are single precision, but the residual takes up their exact products in double
/// precision, so it stays that of the answer. Keeps its memory from plan to plan.
class ConjugateGradients {
 public:
  explicit ConjugateGradients(SteadyKernels kernels) : kernels_(kernels), multigrid_(kernels) {}

  /// What comes next is for this mask.
  void assign(const Grid<std::uint8_t>& interior);

  /// Sets out from 0 at interior cells and from `factor` times the domain's value at the others,
  /// with `factor` times the source; an empty one is none.
  void start(const Grid<double>& domain, const Grid<double>& source, double factor);

  struct Progress {
    std::int64_t iterations = 0;
    double residual = 0;  ///< the largest, either way
  };
  /// Iterates until the residual is at most this; or until it does not get smaller any more, or the
  /// limit of iterations is reached. `stopped` is asked after every iteration, and ends it, too.
  Progress iterate(double residual, std::int64_t max_iterations,
                   const std::function<bool(const Progress&)>& stopped);

  /// Comes from w = 0 near enough, for the bound of error_bound.hpp, to 4 w - sum of the neighbours
  /// = 1 and w = 0 at all other cells.
  void solve_bound_function(const std::function<bool(const Progress&)>& stopped);

  struct Measured {
    double residual = 0;  ///< the largest, either way
    double x = 0;         ///< the largest answer at an interior cell, either way
  };
  /// Computes the residual anew from the answer.
  Measured measure();
  /// Writes the answer, multiplied by `factor`, into the interior cells of a grid.
  void store(double factor, Grid<double>& field) const;

 private:
  /// `constant` is added to the source.
  void set_source(const Grid<double>& source, double factor, double constant);
  void begin();

  SteadyKernels kernels_;
  Multigrid multigrid_;
  GridShape shape_;
  ZeroedArray<double> memory_;
  ZeroedArray<double> source_;  ///< empty if there is none
  Vectors vectors_{};
  double constant_ = 0;          ///< added to the source
  double residual_ = 0;          ///< the largest, either way
  std::vector<double> partial_;  ///< what a loop summed up, or the largest it found, by column
};

}  // namespace wallheat
