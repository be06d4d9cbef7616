#pragma once

#include "core/larger.hpp"
#include "solve/steady/kernels.hpp"

// For the files of the instruction sets alone: the loops, which the compiler vectorises.
// Everything is in an unnamed namespace, for the reason that cpu/sweep.hpp gives. No loop sums
// across lanes and nothing is contracted to FMA, so all sets give the same bits.

namespace wallheat {
// NOLINTBEGIN(misc-definitions-in-headers): each of those files is to have code of its own
namespace {

/// Calls body(cell) for all cells of the strips; no call may depend on another.
template <class Body>
[[gnu::always_inline]] inline void for_each_cell(const LevelData& level, Body body) {
  for (const Strip* strip = level.begin; strip != level.end; ++strip) {
    const auto cell = static_cast<std::ptrdiff_t>(strip->cell);
    const auto cells = static_cast<std::ptrdiff_t>(strip->cells / strip_width * strip_width);
#pragma GCC ivdep
    for (std::ptrdiff_t i = 0; i < cells; ++i) body(cell + i);
  }
}

/// Calls body(cell, col, side) for all cells of a colour (0 is red, 1 is black) in the strips; the
/// neighbours to the left and right are at `cell` and at `cell + side`.
template <int colour, class Body>
[[gnu::always_inline]] inline void for_each_of(const FinestData& level, Body body) {
  for (const Strip* strip = level.begin; strip != level.end; ++strip) {
    const auto cell = static_cast<std::ptrdiff_t>(strip->cell);
    const auto col = static_cast<std::ptrdiff_t>(strip->col);
    const auto cells = static_cast<std::ptrdiff_t>(strip->cells / strip_width * strip_width);
    const std::ptrdiff_t side = (strip->row + colour) % 2 == 0 ? -1 : 1;
#pragma GCC ivdep
    for (std::ptrdiff_t i = 0; i < cells; ++i) body(cell + i, col + i, side);
  }
}

template <class Value>
[[gnu::always_inline]] inline auto sum_of_neighbours(const Value* of, std::ptrdiff_t i,
                                                     std::ptrdiff_t side, std::ptrdiff_t stride) {
  return (of[i] + of[i + side]) + (of[i - stride] + of[i + stride]);
}

/// The operator of a coarse grid. Places are given by their distance in rows and columns from a
/// cell that is (0, 0).
class StoredOperator {
 public:
  static constexpr bool nine = true;         ///< points, or five
  static constexpr std::ptrdiff_t step = 2;  ///< from a coarse cell's place to that of the next one

  explicit StoredOperator(const LevelData& level) : level_(level) {}
  [[nodiscard]] std::ptrdiff_t stride() const { return level_.stride; }

  template <int row, int col>
  [[nodiscard]] float diagonal(std::ptrdiff_t i) const {
    return level_.diagonal[i + row * level_.stride + col];
  }
  template <int row, int col>
  [[nodiscard]] float inverse(std::ptrdiff_t i) const {
    return level_.inverse[i + row * level_.stride + col];
  }
  /// The coupling between that cell and its neighbour some rows and columns away.
  template <int row, int col, int rows, int cols>
  [[nodiscard]] float coupling(std::ptrdiff_t i) const {
    if constexpr (rows < 0 || (rows == 0 && cols < 0)) {
      return coupling<row + rows, col + cols, -rows, -cols>(i);
    } else {
      const float* const of = rows == 0   ? level_.east
                              : cols == 0 ? level_.south
                              : cols > 0  ? level_.south_east
                                          : level_.south_west;
      return of[i + row * level_.stride + col];
    }
  }

  /// The sum of a cell's neighbours, each times its coupling.
  [[nodiscard]] float sum_of_neighbours(const float* x, std::ptrdiff_t i) const {
    const float* up = x - level_.stride;
    const float* down = x + level_.stride;
    const float row = coupling<0, 0, 0, -1>(i) * x[i - 1] + coupling<0, 0, 0, 1>(i) * x[i + 1];
    const float above = coupling<0, 0, -1, -1>(i) * up[i - 1] + coupling<0, 0, -1, 0>(i) * up[i] +
                        coupling<0, 0, -1, 1>(i) * up[i + 1];
    const float below = coupling<0, 0, 1, -1>(i) * down[i - 1] + coupling<0, 0, 1, 0>(i) * down[i] +
                        coupling<0, 0, 1, 1>(i) * down[i + 1];
    return row + (above + below);
  }

 private:
  LevelData level_;
};

/// The same of the finest grid; (0, 0) is a red cell of an odd row.
class FinestOperator {
 public:
  static constexpr bool nine = false;
  static constexpr std::ptrdiff_t step = 1;

  explicit FinestOperator(const FinestData& level) : level_(level) {}
  [[nodiscard]] std::ptrdiff_t stride() const { return level_.stride; }

  template <int row, int col>
  [[nodiscard]] float inverse(std::ptrdiff_t i) const {
    constexpr int black = (row + col) % 2 == 0 ? 0 : 1;
    constexpr int places = col % 2 == 0 ? col / 2 : (col + 1) / 2;
    return level_.inverse[black][i + row * level_.stride + places];
  }
  template <int row, int col>
  [[nodiscard]] float diagonal(std::ptrdiff_t i) const {
    return 16 * inverse<row, col>(i);
  }
  template <int row, int col, int rows, int cols>
  [[nodiscard]] float coupling(std::ptrdiff_t i) const {
    return 16 * (inverse<row, col>(i) * inverse<row + rows, col + cols>(i));
  }

 private:
  FinestData level_;
};

/// Calls body(cell, its place on the finer grid) for the cells of the strips of a coarse grid.
template <class Operator, class Body>
[[gnu::always_inline]] inline void for_each_pair(const Operator& fine, const LevelData& coarse,
                                                 Body body) {
  constexpr std::ptrdiff_t step = Operator::step;
  for (const Strip* strip = coarse.begin; strip != coarse.end; ++strip) {
    const auto cell = static_cast<std::ptrdiff_t>(strip->cell);
    const auto place = static_cast<std::ptrdiff_t>(2 * strip->row + 2) * fine.stride() +
                       static_cast<std::ptrdiff_t>(strip_width) +
                       (step == 2 ? 2 * static_cast<std::ptrdiff_t>(strip->col) + 1
                                  : static_cast<std::ptrdiff_t>(strip->col));
    const auto cells = static_cast<std::ptrdiff_t>(strip->cells / strip_width * strip_width);
#pragma GCC ivdep
    for (std::ptrdiff_t i = 0; i < cells; ++i) body(cell + i, place + step * i);
  }
}

void gather(const LevelData& level, const float* x, float* left) {
  const StoredOperator op(level);
  for_each_cell(level, [=](std::ptrdiff_t i) { left[i] = op.sum_of_neighbours(x, i); });
}

void relax(const LevelData& level, const float* x, const float* right, float* target) {
  const float* inverse = level.inverse;
  const StoredOperator op(level);
  for_each_cell(level, [=](std::ptrdiff_t i) {
    target[i] = inverse[i] * (right[i] + op.sum_of_neighbours(x, i));
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
                       float* right, float* x) {
  const float* const inverse = coarse.inverse;
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
  for_each_pair(StoredOperator(fine), coarse, [=](std::ptrdiff_t i, std::ptrdiff_t f) {
    const float* up = left - stride;
    const float* down = left + stride;
    const float row = (w3[i] * left[f - 1] + w5[i] * left[f + 1]) + w4[i] * left[f];
    const float above = (w0[i] * up[f - 1] + w2[i] * up[f + 1]) + w1[i] * up[f];
    const float below = (w6[i] * down[f - 1] + w8[i] * down[f + 1]) + w7[i] * down[f];
    right[i] = row + (above + below);
    x[i] = inverse[i] * right[i];
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

/// In place of a branch where what is divided is 0 if the divisor is; no other divisor changes.
constexpr float hardly_anything = 1e-30F;

/// The weight, at the place (row, col) between two coarse cells, of the one that is (rows, cols)
/// away: its share of the couplings to either side. Cells across are taken to have the same value
/// as this one; half of what is lost to walls counts as well.
template <int row, int col, int rows, int cols, class Operator>
[[gnu::always_inline]] inline float share(const Operator& op, std::ptrdiff_t i) {
  constexpr int r = rows == 0 ? 1 : 0;
  constexpr int c = cols == 0 ? 1 : 0;
  float towards = op.template coupling<row, col, rows, cols>(i);
  float away = op.template coupling<row, col, -rows, -cols>(i);
  if constexpr (Operator::nine) {
    towards += op.template coupling<row, col, rows + r, cols + c>(i) +
               op.template coupling<row, col, rows - r, cols - c>(i);
    away += op.template coupling<row, col, -rows + r, -cols + c>(i) +
            op.template coupling<row, col, -rows - r, -cols - c>(i);
  }
  const float diagonal = op.template diagonal<row, col>(i);
  const float across =
      op.template coupling<row, col, r, c>(i) + op.template coupling<row, col, -r, -c>(i);
  const float lost = diagonal - (towards + away) - across;
  const float sum = (towards + away) + (lost + __builtin_fabsf(lost)) / 4;
  const float least = 0.05F * diagonal;
  return towards / ((sum > least ? sum : least) + hardly_anything);
}

/// The weight, at the place (row, col) between four coarse cells, of the one that is (-row, -col)
/// away: over the diagonal, and over the two cells beside it, where that one has these weights.
template <int row, int col, class Operator>
[[gnu::always_inline]] inline float corner(const Operator& op, std::ptrdiff_t i, float beside,
                                           float above) {
  float sum = op.template coupling<row, col, -row, 0>(i) * above +
              op.template coupling<row, col, 0, -col>(i) * beside;
  if constexpr (Operator::nine) sum += op.template coupling<row, col, -row, -col>(i);
  return sum * op.template inverse<row, col>(i);
}

template <class Operator>
[[gnu::always_inline]] inline void interpolate(const Operator& op, const LevelData& coarse) {
  const float* const active = coarse.inverse;
  float* const w0 = coarse.weights[0];
  float* const w1 = coarse.weights[1];
  float* const w2 = coarse.weights[2];
  float* const w3 = coarse.weights[3];
  float* const w4 = coarse.weights[4];
  float* const w5 = coarse.weights[5];
  float* const w6 = coarse.weights[6];
  float* const w7 = coarse.weights[7];
  float* const w8 = coarse.weights[8];
  for_each_pair(op, coarse, [=](std::ptrdiff_t i, std::ptrdiff_t f) {
    const float own = active[i] > 0 ? 1.0F : 0.0F;
    const float west = own * share<0, -1, 0, 1>(op, f);
    const float east = own * share<0, 1, 0, -1>(op, f);
    const float north = own * share<-1, 0, 1, 0>(op, f);
    const float south = own * share<1, 0, -1, 0>(op, f);
    w0[i] = own * corner<-1, -1>(op, f, north, west);
    w1[i] = north;
    w2[i] = own * corner<-1, 1>(op, f, north, east);
    w3[i] = west;
    w4[i] = own;
    w5[i] = east;
    w6[i] = own * corner<1, -1>(op, f, south, west);
    w7[i] = south;
    w8[i] = own * corner<1, 1>(op, f, south, east);
  });
}

constexpr bool within(int row, int col) { return row >= -1 && row <= 1 && col >= -1 && col <= 1; }

/// (A P) at the cell (row, col) away from a coarse cell's place i, in that coarse cell's column.
template <int row, int col, class Operator>
[[gnu::always_inline]] inline float product(const Operator& op, std::ptrdiff_t i,
                                            const Weights& own) {
  float sum = 0;
  if constexpr (within(row, col)) {
    const float weight = own.at[3 * (row + 1) + col + 1];
    if constexpr (Operator::nine)
      sum = op.template diagonal<row, col>(i) * weight;
    else
      sum = 4 * weight;
  }
  const auto take = [&]<int rows, int cols>() {
    if constexpr (within(row + rows, col + cols) && (Operator::nine || rows * cols == 0)) {
      const float weight = own.at[3 * (row + rows + 1) + col + cols + 1];
      // With five points it is 1 where neither is a wall; at walls the weights are 0.
      if constexpr (Operator::nine)
        sum -= op.template coupling<row, col, rows, cols>(i) * weight;
      else
        sum -= weight;
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

template <class Operator>
[[gnu::always_inline]] inline void coarsen_by(const Operator& op, const LevelData& coarse) {
  interpolate(op, coarse);
  const LevelData level = coarse;
  for_each_pair(op, coarse, [=](std::ptrdiff_t i, std::ptrdiff_t f) {
    const Weights own(level, i);
    const Weights e(level, i + 1);
    const Weights s(level, i + level.stride);
    const Weights se(level, i + level.stride + 1);
    const Weights sw(level, i + level.stride - 1);
#define WALLHEAT_AT(row, col) product<row, col>(op, f, own)
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
    level.inverse[i] = own.at[4] / (diagonal + hardly_anything);
    level.east[i] = -(((e.at[0] * ne0 + e.at[1] * ne1) + (e.at[3] * e0 + e.at[4] * e1)) +
                      (e.at[6] * se0 + e.at[7] * se1));
    level.south[i] = -(((s.at[0] * sw0 + s.at[1] * s0) + (s.at[2] * se0 + s.at[3] * ssw0)) +
                       (s.at[4] * ss0 + s.at[5] * sse0));
    level.south_east[i] =
        -((se.at[0] * se0 + se.at[1] * se1) + (se.at[3] * sse0 + se.at[4] * sse1));
    level.south_west[i] =
        -((sw.at[1] * sw1 + sw.at[2] * sw0) + (sw.at[4] * ssw1 + sw.at[5] * ssw0));
  });
}

void coarsen(const LevelData& fine, const LevelData& coarse) {
  coarsen_by(StoredOperator(fine), coarse);
}

void coarsen_finest(const FinestData& fine, const LevelData& coarse) {
  coarsen_by(FinestOperator(fine), coarse);
}

void spread(const FinestData& level, const float* red, float factor, float* black) {
  const std::ptrdiff_t stride = level.stride;
  const float* const inverse = level.inverse[1];
  for_each_of<1>(level, [=](std::ptrdiff_t i, std::ptrdiff_t, std::ptrdiff_t side) {
    black[i] = factor * inverse[i] * sum_of_neighbours(red, i, side, stride);
  });
}

void gather_red(const FinestData& level, const float* black, float* left) {
  const std::ptrdiff_t stride = level.stride;
  for_each_of<0>(level, [=](std::ptrdiff_t i, std::ptrdiff_t, std::ptrdiff_t side) {
    left[i] = sum_of_neighbours(black, i, side, stride);
  });
}

void restrict_red(const FinestData& fine, const LevelData& coarse, const float* left, float* right,
                  float* x) {
  const float* const inverse = coarse.inverse;
  const float* const w0 = coarse.weights[0];
  const float* const w2 = coarse.weights[2];
  const float* const w4 = coarse.weights[4];
  const float* const w6 = coarse.weights[6];
  const float* const w8 = coarse.weights[8];
  const float* const up = left - fine.stride;
  const float* const down = left + fine.stride;
  for_each_pair(FinestOperator(fine), coarse, [=](std::ptrdiff_t i, std::ptrdiff_t f) {
    right[i] = w4[i] * left[f] +
               ((w0[i] * up[f] + w2[i] * up[f + 1]) + (w6[i] * down[f] + w8[i] * down[f + 1]));
    x[i] = inverse[i] * right[i];
  });
}

void correct_red(const FinestData& fine, const LevelData& coarse, const float* correction,
                 const float* right, float* x) {
  const std::ptrdiff_t stride = coarse.stride;
  const float* const e = correction;
  const float* const w0 = coarse.weights[0];
  const float* const w2 = coarse.weights[2];
  const float* const w4 = coarse.weights[4];
  const float* const w6 = coarse.weights[6];
  const float* const w8 = coarse.weights[8];
  for (const Strip* strip = fine.begin; strip != fine.end; ++strip) {
    const auto cells = static_cast<std::ptrdiff_t>(strip->cells / strip_width * strip_width);
    // The coarse cell at the first cell, or below it and to the right.
    const std::ptrdiff_t place = static_cast<std::ptrdiff_t>(strip->row / 2 + 1) * stride +
                                 static_cast<std::ptrdiff_t>(strip_width + strip->col);
    float* const target = x + strip->cell;
    const float* const inverse = fine.inverse[0] + strip->cell;
    const float* const from = right + strip->cell;
    if (strip->row % 2 == 1) {
#pragma GCC ivdep
      for (std::ptrdiff_t k = 0; k < cells; ++k)
        target[k] = inverse[k] * from[k] + w4[place + k] * e[place + k];
    } else {
#pragma GCC ivdep
      for (std::ptrdiff_t k = 0; k < cells; ++k) {
        const std::ptrdiff_t i = place + k;
        const std::ptrdiff_t up = i - stride;
        target[k] = inverse[k] * from[k] + ((w8[up - 1] * e[up - 1] + w6[up] * e[up]) +
                                            (w2[i - 1] * e[i - 1] + w0[i] * e[i]));
      }
    }
  }
}

void relax_red(const FinestData& level, const float* black, const float* right, float* target,
               double* columns) {
  const std::ptrdiff_t stride = level.stride;
  const float* const inverse = level.inverse[0];
  for_each_of<0>(level, [=](std::ptrdiff_t i, std::ptrdiff_t col, std::ptrdiff_t side) {
    const float value = inverse[i] * (right[i] + sum_of_neighbours(black, i, side, stride));
    target[i] = value;
    columns[col] += static_cast<double>(right[i]) * static_cast<double>(value);
  });
}

double size_of(double value) { return __builtin_fabs(value); }

void begin(const FinestData& level, const Strip* strip, const Strip* end, const double* values,
           double factor, double* const answer[2]) {
  for (; strip != end; ++strip) {
    const double* const from = values + strip->row * level.cols + 2 * strip->col;
    const std::size_t cols = level.cols - 2 * strip->col;
    const std::size_t even = strip->row % 2;  // the colour of even columns
    const auto take = [&](std::size_t colour, std::size_t offset) {
      const float* const inverse = level.inverse[colour] + strip->cell;
      double* const to = answer[colour] + strip->cell;
      const std::size_t within = (cols + 1 - offset) / 2;
      const std::size_t cells = strip->cells < within ? strip->cells : within;
#pragma GCC ivdep
      for (std::size_t k = 0; k < cells; ++k) {
        const double value = factor * from[2 * k + offset];  // may be infinite if it is not taken
        to[k] = static_cast<double>(inverse[k]) > 0 ? 0 : value;
      }
    };
    take(even, 0);
    take(1 - even, 1);
  }
}

template <bool with_source>
[[gnu::always_inline]] inline double given(const double* source, std::ptrdiff_t i) {
  if constexpr (with_source) return source[i];
  return 0;
}

template <bool with_source>
void solve_black(const FinestData& level, const Conjugate& vectors, double constant) {
  const std::ptrdiff_t stride = level.stride;
  const float* const inverse = level.inverse[1];
  const double* const red = vectors.answer[0];
  double* const black = vectors.answer[1];
  const double* const source = vectors.source[1];
  for_each_of<1>(level, [=](std::ptrdiff_t i, std::ptrdiff_t, std::ptrdiff_t side) {
    const double sum = sum_of_neighbours(red, i, side, stride) + given<with_source>(source, i);
    const double one = 4 * static_cast<double>(inverse[i]);
    black[i] = one * (0.25 * (sum + constant)) + (1 - one) * black[i];
  });
}

void any_solve_black(const FinestData& level, const Conjugate& vectors, double constant) {
  vectors.source[0] != nullptr ? solve_black<true>(level, vectors, constant)
                               : solve_black<false>(level, vectors, constant);
}

template <bool with_source>
void take_residual(const FinestData& level, const Conjugate& vectors, double constant,
                   double* columns) {
  const std::ptrdiff_t stride = level.stride;
  const float* const inverse = level.inverse[0];
  const double* const x = vectors.answer[0];
  const double* const black = vectors.answer[1];
  const double* const source = vectors.source[0];
  double* const r = vectors.residual;
  float* const rounded = vectors.rounded;
  for_each_of<0>(level, [=](std::ptrdiff_t i, std::ptrdiff_t col, std::ptrdiff_t side) {
    const double sum = sum_of_neighbours(black, i, side, stride) + given<with_source>(source, i);
    const double one = 4 * static_cast<double>(inverse[i]);  // 0 where the cell is not active
    const double left = one * ((sum - 4 * x[i]) + constant);
    r[i] = left;
    rounded[i] = static_cast<float>(left);
    columns[col] = larger(size_of(left), columns[col]);
  });
}

void any_take_residual(const FinestData& level, const Conjugate& vectors, double constant,
                       double* columns) {
  vectors.source[0] != nullptr ? take_residual<true>(level, vectors, constant, columns)
                               : take_residual<false>(level, vectors, constant, columns);
}

template <int colour, bool with_source>
void measure(const FinestData& level, const Conjugate& vectors, const Extremes& columns) {
  const std::ptrdiff_t stride = level.stride;
  const float* const inverse = level.inverse[colour];
  const double* const x = vectors.answer[colour];
  const double* const across = vectors.answer[1 - colour];
  const double* const source = vectors.source[colour];
  double* const r = vectors.residual;
  float* const rounded = vectors.rounded;
  const Extremes largest = columns;
  for_each_of<colour>(level, [=](std::ptrdiff_t i, std::ptrdiff_t col, std::ptrdiff_t side) {
    // In the order of proven_error_bound().
    const double beside = across[i] + across[i + side];
    const double sum =
        ((beside + across[i - stride]) + across[i + stride]) + given<with_source>(source, i);
    const double one = 4 * static_cast<double>(inverse[i]);  // 0 where the cell is not active
    const double left = one * (sum - 4 * x[i]);
    if constexpr (colour == 0) {
      r[i] = left;
      rounded[i] = static_cast<float>(left);
    }
    largest.residual[col] = larger(size_of(left), largest.residual[col]);
    largest.highest[col] = larger(left - (1 - one) * 1e300, largest.highest[col]);
    largest.answer[col] = larger(one * size_of(x[i]), largest.answer[col]);
  });
}

void any_measure(const FinestData& level, const Conjugate& vectors, const Extremes& columns) {
  const auto both = [&]<bool with_source>() {
    measure<0, with_source>(level, vectors, columns);
    measure<1, with_source>(level, vectors, columns);
  };
  vectors.source[0] != nullptr ? both.template operator()<true>()
                               : both.template operator()<false>();
}

void turn(const FinestData& level, const float* z, float beta, float* direction) {
  for_each_of<0>(level, [=](std::ptrdiff_t i, std::ptrdiff_t, std::ptrdiff_t) {
    direction[i] = z[i] + beta * direction[i];
  });
}

void cross(const FinestData& level, const Conjugate& vectors) {
  const std::ptrdiff_t stride = level.stride;
  const float* const inverse = level.inverse[1];
  const float* const p = vectors.direction;
  double* const across = vectors.across;
  for_each_of<1>(level, [=](std::ptrdiff_t i, std::ptrdiff_t, std::ptrdiff_t side) {
    const double beside = static_cast<double>(p[i]) + static_cast<double>(p[i + side]);
    const double along = static_cast<double>(p[i - stride]) + static_cast<double>(p[i + stride]);
    across[i] = static_cast<double>(inverse[i]) * (beside + along);
  });
}

void curvature(const FinestData& level, const Conjugate& vectors, double* columns) {
  const std::ptrdiff_t stride = level.stride;
  const float* const p = vectors.direction;
  const double* const across = vectors.across;
  double* const product = vectors.product;
  for_each_of<0>(level, [=](std::ptrdiff_t i, std::ptrdiff_t col, std::ptrdiff_t side) {
    const auto direction = static_cast<double>(p[i]);
    const double times = 4 * direction - sum_of_neighbours(across, i, side, stride);
    product[i] = times;
    columns[col] += direction * times;
  });
}

void advance(const FinestData& level, const Conjugate& vectors, double alpha, double* columns) {
  const float* const inverse = level.inverse[0];
  const float* const p = vectors.direction;
  const double* const product = vectors.product;
  double* const x = vectors.answer[0];
  double* const r = vectors.residual;
  float* const rounded = vectors.rounded;
  for_each_of<0>(level, [=](std::ptrdiff_t i, std::ptrdiff_t col, std::ptrdiff_t) {
    const double one = 4 * static_cast<double>(inverse[i]);  // 0 where the cell is not active
    const double left = r[i] - one * (alpha * product[i]);
    x[i] += alpha * static_cast<double>(p[i]);
    r[i] = left;
    rounded[i] = static_cast<float>(left);
    columns[col] = larger(size_of(left), columns[col]);
  });
}

constexpr SteadyKernels all_kernels = {
    gather,         relax,      restrict_residual, add_correction,    coarsen,
    spread,         gather_red, restrict_red,      correct_red,       relax_red,
    coarsen_finest, begin,      any_solve_black,   any_take_residual, any_measure,
    turn,           cross,      curvature,         advance,
};

}  // namespace
// NOLINTEND(misc-definitions-in-headers)
}  // namespace wallheat
