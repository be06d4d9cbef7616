#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "wallheat/grid.hpp"

namespace wallheat::generator {

// Internal to the generator: its numbers, its geometry, and the canvas on which walls are painted.
// All numbers are integers, and every random draw is a separate statement, because C++ leaves the
// order of evaluation of function arguments open. Together this makes the bytes of a plan the same
// on every machine.

/// Length that does not depend on the size of the grid. The side of the grid is 51200, so 100 is
/// one cell of a 512 x 512 grid.
using Length = std::int64_t;
constexpr Length grid_side = 51200;

enum class Material : std::uint8_t { outside, room, bearing, inside };

/// SplitMix64 (Steele, Lea and Flood, 2014): a counter and a mixing function.
class Random {
 public:
  explicit Random(std::uint64_t key) : counter_(key) {}

  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// Returns a uniformly distributed number within [low, high]. The bias of 2^-32 does not matter
  /// here.
  Length between(Length low, Length high) {
    counter_ += 0x9e3779b97f4a7c15U;
    const std::uint64_t choices = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<Length>(((mix(counter_) >> 32) * choices) >> 32);
  }
  bool chance(Length percent) { return between(0, 99) < percent; }

 private:
  std::uint64_t counter_;
};

/// Rotation whose cosine and sine are the fractions cos / denominator and sin / denominator.
struct Rotation {
  Length cos = 1, sin = 0, denominator = 1;

  /// Returns the rotation by the angle 2 atan(m / 128): every such m gives a Pythagorean triple.
  static Rotation by(Length m) {
    constexpr Length n = 128;
    return {n * n - m * m, 2 * n * m, n * n + m * m};
  }
  [[nodiscard]] Rotation quarter() const { return {-sin, cos, denominator}; }
  [[nodiscard]] Rotation back_quarter() const { return {sin, -cos, denominator}; }
};

struct Point {
  Length x = 0, y = 0;
};

/// Axis-parallel box in the coordinates of a wing: u along the wing, v across it.
struct Box {
  Length u0, v0, u1, v1;
};

/// One straight part of a building: [0, length] × [0, depth], rotated, and translated to `origin`.
struct Wing {
  Point origin;
  Rotation turn;
  Length length = 0, depth = 0;
  /// How far its near end reaches into the main wing, if they meet at a right angle.
  Length overlap = 0;

  [[nodiscard]] Point on_grid(Length u, Length v) const {
    return {origin.x + (turn.cos * u - turn.sin * v) / turn.denominator,
            origin.y + (turn.sin * u + turn.cos * v) / turn.denominator};
  }
};
using Building = std::vector<Wing>;  // the first wing is the main wing, and is drawn last

/// Returns a / b, rounded down; b must be positive. A division of doubles is several times as fast
/// as one of integers, and its result differs by one at most, which the loops correct.
inline Length floor_div(Length a, Length b) {
  auto quotient = static_cast<Length>(static_cast<double>(a) / static_cast<double>(b));
  while (quotient * b > a) --quotient;
  while ((quotient + 1) * b <= a) ++quotient;
  return quotient;
}

/// Reduces the half-open range [begin, end) to the x with low <= p + x q < high.
inline void clip(Length& begin, Length& end, Length p, Length q, Length low, Length high) {
  if (q < 0) {  // equivalent to -high < -p + x (-q) <= -low
    clip(begin, end, -p, -q, 1 - high, 1 - low);
  } else if (q == 0) {
    if (p < low || p >= high) end = begin;
  } else {
    begin = std::max(begin, floor_div(low - p - 1, q) + 1);
    end = std::min(end, floor_div(high - p - 1, q) + 1);
  }
}

/// Returns the half-open range of the rows that a box may reach, in a grid with `size` cells per
/// side. It is computed from the corners, with one more row on both sides for the rounding in
/// on_grid().
inline std::pair<Length, Length> rows_of(Length size, const Wing& wing, const Box& box) {
  const auto [low, high] =
      std::minmax({wing.on_grid(box.u0, box.v0).y, wing.on_grid(box.u0, box.v1).y,
                   wing.on_grid(box.u1, box.v0).y, wing.on_grid(box.u1, box.v1).y});
  return {std::clamp<Length>((low - 1) * size / grid_side - 1, 0, size),
          std::clamp<Length>((high + 1) * size / grid_side + 2, 0, size)};
}

/// Calls visit(row, begin, end) for the cells of each row whose centres are in the box. Coordinates
/// are scaled by 2 size (centres are at odd multiples of half a cell) and by turn.denominator, so
/// that the comparison is exact.
template <class Visit>
void for_each_run(Length size, const Wing& wing, const Box& box, Visit visit) {
  const Length scale = 2 * size * wing.turn.denominator;
  const auto [first, end_row] = rows_of(size, wing, box);
  for (Length row = first; row < end_row; ++row) {
    const Length x = grid_side - 2 * size * wing.origin.x;
    const Length y = (2 * row + 1) * grid_side - 2 * size * wing.origin.y;
    const auto [c, s, one] = wing.turn;
    Length begin = 0;
    Length end = size;
    clip(begin, end, c * x + s * y, 2 * grid_side * c, scale * box.u0, scale * box.u1);
    clip(begin, end, c * y - s * x, -2 * grid_side * s, scale * box.v0, scale * box.v1);
    if (begin < end) visit(row, begin, end);
  }
}

/// Returns the part of the grid that a building covers, in permille, measured on 64 x 64 cells.
inline Length coverage(const Building& building) {
  constexpr Length side = 64;
  std::array<std::uint64_t, side> rows{};
  for (const Wing& wing : building)
    for_each_run(
        side, wing, {0, 0, wing.length, wing.depth}, [&](Length row, Length begin, Length end) {
          rows[static_cast<std::size_t>(row)] |= ~std::uint64_t{0} >> (side - end + begin) << begin;
        });
  Length cells = 0;
  for (const std::uint64_t row : rows) cells += std::popcount(row);
  return cells * 1000 / (side * side);
}

class Canvas {
 public:
  explicit Canvas(std::size_t size) : size_(static_cast<Length>(size)), cells_(size, size) {}

  [[nodiscard]] const Grid<Material>& cells() const { return cells_; }
  [[nodiscard]] Length cell() const { return (grid_side + size_ - 1) / size_; }

  /// Paints the cells whose centres are in the box.
  void fill(const Wing& wing, const Box& box, Material material) {
    for_each_run(size_, wing, box, [&](Length row, Length begin, Length end) {
      for (Length col = begin; col < end; ++col)
        cells_(static_cast<std::size_t>(row), static_cast<std::size_t>(col)) = material;
    });
  }
  /// Returns true if the cell at a point, in the coordinates of the wing, is outside. Points
  /// outside the grid are outside.
  [[nodiscard]] bool outside_at(const Wing& wing, Length u, Length v) const {
    const Point p = wing.on_grid(u, v);
    if (p.x < 0 || p.y < 0 || p.x >= grid_side || p.y >= grid_side) return true;
    return cells_(static_cast<std::size_t>(p.y * size_ / grid_side),
                  static_cast<std::size_t>(p.x * size_ / grid_side)) == Material::outside;
  }
  [[nodiscard]] bool has(Material material) const {
    return std::ranges::find(cells_.cells, material) != cells_.cells.end();
  }
  [[nodiscard]] bool room_on_edge() const {
    const std::size_t n = cells_.rows;
    for (std::size_t i = 0; i < n; ++i) {
      for (const Material m : {cells_(0, i), cells_(n - 1, i), cells_(i, 0), cells_(i, n - 1)}) {
        if (m == Material::room) return true;
      }
    }
    return false;
  }

 private:
  Length size_;
  Grid<Material> cells_;
};

// Internal to the generator: the interior of one wing.

/// Dimensions that the walls and rooms of one building share.
struct Style {
  Length outer, party, thin;      ///< thickness of outer, other load-bearing, and inside walls
  Length corridor, door, narrow;  ///< widths; `narrow` is the minimum width of a room
  Length widest;   ///< each room loses heat at least as fast as a square of this width
  Length bearing;  ///< permille of the load-bearing walls along corridors
};

/// Paints a complete wing: outer walls, apartments, corridors, rooms and doors.
void draw_wing(Canvas& canvas, const Wing& wing, const Style& style, Random& random);

}  // namespace wallheat::generator
