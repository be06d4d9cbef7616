#pragma once

#include "solve/gpu/device_plan.hpp"
#include "solve/stencil.hpp"

// The operations of a thread on its tile, which both kernels use.

namespace wallheat::gpu {

/// Heat source of plans without one: adds nothing to the sum of a cell's neighbours.
struct NoSource {
  __device__ double operator()(double sum, int /*cell*/) const { return sum; }
};

/// Makes one iteration on the cells of a tile (row-major, in °C). Updates only the cells whose bit
/// is set in `interior`. `halo(place)` returns the pair at index `place` of the halo, and
/// `with_source(sum, cell)` returns the sum of a cell's neighbours plus the term of the heat
/// source. Returns the largest |new - old| if `looks_at_delta`, otherwise 0.
template <TileShape shape, bool looks_at_delta, class Inbox, class Source = NoSource>
__device__ inline double sweep(double (&cells)[shape.cells()], KernelMask<shape> interior,
                               const Inbox& halo, const Source& with_source = {}) {
  constexpr int rows = shape.rows;
  constexpr int cols = shape.cols;
  constexpr int from_right = shape.from_right();
  constexpr int from_up = shape.from_up();
  constexpr int from_down = shape.from_down();
  double delta = 0;
  double above[cols];
  double below[cols];
#pragma unroll
  for (int col = 0; col < cols; col += 2) {
    const Pair ups = halo(from_up + col / 2);
    const Pair downs = halo(from_down + col / 2);
    above[col] = ups.first;
    above[col + 1] = ups.second;
    below[col] = downs.first;
    below[col + 1] = downs.second;
  }
  Pair lefts{};
  Pair rights{};
#pragma unroll
  for (int row = 0; row < rows; ++row) {
    if (row % 2 == 0) {
      lefts = halo(shape.from_left() + row / 2);
      rights = halo(from_right + row / 2);
    }
    double before = row % 2 == 0 ? lefts.first : lefts.second;
    const double after = row % 2 == 0 ? rights.first : rights.second;
#pragma unroll
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

/// Sends the edges of a tile to its neighbours: calls give(side, place, pairs) for each side. The
/// array `pairs` must be stored in the halo of the neighbour at `side`, starting at index `place`.
template <TileShape shape, class Give>
__device__ inline void send_edges(const double (&cells)[shape.cells()], const Give& give) {
  constexpr int rows = shape.rows;
  constexpr int cols = shape.cols;
  Pair column_edge[rows / 2];
  const auto give_column = [&](int col, Side side, int place) {
#pragma unroll
    for (int row = 0; row < rows; row += 2)
      column_edge[row / 2] = {cells[row * cols + col], cells[(row + 1) * cols + col]};
    give(side, place, column_edge);
  };
  give_column(0, left, shape.from_right());
  give_column(cols - 1, right, shape.from_left());
  Pair row_edge[cols / 2];
  const auto give_row = [&](int row, Side side, int place) {
#pragma unroll
    for (int col = 0; col < cols; col += 2)
      row_edge[col / 2] = {cells[row * cols + col], cells[row * cols + col + 1]};
    give(side, place, row_edge);
  };
  give_row(0, up, shape.from_down());
  give_row(rows - 1, down, shape.from_up());
}

/// Returns the maximum of the values of all threads of a warp, to each of them.
__device__ inline double warp_maximum(double value) {
  for (int distance = warp_threads / 2; distance > 0; distance /= 2) {
    const double other = __shfl_xor_sync(0xffffffffU, value, distance);
    value = other > value ? other : value;
  }
  return value;
}

}  // namespace wallheat::gpu
