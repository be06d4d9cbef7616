#pragma once

#include <utility>

#include "core/larger.hpp"
#include "solve/steady/kernels.hpp"

// For the files of the instruction sets alone: the loops, which the compiler vectorises.
// Everything is in an unnamed namespace, for the reason that cpu/sweep.hpp gives. No loop sums
// across lanes and nothing is contracted to FMA, so all sets give the same bits.

namespace wallheat {
// NOLINTBEGIN(misc-definitions-in-headers): each of those files is to have code of its own
namespace {

/// A cell of a strip. On the finest grid the neighbours to the left and right are at `i` and at
/// `i + side` of the other colour.
struct Place {
  std::ptrdiff_t i;
  std::ptrdiff_t col;
  std::ptrdiff_t side;
};

/// Calls body(place) for all cells of a colour in the strips (0 is red, 1 is black); no call may
/// depend on another.
template <int colour = 0, class Body>
[[gnu::always_inline]] inline void for_each_cell(const Level& level, Body body) {
  for (const Strip* strip = level.begin; strip != level.end; ++strip) {
    const std::ptrdiff_t cell = strip->cell;
    const std::ptrdiff_t col = strip->col;
    const std::ptrdiff_t cells = strip->cells / strip_width * strip_width;
    const std::ptrdiff_t side = (strip->row + colour) % 2 == 0 ? -1 : 1;
#pragma GCC ivdep
    for (std::ptrdiff_t k = 0; k < cells; ++k) body(Place{cell + k, col + k, side});
  }
}

template <class Value>
[[gnu::always_inline]] inline auto sum_of_neighbours(const Value* of, Place at,
                                                     std::ptrdiff_t stride) {
  const auto beside = of[at.i] + of[at.i + at.side];
  return (beside + of[at.i - stride]) + of[at.i + stride];
}

/// Calls body<row, col>() for the nine places around a cell that is (0, 0).
template <class Body>
[[gnu::always_inline]] inline void for_each_place(Body body) {
  const auto call = [&]<int... number>(std::integer_sequence<int, number...>) {
    (body.template operator()<number / 3 - 1, number % 3 - 1>(), ...);
  };
  call(std::make_integer_sequence<int, 9>());
}

constexpr int place_of(int row, int col) { return 3 * (row + 1) + col + 1; }
constexpr bool is_near(int row, int col) { return row >= -1 && row <= 1 && col >= -1 && col <= 1; }

/// The operator of a coarse grid. Places are given by their distance in rows and columns from the
/// cell i.
struct NinePoints {
  static constexpr std::ptrdiff_t step = 2;  ///< from a coarser cell's place to the next one's
  static constexpr bool has(int, int) { return true; }

  Level level;

  template <int row, int col>
  [[nodiscard]] std::ptrdiff_t at(std::ptrdiff_t i) const {
    return i + row * level.stride + col;
  }
  template <int row, int col>
  [[nodiscard]] float diagonal(std::ptrdiff_t i) const {
    return level.diagonal[at<row, col>(i)];
  }
  template <int row, int col>
  [[nodiscard]] float inverse(std::ptrdiff_t i) const {
    return level.inverse[0][at<row, col>(i)];
  }
  /// The coupling between that cell and its neighbour some rows and columns away.
  template <int row, int col, int rows, int cols>
  [[nodiscard]] float coupling(std::ptrdiff_t i) const {
    if constexpr (rows < 0 || (rows == 0 && cols < 0)) {
      return coupling<row + rows, col + cols, -rows, -cols>(i);
    } else {
      const float* const of = rows == 0   ? level.east
                              : cols == 0 ? level.south
                              : cols > 0  ? level.south_east
                                          : level.south_west;
      return of[at<row, col>(i)];
    }
  }
  /// That coupling times the neighbour's weight.
  template <int row, int col, int rows, int cols>
  [[nodiscard]] float coupled(std::ptrdiff_t i, float weight) const {
    return coupling<row, col, rows, cols>(i) * weight;
  }
};

/// The same of the finest grid, where i is a red cell of an odd row.
struct FivePoints {
  static constexpr std::ptrdiff_t step = 1;
  static constexpr bool has(int rows, int cols) { return rows * cols == 0; }

  Level level;

  template <int row, int col>
  [[nodiscard]] std::ptrdiff_t at(std::ptrdiff_t i) const {
    return i + row * level.stride + (col % 2 == 0 ? col / 2 : (col + 1) / 2);
  }
  template <int row, int col>
  [[nodiscard]] float inverse(std::ptrdiff_t i) const {
    return level.inverse[(row + col) % 2 == 0 ? 0 : 1][at<row, col>(i)];
  }
  template <int row, int col>
  [[nodiscard]] float diagonal(std::ptrdiff_t i) const {
    return 16 * inverse<row, col>(i);
  }
  template <int row, int col, int rows, int cols>
  [[nodiscard]] float coupling(std::ptrdiff_t i) const {
    return 16 * (inverse<row, col>(i) * inverse<row + rows, col + cols>(i));
  }
  /// The coupling is 1 where neither is a wall; at walls the weights are 0.
  template <int row, int col, int rows, int cols>
  [[nodiscard]] float coupled(std::ptrdiff_t, float weight) const {
    return weight;
  }
};

/// Calls body(cell, its place on the finer grid) for the cells of the strips of a coarse grid.
template <class Operator, class Body>
[[gnu::always_inline]] inline void for_each_pair(const Operator& fine, const Level& coarse,
                                                 Body body) {
  constexpr std::ptrdiff_t step = Operator::step;
  for (const Strip* strip = coarse.begin; strip != coarse.end; ++strip) {
    const std::ptrdiff_t cell = strip->cell;
    const std::ptrdiff_t place =
        (2 * strip->row + 2) * fine.level.stride + strip_width + step * strip->col + step - 1;
    const std::ptrdiff_t cells = strip->cells / strip_width * strip_width;
#pragma GCC ivdep
    for (std::ptrdiff_t k = 0; k < cells; ++k) body(cell + k, place + step * k);
  }
}

// Interpolation (J. E. Dendy, "Black box multigrid", J. Comput. Phys. 48, 1982).

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
  if constexpr (Operator::has(1, 1)) {
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
  if constexpr (Operator::has(1, 1)) sum += op.template coupling<row, col, -row, -col>(i);
  return sum * op.template inverse<row, col>(i);
}

template <class Operator>
[[gnu::always_inline]] inline void make_weights(const Operator& op, const Level& level) {
  const Level coarse = level;
  for_each_pair(op, coarse, [=](std::ptrdiff_t i, std::ptrdiff_t f) {
    const float own = coarse.inverse[0][i] > 0 ? 1.0F : 0.0F;
    const float west = own * share<0, -1, 0, 1>(op, f);
    const float east = own * share<0, 1, 0, -1>(op, f);
    const float north = own * share<-1, 0, 1, 0>(op, f);
    const float south = own * share<1, 0, -1, 0>(op, f);
    coarse.weights[0][i] = own * corner<-1, -1>(op, f, north, west);
    coarse.weights[1][i] = north;
    coarse.weights[2][i] = own * corner<-1, 1>(op, f, north, east);
    coarse.weights[3][i] = west;
    coarse.weights[4][i] = own;
    coarse.weights[5][i] = east;
    coarse.weights[6][i] = own * corner<1, -1>(op, f, south, west);
    coarse.weights[7][i] = south;
    coarse.weights[8][i] = own * corner<1, 1>(op, f, south, east);
  });
}

/// (A P) at the cell (row, col) away from a coarse cell's place f, in the column of that coarse
/// cell, which is i.
template <int row, int col, class Operator>
[[gnu::always_inline]] inline float product(const Operator& op, const Level& coarse,
                                            std::ptrdiff_t i, std::ptrdiff_t f) {
  float sum = 0;
  if constexpr (is_near(row, col))
    sum = op.template diagonal<row, col>(f) * coarse.weights[place_of(row, col)][i];
  for_each_place([&]<int rows, int cols>() {
    constexpr bool is_neighbour = (rows != 0 || cols != 0) && Operator::has(rows, cols);
    if constexpr (is_neighbour && is_near(row + rows, col + cols))
      sum -= op.template coupled<row, col, rows, cols>(
          f, coarse.weights[place_of(row + rows, col + cols)][i]);
  });
  return sum;
}

/// (P^T A P) of the coarse cell i and the one that is (rows, cols) away.
template <int rows, int cols, class Operator>
[[gnu::always_inline]] inline float entry(const Operator& op, const Level& coarse, std::ptrdiff_t i,
                                          std::ptrdiff_t f) {
  const std::ptrdiff_t other = i + rows * coarse.stride + cols;
  float sum = 0;
  for_each_place([&]<int row, int col>() {
    constexpr int r = 2 * rows + row;
    constexpr int c = 2 * cols + col;
    if constexpr (r <= 2 && c <= 2 && c >= -2)
      sum += coarse.weights[place_of(row, col)][other] * product<r, c>(op, coarse, i, f);
  });
  return sum;
}

template <class Operator>
[[gnu::flatten]] void coarsen_by(const Operator& op, const Level& level) {
  make_weights(op, level);
  const Level coarse = level;
  for_each_pair(op, coarse, [=](std::ptrdiff_t i, std::ptrdiff_t f) {
    const float diagonal = entry<0, 0>(op, coarse, i, f);
    coarse.diagonal[i] = diagonal;
    coarse.inverse[0][i] = coarse.weights[4][i] / (diagonal + hardly_anything);
    coarse.east[i] = -entry<0, 1>(op, coarse, i, f);
    coarse.south[i] = -entry<1, 0>(op, coarse, i, f);
    coarse.south_east[i] = -entry<1, 1>(op, coarse, i, f);
    coarse.south_west[i] = -entry<1, -1>(op, coarse, i, f);
  });
}

void coarsen(const Level& fine, const Level& coarse) {
  if (fine.black != nullptr)
    coarsen_by(FivePoints{fine}, coarse);
  else
    coarsen_by(NinePoints{fine}, coarse);
}

// The V-cycle. A step of Jacobi before the coarse grid and one after it smooth.

[[gnu::always_inline]] inline float sum_of_neighbours(const NinePoints& op, const float* x,
                                                      std::ptrdiff_t i) {
  float of_row[3]{};  // sums that need not wait for each other
  for_each_place([&]<int row, int col>() {
    if constexpr (row != 0 || col != 0)
      of_row[row + 1] += op.coupled<0, 0, row, col>(i, x[op.at<row, col>(i)]);
  });
  return of_row[1] + (of_row[0] + of_row[2]);
}

/// target = x + (right - A x) / diagonal, a step of Jacobi
[[gnu::flatten]] void relax(const Level& level, const float* x, float* target) {
  const NinePoints op{level};
  for_each_cell(level, [=](Place at) {
    target[at.i] =
        op.level.inverse[0][at.i] * (op.level.right[at.i] + sum_of_neighbours(op, x, at.i));
  });
}

/// On the coarse grid: right = P^T residual, x = right / diagonal.
template <class Operator>
[[gnu::always_inline]] inline void restrict_residual(const Operator& op, const float* residual,
                                                     const Level& level) {
  const Level coarse = level;
  for_each_pair(op, coarse, [=](std::ptrdiff_t i, std::ptrdiff_t f) {
    float of_row[3]{};
    for_each_place([&]<int row, int col>() {
      // The residual of black cells is 0.
      if constexpr (Operator::has(1, 1) || (row + col) % 2 == 0)
        of_row[row + 1] +=
            coarse.weights[place_of(row, col)][i] * residual[op.template at<row, col>(f)];
    });
    const float sum = of_row[1] + (of_row[0] + of_row[2]);
    coarse.right[i] = sum;
    coarse.x[i] = coarse.inverse[0][i] * sum;
  });
}

/// P x at a cell of the finer grid, in an odd row and column or not; i is the coarse cell there, or
/// else below it and to the right.
template <bool odd_row, bool odd_col>
[[gnu::always_inline]] inline float interpolated(const Level& coarse, const float* x,
                                                 std::ptrdiff_t i) {
  float sum = 0;
  for_each_place([&]<int row, int col>() {
    if constexpr ((row == 0) == odd_row && (col == 0) == odd_col) {
      const std::ptrdiff_t other = i - (row > 0 ? coarse.stride : 0) - (col > 0 ? 1 : 0);
      sum += coarse.weights[place_of(row, col)][other] * x[other];
    }
  });
  return sum;
}

/// Calls body<odd row>(cell, coarse cell) for the cells of the strips, every `step`-th of them, for
/// whose rows interpolated() takes that coarse cell.
template <std::ptrdiff_t step, class Body>
[[gnu::always_inline]] inline void for_each_coarse(const Level& fine, const Level& coarse,
                                                   Body body) {
  for (const Strip* strip = fine.begin; strip != fine.end; ++strip) {
    const std::ptrdiff_t cell = strip->cell;
    const std::ptrdiff_t cells = strip->cells / strip_width * (strip_width / step);
    const std::ptrdiff_t place =
        (strip->row / 2 + 1) * coarse.stride + strip_width + strip->col / step;
    const auto take = [&]<bool odd_row>() {
#pragma GCC ivdep
      for (std::ptrdiff_t k = 0; k < cells; ++k)
        body.template operator()<odd_row>(cell + step * k, place + k);
    };
    strip->row % 2 == 1 ? take.template operator()<true>() : take.template operator()<false>();
  }
}

/// work = an x of a coarse grid that is better than x = right / diagonal
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
    for_each_cell(fine, [=](Place at) { fine.work[at.i] = sum_of_neighbours(op, fine.x, at.i); });
    restrict_residual(op, fine.work, coarse);
    solve_coarse(level + 1, end);
    for_each_coarse<2>(fine, coarse, [=]<bool odd>(std::ptrdiff_t i, std::ptrdiff_t c) {
      fine.x[i] += interpolated<odd, false>(coarse, coarse.work, c);
      fine.x[i + 1] += interpolated<odd, true>(coarse, coarse.work, c);
    });
  }
  relax(fine, fine.x, fine.work);
}

/// black = factor * a quarter of the sum of the red neighbours
void spread(const Level& level, const float* red, float factor) {
  const float* const inverse = level.inverse[1];
  float* const black = level.black;
  const std::ptrdiff_t stride = level.stride;
  for_each_cell<1>(level, [=](Place at) {
    black[at.i] = factor * inverse[at.i] * sum_of_neighbours(red, at, stride);
  });
}

[[gnu::flatten]] void cycle(const Level* levels, std::size_t count, double* partial) {
  const Level fine = levels[0];
  spread(fine, fine.right, 0.25F);
  if (count > 1) {
    const Level coarse = levels[1];
    for_each_cell(fine,
                  [=](Place at) { fine.x[at.i] = sum_of_neighbours(fine.black, at, fine.stride); });
    restrict_residual(FivePoints{fine}, fine.x, coarse);
    solve_coarse(levels + 1, levels + count);
    for_each_coarse<1>(fine, coarse, [=]<bool odd>(std::ptrdiff_t i, std::ptrdiff_t c) {
      fine.x[i] =
          fine.inverse[0][i] * fine.right[i] + interpolated<odd, odd>(coarse, coarse.work, c);
    });
    spread(fine, fine.x, 1);
  }
  for_each_cell(fine, [=](Place at) {
    const float right = fine.right[at.i];
    const float x =
        fine.inverse[0][at.i] * (right + sum_of_neighbours(fine.black, at, fine.stride));
    fine.x[at.i] = x;
    partial[at.col] += static_cast<double>(right) * static_cast<double>(x);
  });
}

// Conjugate gradients.

double size_of(double value) { return __builtin_fabs(value); }

/// 1 where a cell is active, else 0.
double one_if_active(float inverse) { return 4 * static_cast<double>(inverse); }

void load(const Level& level, const Strip* strip, const Strip* end, const double* values,
          double factor, double* const x[2]) {
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
        const double value = factor * from[2 * k];  // may be infinite if it is not taken
        to[k] = static_cast<double>(inverse[k]) > 0 ? 0 : value;
      }
    }
  }
}

/// Calls body<with a source>().
template <class Body>
void with_or_without_source(const Vectors& v, Body body) {
  v.source[0] != nullptr ? body.template operator()<true>() : body.template operator()<false>();
}

/// The sum of the neighbours, in the order of proven_error_bound(), and what is added to it.
template <bool with_source>
[[gnu::always_inline]] inline double given(const double* across, const double* source, Place at,
                                           std::ptrdiff_t stride, double constant) {
  const double sum = sum_of_neighbours(across, at, stride);
  return (with_source ? sum + source[at.i] : sum) + constant;
}

void solve_black(const Level& level, const Vectors& v, double constant) {
  with_or_without_source(v, [&]<bool with_source>() {
    for_each_cell<1>(level, [=, level = level, v = v](Place at) {
      const double sum = given<with_source>(v.x[0], v.source[1], at, level.stride, constant);
      const double one = one_if_active(level.inverse[1][at.i]);
      v.x[1][at.i] = one * (0.25 * sum) + (1 - one) * v.x[1][at.i];
    });
  });
}

template <int colour, bool with_source>
void residual_of(const Level& grid, const Vectors& vectors, double constant,
                 const Extremes& extremes) {
  const Level level = grid;
  const Vectors v = vectors;
  const Extremes largest = extremes;
  for_each_cell<colour>(level, [=](Place at) {
    const double sum =
        given<with_source>(v.x[1 - colour], v.source[colour], at, level.stride, constant);
    const double x = v.x[colour][at.i];
    const double one = one_if_active(level.inverse[colour][at.i]);
    const double left = one * (sum - 4 * x);
    if constexpr (colour == 0) {
      v.residual[at.i] = left;
      level.right[at.i] = static_cast<float>(left);
    }
    largest.residual[at.col] = larger(largest.residual[at.col], size_of(left));
    largest.x[at.col] = larger(largest.x[at.col], one * size_of(x));
  });
}

void residual(const Level& level, const Vectors& v, double constant, const Extremes& largest) {
  with_or_without_source(v, [&]<bool with_source>() {
    residual_of<0, with_source>(level, v, constant, largest);
    residual_of<1, with_source>(level, v, constant, largest);
  });
}

void update_direction(const Level& level, float beta) {
  const float* const z = level.x;
  float* const direction = level.direction;
  for_each_cell(level, [=](Place at) { direction[at.i] = z[at.i] + beta * direction[at.i]; });
}

/// (S direction) at a red cell
[[gnu::always_inline]] inline double applied(const Level& level, const Vectors& v, Place at) {
  return 4 * static_cast<double>(level.direction[at.i]) -
         sum_of_neighbours(v.black_direction, at, level.stride);
}

void apply(const Level& grid, const Vectors& vectors, double* partial) {
  const Level level = grid;
  const Vectors v = vectors;
  const float* const p = level.direction;
  for_each_cell<1>(level, [=](Place at) {
    const double beside = static_cast<double>(p[at.i]) + static_cast<double>(p[at.i + at.side]);
    const double along =
        static_cast<double>(p[at.i - level.stride]) + static_cast<double>(p[at.i + level.stride]);
    v.black_direction[at.i] = static_cast<double>(level.inverse[1][at.i]) * (beside + along);
  });
  for_each_cell(level, [=](Place at) {
    partial[at.col] += static_cast<double>(p[at.i]) * applied(level, v, at);
  });
}

void axpy(const Level& grid, const Vectors& vectors, double alpha, double* largest) {
  const Level level = grid;
  const Vectors v = vectors;
  for_each_cell(level, [=](Place at) {
    const double one = one_if_active(level.inverse[0][at.i]);
    const double left = v.residual[at.i] - one * (alpha * applied(level, v, at));
    v.x[0][at.i] += alpha * static_cast<double>(level.direction[at.i]);
    v.residual[at.i] = left;
    level.right[at.i] = static_cast<float>(left);
    largest[at.col] = larger(largest[at.col], size_of(left));
  });
}

constexpr SteadyKernels all_kernels = {coarsen,          cycle, load, solve_black, residual,
                                       update_direction, apply, axpy};

}  // namespace
// NOLINTEND(misc-definitions-in-headers)
}  // namespace wallheat
