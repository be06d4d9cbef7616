#pragma once

#include "solve/steady/kernels.hpp"

// For the files of the instruction sets alone: the loops, which the compiler vectorises.
// Everything is in an unnamed namespace, for the reason that cpu/sweep.hpp gives. No loop sums
// across lanes and nothing is contracted to FMA, so all sets give the same bits.

namespace wallheat {
// NOLINTBEGIN(misc-definitions-in-headers): each of those files is to have code of its own
namespace {

/// Calls body(cell, col) for all cells of the strips; no call may depend on another.
template <class Body>
[[gnu::always_inline]] inline void for_each_cell(const LevelData& level, Body body) {
  for (const Strip* strip = level.begin; strip != level.end; ++strip) {
    const auto cell = static_cast<std::ptrdiff_t>(strip->cell);
    const auto col = static_cast<std::ptrdiff_t>(strip->col);
    const auto cells = static_cast<std::ptrdiff_t>(strip->cells / strip_width * strip_width);
#pragma GCC ivdep
    for (std::ptrdiff_t i = 0; i < cells; ++i) body(cell + i, col + i);
  }
}

/// The same for strips of a coarse grid, clipped at its edge: body(cell, cell of the finer grid at
/// the same place).
template <class Body>
[[gnu::always_inline]] inline void for_each_pair(const LevelData& fine, const LevelData& coarse,
                                                 Body body) {
  for (const Strip* strip = coarse.begin; strip != coarse.end; ++strip) {
    const std::size_t clipped =
        strip->cells < coarse.cols - strip->col ? strip->cells : coarse.cols - strip->col;
    const auto cell = static_cast<std::ptrdiff_t>(strip->cell);
    const auto place = static_cast<std::ptrdiff_t>(2 * strip->row + 2) * fine.stride +
                       static_cast<std::ptrdiff_t>(strip_width + 2 * strip->col + 1);
    const auto cells = static_cast<std::ptrdiff_t>(clipped);
#pragma GCC ivdep
    for (std::ptrdiff_t i = 0; i < cells; ++i) body(cell + i, place + 2 * i);
  }
}

/// An operator by its diagonal and couplings: five points with constants, or nine points stored.
template <bool nine>
class Operator {
 public:
  explicit Operator(const LevelData& level)
      : inverse_(level.inverse),
        diagonal_(level.diagonal),
        east_(level.east),
        south_(level.south),
        south_east_(level.south_east),
        south_west_(level.south_west),
        stride_(level.stride) {}

  [[nodiscard]] float diagonal(std::ptrdiff_t i) const {
    if constexpr (nine) return diagonal_[i];
    return 16 * inverse_[i];
  }

  /// The coupling between a cell and its neighbour some rows and columns away.
  template <int rows, int cols>
  [[nodiscard]] float coupling(std::ptrdiff_t i) const {
    const std::ptrdiff_t other = i + rows * stride_ + cols;
    if constexpr (!nine) {
      return rows * cols == 0 ? 16 * (inverse_[i] * inverse_[other]) : 0.0F;
    } else if constexpr (rows < 0 || (rows == 0 && cols < 0)) {
      return coupling<-rows, -cols>(other);
    } else if constexpr (rows == 0) {
      return east_[i];
    } else {
      return (cols == 0 ? south_ : cols > 0 ? south_east_ : south_west_)[i];
    }
  }

  /// A x at a cell. With five points right at active cells only, and for an x that is zero at the
  /// others.
  [[nodiscard]] float times(const float* x, std::ptrdiff_t i) const {
    const float* up = x - stride_;
    const float* down = x + stride_;
    if constexpr (!nine) {
      return 4 * x[i] - ((x[i - 1] + x[i + 1]) + (up[i] + down[i]));
    } else {
      const float row = coupling<0, -1>(i) * x[i - 1] + coupling<0, 1>(i) * x[i + 1];
      const float above = coupling<-1, -1>(i) * up[i - 1] + coupling<-1, 0>(i) * up[i] +
                          coupling<-1, 1>(i) * up[i + 1];
      const float below = coupling<1, -1>(i) * down[i - 1] + coupling<1, 0>(i) * down[i] +
                          coupling<1, 1>(i) * down[i + 1];
      return diagonal_[i] * x[i] - (row + (above + below));
    }
  }

 private:
  const float* inverse_;
  const float* diagonal_;
  const float* east_;
  const float* south_;
  const float* south_east_;
  const float* south_west_;
  std::ptrdiff_t stride_;
};

/// Calls function(operator) with the operator of a level.
template <class Function>
[[gnu::always_inline]] inline void with_operator(const LevelData& level, Function function) {
  if (level.diagonal == nullptr) {
    function(Operator<false>(level));
  } else {
    function(Operator<true>(level));
  }
}

void smooth(const LevelData& level, const float* x, const float* right, float momentum, float step,
            float* target) {
  const float* inverse = level.inverse;
  with_operator(level, [=](const auto& op) {
    for_each_cell(level, [=](std::ptrdiff_t i, std::ptrdiff_t) {
      target[i] =
          x[i] + momentum * (x[i] - target[i]) + step * (inverse[i] * (right[i] - op.times(x, i)));
    });
  });
}

void smooth_from_zero(const LevelData& level, const float* right, float first, float momentum,
                      float step, float* scratch, float* target) {
  const float* inverse = level.inverse;
  if (level.diagonal == nullptr) {  // scratch would be first / 4 right: one pass suffices
    const float quarter = first / 4;
    const float own = 4 * (quarter * (1 + momentum));
    const Operator<false> op(level);
    for_each_cell(level, [=](std::ptrdiff_t i, std::ptrdiff_t) {
      target[i] = inverse[i] * (own * right[i] + step * (right[i] - quarter * op.times(right, i)));
    });
    return;
  }
  for_each_cell(level, [=](std::ptrdiff_t i, std::ptrdiff_t) {
    scratch[i] = first * (inverse[i] * right[i]);
    target[i] = 0;
  });
  smooth(level, scratch, right, momentum, step, target);
}

void residual(const LevelData& level, const float* x, const float* right, float* left) {
  with_operator(level, [=](const auto& op) {
    for_each_cell(level,
                  [=](std::ptrdiff_t i, std::ptrdiff_t) { left[i] = right[i] - op.times(x, i); });
  });
}

/// The nine weights of a coarse cell.
struct Weights {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): zeros first would cost in a hot loop
  explicit Weights(const LevelData& coarse, std::ptrdiff_t i) {
    for (int place = 0; place < 9; ++place) at[place] = coarse.weights[place][i];
  }
  float at[9];
};

void restrict_residual(const LevelData& fine, const LevelData& coarse, const float* left,
                       float* coarse_right) {
  const float* const w0 = coarse.weights[0];
  const float* const w1 = coarse.weights[1];
  const float* const w2 = coarse.weights[2];
  const float* const w3 = coarse.weights[3];
  const float* const w5 = coarse.weights[5];
  const float* const w6 = coarse.weights[6];
  const float* const w7 = coarse.weights[7];
  const float* const w8 = coarse.weights[8];
  const float* const w4 = coarse.weights[4];
  const std::ptrdiff_t stride = fine.stride;
  for_each_pair(fine, coarse, [=](std::ptrdiff_t i, std::ptrdiff_t f) {
    const float* up = left - stride;
    const float* down = left + stride;
    const float row = (w3[i] * left[f - 1] + w5[i] * left[f + 1]) + w4[i] * left[f];
    const float above = (w0[i] * up[f - 1] + w2[i] * up[f + 1]) + w1[i] * up[f];
    const float below = (w6[i] * down[f - 1] + w8[i] * down[f + 1]) + w7[i] * down[f];
    coarse_right[i] = row + (above + below);
  });
}

void add_correction(const LevelData& fine, const LevelData& coarse, const float* correction,
                    float* x) {
  const std::ptrdiff_t stride = coarse.stride;
  const float* const w0 = coarse.weights[0];
  const float* const w1 = coarse.weights[1];
  const float* const w2 = coarse.weights[2];
  const float* const w3 = coarse.weights[3];
  const float* const w4 = coarse.weights[4];
  const float* const w5 = coarse.weights[5];
  const float* const w6 = coarse.weights[6];
  const float* const w7 = coarse.weights[7];
  const float* const w8 = coarse.weights[8];
  for (const Strip* strip = fine.begin; strip != fine.end; ++strip) {
    const auto half = static_cast<std::ptrdiff_t>(strip->cells / strip_width * (strip_width / 2));
    // The coarse cell below and to the right of, or at, the first two cells.
    const std::ptrdiff_t place = static_cast<std::ptrdiff_t>(strip->row / 2 + 1) * stride +
                                 static_cast<std::ptrdiff_t>(strip_width + strip->col / 2);
    float* target = x + strip->cell;
    const float* const e = correction;
    if (strip->row % 2 == 1) {
#pragma GCC ivdep
      for (std::ptrdiff_t k = 0; k < half; ++k) {
        const std::ptrdiff_t i = place + k;
        target[2 * k] += w5[i - 1] * e[i - 1] + w3[i] * e[i];
        target[2 * k + 1] += w4[i] * e[i];
      }
    } else {
#pragma GCC ivdep
      for (std::ptrdiff_t k = 0; k < half; ++k) {
        const std::ptrdiff_t i = place + k;
        const std::ptrdiff_t up = i - stride;
        target[2 * k] +=
            (w8[up - 1] * e[up - 1] + w6[up] * e[up]) + (w2[i - 1] * e[i - 1] + w0[i] * e[i]);
        target[2 * k + 1] += w7[up] * e[up] + w1[i] * e[i];
      }
    }
  }
}

/// The weight, at a cell between two coarse ones, of the one that is (rows, cols) away: its share
/// of the couplings to either side. Cells across are taken to have the same value as this one; half
/// of what is lost to walls counts as well.
template <int rows, int cols, bool nine>
[[gnu::always_inline]] inline float share(const Operator<nine>& op, std::ptrdiff_t i) {
  constexpr int r = rows == 0 ? 1 : 0;
  constexpr int c = cols == 0 ? 1 : 0;
  float towards = op.template coupling<rows, cols>(i);
  float away = op.template coupling<-rows, -cols>(i);
  if constexpr (nine) {
    towards +=
        op.template coupling<rows + r, cols + c>(i) + op.template coupling<rows - r, cols - c>(i);
    away += op.template coupling<-rows + r, -cols + c>(i) +
            op.template coupling<-rows - r, -cols - c>(i);
  }
  const float diagonal = op.diagonal(i);
  const float across = op.template coupling<r, c>(i) + op.template coupling<-r, -c>(i);
  const float lost = diagonal - (towards + away) - across;
  const float sum = (towards + away) + (lost > 0 ? lost / 2 : 0.0F);
  const float least = 0.05F * diagonal;
  const float whole = sum > least ? sum : least;
  return whole > 0 ? towards / whole : 0.0F;
}

/// The weight, at a cell between four coarse ones, of the one that is (rows, cols) away: over the
/// diagonal, and over the two cells beside it, where that one has these weights.
template <int rows, int cols, bool nine>
[[gnu::always_inline]] inline float corner(const Operator<nine>& op, std::ptrdiff_t i,
                                           float inverse, float beside, float above) {
  float sum = op.template coupling<rows, 0>(i) * above + op.template coupling<0, cols>(i) * beside;
  if constexpr (nine) sum += op.template coupling<rows, cols>(i);
  return sum * inverse;
}

void interpolate(const LevelData& fine, const LevelData& coarse) {
  with_operator(fine, [&](const auto& op) {
    const std::ptrdiff_t stride = fine.stride;
    const float* const active = coarse.inverse;
    const float* const inverse = fine.inverse;
    float* const w0 = coarse.weights[0];
    float* const w1 = coarse.weights[1];
    float* const w2 = coarse.weights[2];
    float* const w3 = coarse.weights[3];
    float* const w4 = coarse.weights[4];
    float* const w5 = coarse.weights[5];
    float* const w6 = coarse.weights[6];
    float* const w7 = coarse.weights[7];
    float* const w8 = coarse.weights[8];
    for_each_pair(fine, coarse, [=](std::ptrdiff_t i, std::ptrdiff_t f) {
      const float own = active[i] > 0 ? 1.0F : 0.0F;
      const float west = own * share<0, 1>(op, f - 1);
      const float east = own * share<0, -1>(op, f + 1);
      const float north = own * share<1, 0>(op, f - stride);
      const float south = own * share<-1, 0>(op, f + stride);
      const std::ptrdiff_t up = f - stride;
      const std::ptrdiff_t down = f + stride;
      w0[i] = own * corner<1, 1>(op, up - 1, inverse[up - 1], north, west);
      w1[i] = north;
      w2[i] = own * corner<1, -1>(op, up + 1, inverse[up + 1], north, east);
      w3[i] = west;
      w4[i] = own;
      w5[i] = east;
      w6[i] = own * corner<-1, 1>(op, down - 1, inverse[down - 1], south, west);
      w7[i] = south;
      w8[i] = own * corner<-1, -1>(op, down + 1, inverse[down + 1], south, east);
    });
  });
}

constexpr bool within(int row, int col) { return row >= -1 && row <= 1 && col >= -1 && col <= 1; }

/// (A P) at the cell (row, col) away from a coarse cell's place f, in that coarse cell's column.
template <int row, int col, bool nine>
[[gnu::always_inline]] inline float product(const Operator<nine>& op, std::ptrdiff_t f,
                                            std::ptrdiff_t stride, const Weights& own) {
  const std::ptrdiff_t i = f + row * stride + col;
  float sum = 0;
  if constexpr (within(row, col)) sum = op.diagonal(i) * own.at[3 * (row + 1) + col + 1];
  const auto take = [&]<int rows, int cols>() {
    if constexpr (within(row + rows, col + cols) && (nine || rows * cols == 0)) {
      sum -= op.template coupling<rows, cols>(i) * own.at[3 * (row + rows + 1) + col + cols + 1];
    }
  };
  take.template operator()<-1, -1>();
  take.template operator()<-1, 0>();
  take.template operator()<-1, 1>();
  take.template operator()<0, -1>();
  take.template operator()<0, 1>();
  take.template operator()<1, -1>();
  take.template operator()<1, 0>();
  take.template operator()<1, 1>();
  return sum;
}

void coarsen(const LevelData& fine, const LevelData& coarse) {
  with_operator(fine, [&](const auto& op) {
    const std::ptrdiff_t stride = fine.stride;
    const LevelData level = coarse;
    for_each_pair(fine, coarse, [=](std::ptrdiff_t i, std::ptrdiff_t f) {
      const Weights own(level, i);
      const Weights e(level, i + 1);
      const Weights s(level, i + level.stride);
      const Weights se(level, i + level.stride + 1);
      const Weights sw(level, i + level.stride - 1);
#define WALLHEAT_AT(row, col) product<row, col>(op, f, stride, own)
      const float nw0 = WALLHEAT_AT(-1, -1);
      const float n0 = WALLHEAT_AT(-1, 0);
      const float ne0 = WALLHEAT_AT(-1, 1);
      const float ne1 = WALLHEAT_AT(-1, 2);
      const float w0 = WALLHEAT_AT(0, -1);
      const float c0 = WALLHEAT_AT(0, 0);
      const float e0 = WALLHEAT_AT(0, 1);
      const float e1 = WALLHEAT_AT(0, 2);
      const float sw1 = WALLHEAT_AT(1, -2);
      const float sw0 = WALLHEAT_AT(1, -1);
      const float s0 = WALLHEAT_AT(1, 0);
      const float se0 = WALLHEAT_AT(1, 1);
      const float se1 = WALLHEAT_AT(1, 2);
      const float ssw1 = WALLHEAT_AT(2, -2);
      const float ssw0 = WALLHEAT_AT(2, -1);
      const float ss0 = WALLHEAT_AT(2, 0);
      const float sse0 = WALLHEAT_AT(2, 1);
      const float sse1 = WALLHEAT_AT(2, 2);
#undef WALLHEAT_AT
      const float diagonal =
          (((own.at[0] * nw0 + own.at[1] * n0) + (own.at[2] * ne0 + own.at[3] * w0)) +
           ((own.at[5] * e0 + own.at[6] * sw0) + (own.at[7] * s0 + own.at[8] * se0))) +
          own.at[4] * c0;
      level.diagonal[i] = diagonal;
      level.inverse[i] = diagonal > 0 ? 1 / diagonal : 0.0F;
      level.east[i] = -(((e.at[0] * ne0 + e.at[1] * ne1) + (e.at[3] * e0 + e.at[4] * e1)) +
                        (e.at[6] * se0 + e.at[7] * se1));
      level.south[i] = -(((s.at[0] * sw0 + s.at[1] * s0) + (s.at[2] * se0 + s.at[3] * ssw0)) +
                         (s.at[4] * ss0 + s.at[5] * sse0));
      level.south_east[i] =
          -((se.at[0] * se0 + se.at[1] * se1) + (se.at[3] * sse0 + se.at[4] * sse1));
      level.south_west[i] =
          -((sw.at[1] * sw1 + sw.at[2] * sw0) + (sw.at[4] * ssw1 + sw.at[5] * ssw0));
    });
  });
}

void turn(const LevelData& level, const float* z, float beta, float* direction) {
  for_each_cell(
      level, [=](std::ptrdiff_t i, std::ptrdiff_t) { direction[i] = z[i] + beta * direction[i]; });
}

/// A x at an active cell, in double precision.
[[gnu::always_inline]] inline double exact_times(const float* x, std::ptrdiff_t i,
                                                 std::ptrdiff_t stride) {
  const double across = static_cast<double>(x[i - 1]) + static_cast<double>(x[i + 1]);
  const double along = static_cast<double>(x[i - stride]) + static_cast<double>(x[i + stride]);
  return 4 * static_cast<double>(x[i]) - (across + along);
}

void curvature(const LevelData& level, const float* direction, double* columns) {
  const std::ptrdiff_t stride = level.stride;
  for_each_cell(level, [=](std::ptrdiff_t i, std::ptrdiff_t col) {
    columns[col] += static_cast<double>(direction[i]) * exact_times(direction, i, stride);
  });
}

void dot(const LevelData& level, const float* a, const float* b, double* columns) {
  for_each_cell(level, [=](std::ptrdiff_t i, std::ptrdiff_t col) {
    columns[col] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  });
}

double larger(double one, double other) { return one > other ? one : other; }
double size_of(double value) { return value < 0 ? -value : value; }

void begin(const LevelData& level, const double* values, double factor, double* answer) {
  for (std::size_t row = 0; row < level.rows; ++row) {
    const std::ptrdiff_t first = (static_cast<std::ptrdiff_t>(row) + 1) * level.stride +
                                 static_cast<std::ptrdiff_t>(strip_width);
    const float* const inverse = level.inverse + first;
    const double* const from = values + row * level.cols;
    double* const to = answer + first;
#pragma GCC ivdep
    for (std::size_t col = 0; col < level.cols; ++col) {
      const double value = factor * from[col];
      to[col] = inverse[col] > 0 ? 0.0 : value;
    }
  }
}

template <bool with_source>
void measure(const LevelData& level, const Conjugate& vectors, const Extremes& columns) {
  const std::ptrdiff_t stride = level.stride;
  const float* const inverse = level.inverse;
  const double* const x = vectors.answer;
  double* const r = vectors.residual;
  float* const rounded = vectors.rounded;
  const double* const source = vectors.source;
  const Extremes largest = columns;
  for_each_cell(level, [=](std::ptrdiff_t i, std::ptrdiff_t col) {
    double sum = ((x[i - 1] + x[i + 1]) + x[i - stride]) + x[i + stride];
    if constexpr (with_source) sum += source[i];
    const double one = 4 * static_cast<double>(inverse[i]);  // 0 where the cell is not active
    const double left = one * (sum - 4 * x[i]);
    r[i] = left;
    rounded[i] = static_cast<float>(left);
    largest.residual[col] = larger(size_of(left), largest.residual[col]);
    largest.highest[col] = larger(left - (1 - one) * 1e300, largest.highest[col]);
    largest.answer[col] = larger(one * size_of(x[i]), largest.answer[col]);
  });
}

void any_measure(const LevelData& level, const Conjugate& vectors, const Extremes& columns) {
  if (vectors.source != nullptr)
    measure<true>(level, vectors, columns);
  else
    measure<false>(level, vectors, columns);
}

void advance(const LevelData& level, const Conjugate& vectors, double alpha, double* columns) {
  const std::ptrdiff_t stride = level.stride;
  const float* const inverse = level.inverse;
  const float* const p = vectors.direction;
  double* const x = vectors.answer;
  double* const r = vectors.residual;
  float* const rounded = vectors.rounded;
  for_each_cell(level, [=](std::ptrdiff_t i, std::ptrdiff_t col) {
    const double one = 4 * static_cast<double>(inverse[i]);  // 0 where the cell is not active
    const double left = r[i] - one * (alpha * exact_times(p, i, stride));
    x[i] += alpha * static_cast<double>(p[i]);
    r[i] = left;
    rounded[i] = static_cast<float>(left);
    columns[col] = larger(size_of(left), columns[col]);
  });
}

constexpr SteadyKernels all_kernels = {
    smooth,         smooth_from_zero, residual, restrict_residual,
    add_correction, interpolate,      coarsen,  begin,
    turn,           curvature,        dot,      any_measure,
    advance,
};

}  // namespace
// NOLINTEND(misc-definitions-in-headers)
}  // namespace wallheat
