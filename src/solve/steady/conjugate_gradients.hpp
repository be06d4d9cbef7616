#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "solve/steady/multigrid.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// Conjugate gradients for 4 u - sum of the four neighbours = 0 at interior cells, preconditioned
/// by multigrid in single precision (Saad, "Iterative methods for sparse linear systems", 2003,
/// algorithm 9.1). The search directions are single precision, but the residual takes up their
/// exact products in double precision, so it stays that of the answer. Keeps its memory from plan
/// to plan.
class ConjugateGradients {
 public:
  explicit ConjugateGradients(SteadyKernels kernels) : kernels_(kernels), multigrid_(kernels) {}

  /// What comes next is for this mask.
  void assign(const Grid<std::uint8_t>& interior);

  /// Sets out from w = 0 for 4 w - sum of the neighbours = 1 and w = 0 at all other cells.
  void start_with_ones();
  /// Sets out from 0 at interior cells and from `factor` times the domain's value at the others.
  void start(const Grid<double>& domain, double factor);

  struct Progress {
    std::int64_t iterations = 0;
    double residual = 0;  ///< the largest, either way
  };
  /// Iterates until the residual is at most this; or until it does not get smaller any more, or the
  /// limit of iterations is reached. `stopped` is asked after every iteration, and ends it, too.
  Progress iterate(double residual, std::int64_t max_iterations,
                   const std::function<bool(const Progress&)>& stopped);

  /// Computes the residual anew from the answer; returns the largest, either way.
  double measure();
  /// Calls body(answer, residual) for every interior cell, in the order of rows.
  template <class Body>
  void for_each_interior(Body body) const {
    const LevelData& level = multigrid_.finest().data;
    for (const Strip* strip = level.begin; strip != level.end; ++strip)
      for (std::size_t i = strip->cell; i < strip->cell + strip->cells; ++i)
        if (level.inverse[i] > 0) body(answer_.data()[i], residual_.data()[i]);
  }
  /// Writes the answer, multiplied by `factor`, into the interior cells of a grid.
  void store(double factor, Grid<double>& field) const;

 private:
  [[nodiscard]] Conjugate vectors() const;
  double sum_of_columns();
  double largest_of_columns();

  SteadyKernels kernels_;
  Multigrid multigrid_;
  ZeroedArray<double> answer_;
  ZeroedArray<double> residual_;
  ZeroedArray<float> direction_;
  std::size_t size_ = 0;
  std::vector<double> columns_;
};

}  // namespace wallheat
