#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "solve/steady/multigrid.hpp"

namespace wallheat {

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
  void solve_for_ones(const std::function<bool(const Progress&)>& stopped);

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
