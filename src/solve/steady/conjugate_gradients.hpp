#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "solve/steady/kernels.hpp"
#include "solve/zeroed_array.hpp"
#include "wallheat/grid.hpp"

namespace wallheat {

/// Black-box multigrid for the interior cells of a mask, as a preconditioner. Interpolation and
/// Galerkin operators are computed from the matrix, so walls separate rooms on coarse grids, too.
/// The coarse cells are every second cell of every second row. The values are in single precision,
/// which suffices for a preconditioner. The V-cycle is a symmetric positive definite operator.
/// Memory is reused for the next mask.
class Multigrid {
 public:
  explicit Multigrid(SteadyKernels kernels) : kernels_(kernels) {}

  /// Sets up the hierarchy for a mask.
  void assign(const Grid<std::uint8_t>& interior);
  [[nodiscard]] const Level& finest() const { return levels_.front(); }
  /// Returns a strip for each row of the finest grid that contains the active cells and their
  /// neighbours.
  [[nodiscard]] const std::vector<Strip>& touched() const { return touched_; }
  /// Returns the number of values of an array of the finest grid, including its margin.
  [[nodiscard]] std::size_t size() const { return memory_.front().size; }
  /// Makes one V-cycle: finest().x approximates S^-1 finest().rhs. Adds their dot product to
  /// `partial`, by column.
  void cycle(double* partial) const { kernels_.cycle(levels_.data(), depth_, partial); }

 private:
  /// Memory of a level.
  struct Memory {
    std::size_t size = 0;  ///< number of values per array
    ZeroedArray<float> arrays;
    std::vector<Strip> strips;
  };
  void add_level(std::size_t rows, std::size_t cols);
  /// Clears a level: all values are 0, and there are no strips.
  void clear(std::size_t number);
  void add_block(std::size_t number, std::size_t row, std::size_t col);
  void find_active(const Grid<std::uint8_t>& interior);
  void find_active(std::size_t number);
  void find_touched();

  SteadyKernels kernels_;
  GridShape shape_;
  std::vector<Level> levels_;  ///< all levels that the shape allows, the finest first
  std::vector<Memory> memory_;
  std::size_t depth_ = 0;  ///< number of levels with active cells
  std::vector<Strip> touched_;
};

/// Conjugate gradients for 4 u - sum of the four neighbours = source in the interior cells,
/// preconditioned by Multigrid (Saad, "Iterative methods for sparse linear systems", 2003,
/// algorithm 9.1). The cells of one colour are eliminated (see kernels.hpp). Search directions are
/// in single precision, but the residual is updated with their exact products in double precision,
/// so it remains the residual of the solution. Memory is reused for the next plan.
class ConjugateGradients {
 public:
  explicit ConjugateGradients(SteadyKernels kernels) : kernels_(kernels), multigrid_(kernels) {}

  /// Sets the mask for all following calls.
  void assign(const Grid<std::uint8_t>& interior);

  /// Starts from 0 in interior cells. Fixed cells have `factor` times the values of `domain`. The
  /// source is `factor` times `source`, which may be empty.
  void start(const Grid<double>& domain, const Grid<double>& source, double factor);

  struct Progress {
    std::int64_t iterations = 0;
    double residual = 0;  ///< largest magnitude of the residual
  };
  /// Iterates until the residual is at most `residual`, until it does not decrease any more, or for
  /// max_iterations. Calls stopped() after each iteration, and returns if it returns true.
  Progress iterate(double residual, std::int64_t max_iterations,
                   const std::function<bool(const Progress&)>& stopped);

  /// Solves 4 w - sum of the neighbours = 1 with w = 0 in all fixed cells, accurately enough for
  /// error_bound.hpp. Starts from w = 0.
  void solve_bound_function(const std::function<bool(const Progress&)>& stopped);

  struct Measured {
    double residual = 0;  ///< largest magnitude of the residual
    double x = 0;         ///< largest magnitude of the solution in interior cells
  };
  /// Computes the residual from the solution.
  Measured measure();
  /// Writes the solution, multiplied by `factor`, to the interior cells of a grid.
  void store(double factor, Grid<double>& field) const;

 private:
  /// Sets the source to factor * source + constant.
  void set_source(const Grid<double>& source, double factor, double constant);
  void begin();

  SteadyKernels kernels_;
  Multigrid multigrid_;
  GridShape shape_;
  ZeroedArray<double> memory_;
  ZeroedArray<double> source_;  ///< empty if there is no source
  Vectors vectors_{};
  double constant_ = 0;          ///< added to the source
  double residual_ = 0;          ///< largest magnitude of the residual
  std::vector<double> partial_;  ///< partial sums or maxima of a loop, by column
};

}  // namespace wallheat
