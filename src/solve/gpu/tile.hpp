#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "solve/stencil.hpp"

// A tile is what one GPU thread holds in its registers: a few rows by a few columns of cells. Each
// sweep it takes the facing edges of its four neighbours from its inbox and gives its own new edges
// into theirs. Tests run this header on CPUs, too.

namespace wallheat::gpu {

constexpr int from_left = 0;  ///< a place in an inbox

/// Cells of a tile; both even. An inbox holds pairs: what came from the left and the right (top to
/// bottom), from above and from below (left to right), each from a place on.
struct TileShape {
  int rows = 0;
  int cols = 0;

  [[nodiscard]] constexpr int cells() const { return rows * cols; }
  [[nodiscard]] constexpr int from_right() const { return rows / 2; }
  [[nodiscard]] constexpr int from_up() const { return rows; }
  [[nodiscard]] constexpr int from_down() const { return rows + cols / 2; }
  [[nodiscard]] constexpr int inbox_pairs() const { return rows + cols; }
  bool operator==(const TileShape&) const = default;
};

// A cluster's tile takes 255 registers a thread and has fewer edges a cell; a streamed one takes
// 128.
constexpr TileShape cluster_tile{8, 8};
constexpr TileShape streamed_tile{8, 4};

/// Which cells of a tile are interior, and so updated: bit r * cols + c. Kernels keep as few bits
/// as the tile has cells.
using CellMask = std::uint64_t;
template <TileShape shape>
using KernelMask = std::conditional_t<(shape.cells() > 32), std::uint64_t, std::uint32_t>;

/// Two values that are loaded and stored together.
struct alignas(16) Pair {
  double first;
  double second;
};

/// Threads that a GPU runs in step.
constexpr int warp_threads = 32;

/// A tile's neighbours, as indexes of an array.
enum Side : int { left = 0, right = 1, up = 2, down = 3, sides = 4 };

/// What an update adds to the sum of a cell's neighbours: nothing.
struct NoSource {
  WALLHEAT_HOST_DEVICE double operator()(double sum, int /*cell*/) const { return sum; }
};

/// One iteration on the cells of a tile (row-major, °C), of which those in `interior` are updated.
/// `inbox(place)` returns the pair at a place, `with_source(sum, cell)` the sum of a cell's
/// neighbours and what is added to it. Returns the largest |new - old| if `looks_at_delta`,
/// else 0.
template <TileShape shape, bool looks_at_delta, class Inbox, class Source = NoSource>
WALLHEAT_HOST_DEVICE inline double sweep(double (&cells)[shape.cells()], KernelMask<shape> interior,
                                         const Inbox& inbox, const Source& with_source = {}) {
  constexpr int rows = shape.rows;
  constexpr int cols = shape.cols;
  constexpr int from_right = shape.from_right();
  constexpr int from_up = shape.from_up();
  constexpr int from_down = shape.from_down();
  double delta = 0;
  double above[cols];
  double below[cols];
  WALLHEAT_UNROLL
  for (int col = 0; col < cols; col += 2) {
    const Pair ups = inbox(from_up + col / 2);
    const Pair downs = inbox(from_down + col / 2);
    above[col] = ups.first;
    above[col + 1] = ups.second;
    below[col] = downs.first;
    below[col + 1] = downs.second;
  }
  Pair lefts{};
  Pair rights{};
  WALLHEAT_UNROLL
  for (int row = 0; row < rows; ++row) {
    if (row % 2 == 0) {
      lefts = inbox(from_left + row / 2);
      rights = inbox(from_right + row / 2);
    }
    double before = row % 2 == 0 ? lefts.first : lefts.second;
    const double after = row % 2 == 0 ? rights.first : rights.second;
    WALLHEAT_UNROLL
    for (int col = 0; col < cols; ++col) {
      const int cell = row * cols + col;
      const double old = cells[cell];
      const double next = col + 1 < cols ? cells[cell + 1] : after;
      const double under = row + 1 < rows ? cells[cell + cols] : below[col];
      const double fresh =
          quarter(with_source(neighbour_sum(before, next, above[col], under), cell));
      if ((interior >> cell & 1U) != 0) {
        cells[cell] = fresh;
        if (looks_at_delta) {
          const double change = fresh > old ? fresh - old : old - fresh;
          if (change > delta) delta = change;
        }
      }
      above[col] = old;
      before = old;
    }
  }
  return delta;
}

/// Gives a tile's edges to its neighbours: calls give(side, place, pairs) for each, an array that
/// is to stand from `place` on in the inbox of the neighbour at `side`.
template <TileShape shape, class Give>
WALLHEAT_HOST_DEVICE inline void give_edges(const double (&cells)[shape.cells()],
                                            const Give& give) {
  constexpr int rows = shape.rows;
  constexpr int cols = shape.cols;
  Pair column_edge[rows / 2];
  const auto give_column = [&](int col, Side side, int place) {
    WALLHEAT_UNROLL
    for (int row = 0; row < rows; row += 2)
      column_edge[row / 2] = {cells[row * cols + col], cells[(row + 1) * cols + col]};
    give(side, place, column_edge);
  };
  give_column(0, left, shape.from_right());
  give_column(cols - 1, right, from_left);
  Pair row_edge[cols / 2];
  const auto give_row = [&](int row, Side side, int place) {
    WALLHEAT_UNROLL
    for (int col = 0; col < cols; col += 2)
      row_edge[col / 2] = {cells[row * cols + col], cells[row * cols + col + 1]};
    give(side, place, row_edge);
  };
  give_row(0, up, shape.from_down());
  give_row(rows - 1, down, shape.from_up());
}

}  // namespace wallheat::gpu
