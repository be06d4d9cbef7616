#pragma once

#include <utility>

#include "solve/steady/kernels.hpp"

// Loops over the strips of a grid, the operators of all grids, and the construction of a coarse
// grid from a finer one.
//
// Include this header only in the files that are compiled once per instruction set. The compiler
// vectorises the loops. Everything is in an unnamed namespace; cpu/sweep.hpp explains why. The
// results are the same in every bit for all instruction sets, because no loop sums across SIMD
// lanes and no operations are contracted to FMA.

namespace wallheat {
// NOLINTBEGIN(misc-definitions-in-headers): each of these files needs its own copy of the code
namespace {

/// A cell of a strip. On the finest grid, its neighbours to the left and right are at `i` and `i +
/// side` in the arrays of the other colour.
struct StripCell {
  std::ptrdiff_t i;
  std::ptrdiff_t col;
  std::ptrdiff_t side;
};

/// Calls body(cell) for all cells of a colour in the strips (0: red, 1: black). No call may depend
/// on another.
template <int colour = 0, class Body>
[[gnu::always_inline]] inline void for_each_cell(const Level& level, Body body) {
  for (const Strip* strip = level.begin; strip != level.end; ++strip) {
    const std::ptrdiff_t cell = strip->cell;
    const std::ptrdiff_t col = strip->col;
    const std::ptrdiff_t cells = strip->cells / strip_width * strip_width;
    const std::ptrdiff_t side = (strip->row + colour) % 2 == 0 ? -1 : 1;
#pragma GCC ivdep
    for (std::ptrdiff_t k = 0; k < cells; ++k) body(StripCell{cell + k, col + k, side});
  }
}

template <class Value>
[[gnu::always_inline]] inline auto sum_of_neighbours(const Value* of, StripCell at,
                                                     std::ptrdiff_t stride) {
  const auto beside = of[at.i] + of[at.i + at.side];
  return (beside + of[at.i - stride]) + of[at.i + stride];
}

/// Calls body<row, col>() for the offsets of a cell, which is (0, 0), and of the eight cells around
/// it.
template <class Body>
[[gnu::always_inline]] inline void for_each_offset(Body body) {
  const auto call = [&]<int... number>(std::integer_sequence<int, number...>) {
    (body.template operator()<number / 3 - 1, number % 3 - 1>(), ...);
  };
  call(std::make_integer_sequence<int, 9>());
}

constexpr int weight_index(int row, int col) { return 3 * (row + 1) + col + 1; }
constexpr bool is_near(int row, int col) { return row >= -1 && row <= 1 && col >= -1 && col <= 1; }

/// The operator of a coarse grid, with nine points. The template parameters `row` and `col` are the
/// offset of a cell from the cell i.
struct NinePoints {
  static constexpr std::ptrdiff_t step = 2;  ///< index distance of cells of the next coarser grid
  static constexpr bool has(int, int) { return true; }

  Level level;

  template <int row, int col>
  [[nodiscard]] std::ptrdiff_t at(std::ptrdiff_t i) const {
    return i + row * level.stride + col;
  }
  template <int row, int col>
  [[nodiscard]] float diagonal(std::ptrdiff_t i) const {
    return level.work[at<row, col>(i)];
  }
  template <int row, int col>
  [[nodiscard]] float inverse(std::ptrdiff_t i) const {
    return level.inverse[0][at<row, col>(i)];
  }
  /// Returns the coupling between the cell and its neighbour at the offset (rows, cols) from it.
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
  /// Returns this coupling, multiplied by the value of the neighbour.
  template <int row, int col, int rows, int cols>
  [[nodiscard]] float coupled(std::ptrdiff_t i, float weight) const {
    return coupling<row, col, rows, cols>(i) * weight;
  }
};

/// The operator of the finest grid, with five points. The cell i must be a red cell of an odd row.
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
  /// Returns the coupling, multiplied by the value of the neighbour. The coupling is 1 if both
  /// cells are active; otherwise the values are 0.
  template <int row, int col, int rows, int cols>
  [[nodiscard]] float coupled(std::ptrdiff_t, float weight) const {
    return weight;
  }
};

/// Calls body(cell, index of the same cell on the finer grid) for the cells in the strips of a
/// coarse grid.
template <class Operator, class Body>
[[gnu::always_inline]] inline void for_each_pair(const Operator& fine, const Level& coarse,
                                                 Body body) {
  constexpr std::ptrdiff_t step = Operator::step;
  for (const Strip* strip = coarse.begin; strip != coarse.end; ++strip) {
    const std::ptrdiff_t cell = strip->cell;
    const std::ptrdiff_t fine_cell =
        (2 * strip->row + 2) * fine.level.stride + strip_width + step * strip->col + step - 1;
    const std::ptrdiff_t cells = strip->cells / strip_width * strip_width;
#pragma GCC ivdep
    for (std::ptrdiff_t k = 0; k < cells; ++k) body(cell + k, fine_cell + step * k);
  }
}

// Interpolation (J. E. Dendy, "Black box multigrid", J. Comput. Phys. 48, 1982).

/// Added to divisors that may be 0, in which case the dividend is 0, too. Other divisors are so
/// large that the sum rounds to the same number.
constexpr float tiny = 1e-30F;

/// Returns an interpolation weight for the cell at the offset (row, col), which is between two
/// coarse cells: the weight of the coarse cell at the offset (rows, cols) from it, which is that
/// cell's share of the couplings to both sides. The values of the cells across are assumed to equal
/// that of this cell. Half of the coupling to fixed cells is added to the sum of both sides.
template <int row, int col, int rows, int cols, class Operator>
[[gnu::always_inline]] inline float interpolation_weight(const Operator& op, std::ptrdiff_t i) {
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
  return towards / ((sum > least ? sum : least) + tiny);
}

/// Returns an interpolation weight for the cell at the offset (row, col), which is between four
/// coarse cells: the weight of the coarse cell at the offset (-row, -col) from it. The coarse cell
/// acts directly, over the diagonal, and through the two adjacent cells, where its weights are
/// `beside` (adjacent in the same row) and `above` (adjacent in the same column).
template <int row, int col, class Operator>
[[gnu::always_inline]] inline float corner_weight(const Operator& op, std::ptrdiff_t i,
                                                  float beside, float above) {
  float sum = op.template coupling<row, col, -row, 0>(i) * above +
              op.template coupling<row, col, 0, -col>(i) * beside;
  if constexpr (Operator::has(1, 1)) sum += op.template coupling<row, col, -row, -col>(i);
  return sum * op.template inverse<row, col>(i);
}

template <class Operator>
[[gnu::always_inline]] inline void make_weights(const Operator& op, Level coarse) {
  for_each_pair(op, coarse, [=](std::ptrdiff_t i, std::ptrdiff_t f) {
    const float own = coarse.inverse[0][i] > 0 ? 1.0F : 0.0F;
    const float west = own * interpolation_weight<0, -1, 0, 1>(op, f);
    const float east = own * interpolation_weight<0, 1, 0, -1>(op, f);
    const float north = own * interpolation_weight<-1, 0, 1, 0>(op, f);
    const float south = own * interpolation_weight<1, 0, -1, 0>(op, f);
    coarse.weights[0][i] = own * corner_weight<-1, -1>(op, f, north, west);
    coarse.weights[1][i] = north;
    coarse.weights[2][i] = own * corner_weight<-1, 1>(op, f, north, east);
    coarse.weights[3][i] = west;
    coarse.weights[4][i] = own;
    coarse.weights[5][i] = east;
    coarse.weights[6][i] = own * corner_weight<1, -1>(op, f, south, west);
    coarse.weights[7][i] = south;
    coarse.weights[8][i] = own * corner_weight<1, 1>(op, f, south, east);
  });
}

/// Returns an element of A P, where A is the operator of the finer grid: its row is the cell at the
/// offset (row, col) from f, and its column the coarse cell i, which has the index f on the finer
/// grid.
template <int row, int col, class Operator>
[[gnu::always_inline]] inline float product(const Operator& op, const Level& coarse,
                                            std::ptrdiff_t i, std::ptrdiff_t f) {
  float sum = 0;
  if constexpr (is_near(row, col))
    sum = op.template diagonal<row, col>(f) * coarse.weights[weight_index(row, col)][i];
  for_each_offset([&]<int rows, int cols>() {
    constexpr bool is_neighbour = (rows != 0 || cols != 0) && Operator::has(rows, cols);
    if constexpr (is_neighbour && is_near(row + rows, col + cols))
      sum -= op.template coupled<row, col, rows, cols>(
          f, coarse.weights[weight_index(row + rows, col + cols)][i]);
  });
  return sum;
}

/// Returns the element of P^T A P for the coarse cell i and the coarse cell at the offset (rows,
/// cols) from it.
template <int rows, int cols, class Operator>
[[gnu::always_inline]] inline float coarse_entry(const Operator& op, const Level& coarse,
                                                 std::ptrdiff_t i, std::ptrdiff_t f) {
  const std::ptrdiff_t other = i + rows * coarse.stride + cols;
  float sum = 0;
  for_each_offset([&]<int row, int col>() {
    constexpr int r = 2 * rows + row;
    constexpr int c = 2 * cols + col;
    if constexpr (r <= 2 && c <= 2 && c >= -2)
      sum += coarse.weights[weight_index(row, col)][other] * product<r, c>(op, coarse, i, f);
  });
  return sum;
}

template <class Operator>
[[gnu::flatten]] void coarsen_by(const Operator& op, Level coarse) {
  make_weights(op, coarse);
  for_each_pair(op, coarse, [=](std::ptrdiff_t i, std::ptrdiff_t f) {
    const float diagonal = coarse_entry<0, 0>(op, coarse, i, f);
    coarse.work[i] = diagonal;
    coarse.inverse[0][i] = coarse.weights[4][i] / (diagonal + tiny);
    coarse.east[i] = -coarse_entry<0, 1>(op, coarse, i, f);
    coarse.south[i] = -coarse_entry<1, 0>(op, coarse, i, f);
    coarse.south_east[i] = -coarse_entry<1, 1>(op, coarse, i, f);
    coarse.south_west[i] = -coarse_entry<1, -1>(op, coarse, i, f);
  });
}

void coarsen(Level fine, Level coarse) {
  if (fine.black != nullptr)
    coarsen_by(FivePoints{fine}, coarse);
  else
    coarsen_by(NinePoints{fine}, coarse);
}

}  // namespace
// NOLINTEND(misc-definitions-in-headers)
}  // namespace wallheat
