#pragma once

#include <cstdint>

#include "solve/host_device.hpp"
#include "solve/stencil.hpp"

// A tile is what one GPU thread holds in its registers: 8 rows by 4 columns of cells. Each sweep it
// takes the facing edges of its four neighbours from its inbox and gives its own new edges into
// theirs. This header compiles for the host, too, where tests run it on ordinary threads.

namespace wallheat::gpu {

constexpr int tile_rows = 8;
constexpr int tile_cols = 4;
constexpr int tile_cells = tile_rows * tile_cols;

/// Two values that are loaded and stored together.
struct alignas(16) Pair {
  double first;
  double second;
};

/// The places in an inbox, in pairs: what came from the left and the right (top to bottom), from
/// above and from below (left to right).
enum Place : int { from_left = 0, from_right = 4, from_up = 8, from_down = 10, inbox_pairs = 12 };

/// A tile's neighbours, as indexes of an array.
enum Side : int { left = 0, right = 1, up = 2, down = 3, sides = 4 };

/// One iteration on the cells of a tile (row-major, °C). Bit r * tile_cols + c of `interior` tells
/// whether a cell is updated. `inbox(place)` returns the pair at a place. Returns the largest
/// |new - old| where `looks_at_delta`, else 0.
template <bool looks_at_delta, class Inbox>
WALLHEAT_HOST_DEVICE inline double sweep(double (&cells)[tile_cells], std::uint32_t interior,
                                         const Inbox& inbox) {
  double delta = 0;
  const Pair up01 = inbox(from_up);
  const Pair up23 = inbox(from_up + 1);
  const Pair down01 = inbox(from_down);
  const Pair down23 = inbox(from_down + 1);
  double above[tile_cols] = {up01.first, up01.second, up23.first, up23.second};
  const double below[tile_cols] = {down01.first, down01.second, down23.first, down23.second};
  Pair lefts{};
  Pair rights{};
  WALLHEAT_UNROLL
  for (int row = 0; row < tile_rows; ++row) {
    if (row % 2 == 0) {
      lefts = inbox(from_left + row / 2);
      rights = inbox(from_right + row / 2);
    }
    double before = row % 2 == 0 ? lefts.first : lefts.second;
    const double after = row % 2 == 0 ? rights.first : rights.second;
    WALLHEAT_UNROLL
    for (int col = 0; col < tile_cols; ++col) {
      const int cell = row * tile_cols + col;
      const double old = cells[cell];
      const double next = col + 1 < tile_cols ? cells[cell + 1] : after;
      const double under = row + 1 < tile_rows ? cells[cell + tile_cols] : below[col];
      const double fresh = updated(before, next, above[col], under);
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

/// Gives a tile's edges to its neighbours: calls give(side, place, pair) for each pair, `place`
/// being that in the inbox of the neighbour at `side`.
template <class Give>
WALLHEAT_HOST_DEVICE inline void give_edges(const double (&cells)[tile_cells], const Give& give) {
  WALLHEAT_UNROLL
  for (int row = 0; row < tile_rows; row += 2) {
    const int first = row * tile_cols;
    const int second = first + tile_cols;
    give(left, from_right + row / 2, Pair{cells[first], cells[second]});
    give(right, from_left + row / 2,
         Pair{cells[first + tile_cols - 1], cells[second + tile_cols - 1]});
  }
  WALLHEAT_UNROLL
  for (int col = 0; col < tile_cols; col += 2) {
    constexpr int last_row = tile_cells - tile_cols;
    give(up, from_down + col / 2, Pair{cells[col], cells[col + 1]});
    give(down, from_up + col / 2, Pair{cells[last_row + col], cells[last_row + col + 1]});
  }
}

}  // namespace wallheat::gpu
