#pragma once

#include "core/cell_statistics.hpp"
#include "solve/steady/coarsening_loops.hpp"

// The V-cycle, and the loops of conjugate gradients. As with coarsening_loops.hpp, include this
// header only in the files that are compiled once per instruction set.

namespace wallheat {
// NOLINTBEGIN(misc-definitions-in-headers): each of these files needs its own copy of the code
namespace {

// The V-cycle. One Jacobi step before the coarse grid and one after it smooth the error.

[[gnu::always_inline]] inline float sum_of_neighbours(const NinePoints& op, const float* x,
                                                      std::ptrdiff_t i) {
  float of_row[3]{};  // independent sums, which can be computed in parallel
  for_each_offset([&]<int row, int col>() {
    if constexpr (row != 0 || col != 0)
      of_row[row + 1] += op.coupled<0, 0, row, col>(i, x[op.at<row, col>(i)]);
  });
  return of_row[1] + (of_row[0] + of_row[2]);
}

/// Makes a Jacobi step: target = x + (rhs - A x) / diagonal.
[[gnu::flatten]] void relax(Level level, const float* x, float* target) {
  const NinePoints op{level};
  for_each_cell(level, [=](StripCell at) {
    target[at.i] = level.inverse[0][at.i] * (level.rhs[at.i] + sum_of_neighbours(op, x, at.i));
  });
}

/// Sets rhs = P^T residual and x = rhs / diagonal on the coarse grid.
template <class Operator>
[[gnu::always_inline]] inline void restrict_residual(const Operator& op, const float* residual,
                                                     Level coarse) {
  for_each_pair(op, coarse, [=](std::ptrdiff_t i, std::ptrdiff_t f) {
    float of_row[3]{};
    for_each_offset([&]<int row, int col>() {
      // The residual of black cells is 0.
      if constexpr (Operator::has(1, 1) || (row + col) % 2 == 0)
        of_row[row + 1] +=
            coarse.weights[weight_index(row, col)][i] * residual[op.template at<row, col>(f)];
    });
    const float sum = of_row[1] + (of_row[0] + of_row[2]);
    coarse.rhs[i] = sum;
    coarse.x[i] = coarse.inverse[0][i] * sum;
  });
}

/// Returns the value of P x at a cell of the finer grid. `odd_row` and `odd_col` state whether its
/// row and its column are odd. i is the coarse cell in this row and column; if the row or the
/// column is even, it is the coarse cell in the next one.
template <bool odd_row, bool odd_col>
[[gnu::always_inline]] inline float interpolated(const Level& coarse, const float* x,
                                                 std::ptrdiff_t i) {
  float sum = 0;
  for_each_offset([&]<int row, int col>() {
    if constexpr ((row == 0) == odd_row && (col == 0) == odd_col) {
      const std::ptrdiff_t other = i - (row > 0 ? coarse.stride : 0) - (col > 0 ? 1 : 0);
      sum += coarse.weights[weight_index(row, col)][other] * x[other];
    }
  });
  return sum;
}

/// Calls body<odd_row>(cell, coarse cell) for every `step`-th cell in the strips, with the coarse
/// cell that interpolated() needs for it.
template <std::ptrdiff_t step, class Body>
[[gnu::always_inline]] inline void for_each_coarse(const Level& fine, const Level& coarse,
                                                   Body body) {
  for (const Strip* strip = fine.begin; strip != fine.end; ++strip) {
    const std::ptrdiff_t cell = strip->cell;
    const std::ptrdiff_t cells = strip->cells / strip_width * (strip_width / step);
    const std::ptrdiff_t coarse_cell =
        (strip->row / 2 + 1) * coarse.stride + strip_width + strip->col / step;
    const auto take = [&]<bool odd_row>() {
#pragma GCC ivdep
      for (std::ptrdiff_t k = 0; k < cells; ++k)
        body.template operator()<odd_row>(cell + step * k, coarse_cell + k);
    };
    strip->row % 2 == 1 ? take.template operator()<true>() : take.template operator()<false>();
  }
}

/// Solves a coarse grid approximately: computes in `work` a better solution than the initial x =
/// rhs / diagonal.
[[gnu::flatten]] void solve_coarse(const Level* level, const Level* end) {
  const Level fine = *level;
  if (level + 1 == end) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      relax(fine, fine.x, fine.work);
      relax(fine, fine.work, fine.x);
    }
  } else {
    const Level coarse = *(level + 1);
    const NinePoints op{fine};
    for_each_cell(fine,
                  [=](StripCell at) { fine.work[at.i] = sum_of_neighbours(op, fine.x, at.i); });
    restrict_residual(op, fine.work, coarse);
    solve_coarse(level + 1, end);
    for_each_coarse<2>(fine, coarse, [=]<bool odd>(std::ptrdiff_t i, std::ptrdiff_t c) {
      fine.x[i] += interpolated<odd, false>(coarse, coarse.work, c);
      fine.x[i + 1] += interpolated<odd, true>(coarse, coarse.work, c);
    });
  }
  relax(fine, fine.x, fine.work);
}

/// Sets black = factor / 4 * sum of the red neighbours.
void set_black(Level level, const float* red, float factor) {
  for_each_cell<1>(level, [=](StripCell at) {
    level.black[at.i] = factor * level.inverse[1][at.i] * sum_of_neighbours(red, at, level.stride);
  });
}

[[gnu::flatten]] void cycle(const Level* levels, std::size_t count, double* partial) {
  const Level fine = levels[0];
  set_black(fine, fine.rhs, 0.25F);
  if (count > 1) {
    const Level coarse = levels[1];
    for_each_cell(
        fine, [=](StripCell at) { fine.x[at.i] = sum_of_neighbours(fine.black, at, fine.stride); });
    restrict_residual(FivePoints{fine}, fine.x, coarse);
    solve_coarse(levels + 1, levels + count);
    for_each_coarse<1>(fine, coarse, [=]<bool odd>(std::ptrdiff_t i, std::ptrdiff_t c) {
      fine.x[i] = fine.inverse[0][i] * fine.rhs[i] + interpolated<odd, odd>(coarse, coarse.work, c);
    });
    set_black(fine, fine.x, 1);
  }
  for_each_cell(fine, [=](StripCell at) {
    const float right = fine.rhs[at.i];
    const float x =
        fine.inverse[0][at.i] * (right + sum_of_neighbours(fine.black, at, fine.stride));
    fine.x[at.i] = x;
    partial[at.col] += static_cast<double>(right) * static_cast<double>(x);
  });
}

// Conjugate gradients.

double size_of(double value) { return __builtin_fabs(value); }

/// Returns 1 if a cell is active, otherwise 0.
double one_if_active(float inverse) { return 4 * static_cast<double>(inverse); }

void load(Level level, const Strip* strip, const Strip* end, const double* values, double factor,
          double* const x[2]) {
  for (; strip != end; ++strip) {
    for (std::ptrdiff_t colour = 0; colour < 2; ++colour) {
      const std::ptrdiff_t first = 2 * strip->col + (strip->row + colour) % 2;
      const std::ptrdiff_t within = (level.cols - first + 1) / 2;
      const std::ptrdiff_t cells = strip->cells < within ? strip->cells : within;
      const float* const inverse = level.inverse[colour] + strip->cell;
      const double* const from = values + strip->row * level.cols + first;
      double* const to = x[colour] + strip->cell;
#pragma GCC ivdep
      for (std::ptrdiff_t k = 0; k < cells; ++k) {
        // The value may be infinite in active cells, where it is not used.
        const double value = factor * from[2 * k];
        to[k] = static_cast<double>(inverse[k]) > 0 ? 0 : value;
      }
    }
  }
}

/// Calls body<true>() if there is a source, otherwise body<false>().
template <class Body>
void with_or_without_source(Vectors v, Body body) {
  v.source[0] != nullptr ? body.template operator()<true>() : body.template operator()<false>();
}

/// Returns the sum of the neighbours, added in the same order as in proven_error_bound(), plus
/// source and constant.
template <bool with_source>
[[gnu::always_inline]] inline double right_side(const double* across, const double* source,
                                                StripCell at, std::ptrdiff_t stride,
                                                double constant) {
  const double sum = sum_of_neighbours(across, at, stride);
  return (with_source ? sum + source[at.i] : sum) + constant;
}

void solve_black(Level level, Vectors v, double constant) {
  with_or_without_source(v, [&]<bool with_source>() {
    for_each_cell<1>(level, [=](StripCell at) {
      const double sum = right_side<with_source>(v.x[0], v.source[1], at, level.stride, constant);
      const double one = one_if_active(level.inverse[1][at.i]);
      v.x[1][at.i] = one * (0.25 * sum) + (1 - one) * v.x[1][at.i];
    });
  });
}

template <int colour, bool with_source>
void residual_of(Level level, Vectors v, double constant, ColumnMaxima largest) {
  for_each_cell<colour>(level, [=](StripCell at) {
    const double sum =
        right_side<with_source>(v.x[1 - colour], v.source[colour], at, level.stride, constant);
    const double x = v.x[colour][at.i];
    const double one = one_if_active(level.inverse[colour][at.i]);
    const double new_residual = one * (sum - 4 * x);
    if constexpr (colour == 0) {
      v.residual[at.i] = new_residual;
      level.rhs[at.i] = static_cast<float>(new_residual);
    }
    largest.residual[at.col] = nan_max(largest.residual[at.col], size_of(new_residual));
    largest.x[at.col] = nan_max(largest.x[at.col], one * size_of(x));
  });
}

void residual(Level level, Vectors v, double constant, ColumnMaxima largest) {
  with_or_without_source(v, [&]<bool with_source>() {
    residual_of<0, with_source>(level, v, constant, largest);
    residual_of<1, with_source>(level, v, constant, largest);
  });
}

void update_direction(Level level, float beta) {
  for_each_cell(level, [=](StripCell at) {
    level.direction[at.i] = level.x[at.i] + beta * level.direction[at.i];
  });
}

/// Returns the value of S direction in a red cell.
[[gnu::always_inline]] inline double applied(const Level& level, const Vectors& v, StripCell at) {
  return 4 * static_cast<double>(level.direction[at.i]) -
         sum_of_neighbours(v.black_direction, at, level.stride);
}

void apply(Level level, Vectors v, double* partial) {
  const float* const p = level.direction;
  for_each_cell<1>(level, [=](StripCell at) {
    const double beside = static_cast<double>(p[at.i]) + static_cast<double>(p[at.i + at.side]);
    const double along =
        static_cast<double>(p[at.i - level.stride]) + static_cast<double>(p[at.i + level.stride]);
    v.black_direction[at.i] = static_cast<double>(level.inverse[1][at.i]) * (beside + along);
  });
  for_each_cell(level, [=](StripCell at) {
    partial[at.col] += static_cast<double>(p[at.i]) * applied(level, v, at);
  });
}

void axpy(Level level, Vectors v, double alpha, double* largest) {
  for_each_cell(level, [=](StripCell at) {
    const double one = one_if_active(level.inverse[0][at.i]);
    const double new_residual = v.residual[at.i] - one * (alpha * applied(level, v, at));
    v.x[0][at.i] += alpha * static_cast<double>(level.direction[at.i]);
    v.residual[at.i] = new_residual;
    level.rhs[at.i] = static_cast<float>(new_residual);
    largest[at.col] = nan_max(largest[at.col], size_of(new_residual));
  });
}

constexpr SteadyKernels all_kernels = {coarsen,          cycle, load, solve_black, residual,
                                       update_direction, apply, axpy};

}  // namespace
// NOLINTEND(misc-definitions-in-headers)
}  // namespace wallheat
