#include "core/generator.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/generator_canvas.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using namespace generator;

/// Returns an outline of random shape. Its size and position are set later.
Building draw_outline(Random& random) {
  Length m = random.between(-128, 128);  // -90° to 90°
  if (random.chance(25)) m /= 8;
  const Length length = 40000;
  const bool slender = random.chance(50);
  const Length depth = length * random.between(12, slender ? 48 : 96) / 100;
  const Wing main{{0, 0}, Rotation::by(m), length, depth};
  const Length joint = depth / 8;  // overlap of wings, more than a wall
  Building building{main};
  const auto across = [&](Length u, bool up) {  // adds a wing at a right angle
    const Length deep = std::min(depth, length / 2) * random.between(70, 110) / 100;
    const Length far = length * random.between(25, 60) / 100 + joint;
    const Length at = std::clamp<Length>(u - deep / 2, 0, length - deep);
    if (up) {
      building.push_back(
          {main.on_grid(at + deep, depth - joint), main.turn.quarter(), far, deep, joint});
    } else {
      building.push_back({main.on_grid(at, joint), main.turn.back_quarter(), far, deep, joint});
    }
  };
  const Length shape = random.between(0, 99);
  if (shape < 28) return building;  // I
  if (shape < 46) {                 // L
    across(length, random.chance(50));
  } else if (shape < 56) {  // T
    const Length middle = length * random.between(35, 65) / 100;
    across(middle, random.chance(50));
  } else if (shape < 65) {  // U
    across(0, true);
    across(length, true);
  } else if (shape < 72) {  // Z
    across(0, true);
    across(length, false);
  } else if (shape < 84) {  // two bars, one of them set back
    const Length back = depth * random.between(-30, 30) / 100;
    const Length far = length * random.between(40, 90) / 100;
    building.push_back({main.on_grid(length - joint, back), main.turn, far, depth, joint});
  } else {  // a bent wing, hinged at an outer corner
    const Length far = length * random.between(50, 100) / 100;
    const Length bend = random.between(16, 60);
    const bool up = random.chance(50);
    Wing bent{main.on_grid(length, up ? 0 : depth), Rotation::by(up ? m + bend : m - bend), far,
              depth};
    if (!up) bent.origin = bent.on_grid(0, -depth);
    building.push_back(bent);
  }
  return building;
}

/// Scales and moves a building so that its bounding box is `reach` wide (or high) and is near the
/// middle of the grid.
void fit(Building& building, Length reach, Random& random) {
  Box bounds{};
  const auto measure = [&] {
    bounds = {grid_side * 9, grid_side * 9, -grid_side * 9, -grid_side * 9};
    for (const Wing& w : building) {
      for (const Point p : {w.on_grid(0, 0), w.on_grid(w.length, 0), w.on_grid(0, w.depth),
                            w.on_grid(w.length, w.depth)}) {
        bounds = {std::min(bounds.u0, p.x), std::min(bounds.v0, p.y), std::max(bounds.u1, p.x),
                  std::max(bounds.v1, p.y)};
      }
    }
  };
  measure();
  const Length side = std::max(bounds.u1 - bounds.u0, bounds.v1 - bounds.v0);
  for (Wing& w : building) {
    w = {{w.origin.x * reach / side, w.origin.y * reach / side},
         w.turn,
         w.length * reach / side,
         w.depth * reach / side,
         w.overlap * reach / side};
  }
  measure();
  const Length slack_x = grid_side - (bounds.u1 - bounds.u0);
  const Length slack_y = grid_side - (bounds.v1 - bounds.v0);
  const Length dx = slack_x * random.between(40, 60) / 100 - bounds.u0;
  const Length dy = slack_y * random.between(40, 60) / 100 - bounds.v0;
  for (Wing& w : building) w.origin = {w.origin.x + dx, w.origin.y + dy};
}

/// Draws up to 160 buildings. Returns the first that covers `footprint` permille of the grid within
/// 8 permille, otherwise the one that comes closest.
Building choose_building(Length footprint, Random& random) {
  Building best;
  Length best_miss = 1000;
  for (int attempt = 0; attempt < 160 && best_miss > 8; ++attempt) {
    Building building = draw_outline(random);
    fit(building, grid_side * random.between(900, 975) / 1000, random);
    const Length share = coverage(building);
    const Length miss = std::max(share - footprint, footprint - share);
    if (miss < best_miss) {
      best_miss = miss;
      best = building;
    }
  }
  return best;
}

Style choose_style(Length widest_cells, Length bearing, Length cell, Random& random) {
  const auto at_least = [&](Length wanted, Length quarter_cells) {
    return std::max(wanted, quarter_cells * cell / 4);
  };
  Style style{};
  style.outer = at_least(random.between(560, 980), 5);
  style.party = at_least(random.between(320, 520), 5);
  style.thin = at_least(random.between(200, 300), 5);
  style.door = at_least(random.between(650, 1000), 5);
  style.corridor = at_least(random.between(1500, 2300), 9);
  style.narrow = at_least(2000, 12);
  style.widest = std::max(widest_cells * 100, 5 * style.narrow / 2);
  style.bearing = bearing;
  return style;
}

/// Draws a building. `random` is a copy, so that a building keeps its rooms if it is moved.
void draw(Canvas& canvas, const Building& building, const Style& style, Random random) {
  // Draws all outlines first, so that looks_out() can distinguish the outside from another wing.
  for (const Wing& w : building) canvas.fill(w, {0, 0, w.length, w.depth}, Material::bearing);
  for (std::size_t i = building.size(); i-- > 0;) draw_wing(canvas, building[i], style, random);
  for (const Wing& w : building) {  // a door to the main wing
    const Length v = w.depth * random.between(42, 58) / 100;
    if (w.overlap > 0)
      canvas.fill(w, {w.overlap - style.outer, v, w.overlap, v + style.door}, Material::room);
  }
}

FloorPlan to_plan(const Grid<Material>& cells) {
  FloorPlan plan{Grid<double>(cells.rows, cells.cols), Grid<std::uint8_t>(cells.rows, cells.cols)};
  for (std::size_t i = 0; i < cells.cells.size(); ++i) {
    const Material m = cells.cells[i];
    plan.domain.cells[i] = m == Material::bearing ? 5.0 : m == Material::inside ? 25.0 : 0.0;
    plan.interior.cells[i] = m == Material::room ? 1 : 0;
  }
  return plan;
}

void require_possible(std::size_t size) {
  if (size < 16 || size > 16384) {
    throw RunError("cannot generate a floor plan of size " + std::to_string(size) +
                   ": must be from 16 to 16384");
  }
}

/// Returns the integer square root of a number below 40000.
Length whole_root(Length number) {
  Length root = 0;
  while ((root + 1) * (root + 1) <= number) ++root;
  return root;
}

/// Values at the quantiles of 0, 100, 250, 500, 750, 900 and 1000 permille of all plans.
using Quantiles = std::array<Length, 7>;

// Chosen so that plans of size 512 have the quantiles of interior cells and iterations of 32 real
// plans, and the quantiles of temperatures that were published for all 4571 plans. Measured by
// tests/bench/whole_set.py.
constexpr Quantiles interior_shares{120, 163, 199, 314, 345, 389, 620};  // permille of cells
// Square of the width, in cells.
constexpr Quantiles widest_squares{2200, 4500, 4500, 15100, 15200, 20500, 27000};
constexpr Quantiles bearing_walls{1000, 900, 650, 490, 310, 130, 0};  // permille of walls

Length at_rank(const Quantiles& quantiles, Length permille) {
  constexpr Quantiles ranks{0, 100, 250, 500, 750, 900, 1000};
  std::size_t next = 1;
  while (permille > ranks[next]) ++next;
  const Length low = quantiles[next - 1];
  return low +
         (quantiles[next] - low) * (permille - ranks[next - 1]) / (ranks[next] - ranks[next - 1]);
}

/// Converts a fraction of a full turn, in units of 2^-64, to permille.
Length rank(std::uint64_t turn) { return static_cast<Length>((turn >> 32) * 1000 >> 32); }

/// Returns the rank of the mean of two uniformly distributed ranks among such means. With it, plans
/// with a larger interior tend to have wider rooms, but not strictly.
Length rank_of_mean(Length a, Length b) {
  const Length sum = a + b;
  const Length above = 2000 - sum;
  return sum < 1000 ? sum * sum / 2000 : 1000 - above * above / 2000;
}

}  // namespace

FloorPlan generate_floor_plan(std::uint64_t seed, std::uint64_t index, std::size_t size) {
  require_possible(size);
  Random random(Random::mix(seed + 0x632be59bd9b4e019U) ^ Random::mix(~index));
  // Multiples of irrational numbers spread the target values evenly over the plans.
  const std::uint64_t phase = Random::mix(seed ^ 0x9e6c63d0676a9a99U);
  const Length of_share = rank(phase + index * 0x9e3779b97f4a7c15U);             // golden ratio
  const Length of_own = rank(Random::mix(phase) + index * 0x6a09e667f3bcc909U);  // square root of 2
  // Square root of 3.
  const Length of_bearing = rank(Random::mix(~phase) + index * 0xbb67ae8584caa73bU);
  const Length share = at_rank(interior_shares, of_share);
  const Length widest = whole_root(at_rank(widest_squares, rank_of_mean(of_share, of_own)));
  const Length bearing = at_rank(bearing_walls, of_bearing);
  // 76 to 85 % of the footprint is room. The share of walls is smaller if the rooms are wider
  // (measured at size 512).
  const Length footprint = 1000 * share / (755 + (widest - 62) * 7 / 5);
  const bool over_edge = (phase % 10 + index % 10) % 10 == 0;

  // The first building nearly always suffices. On a tiny grid its walls may leave no room.
  for (;;) {
    Building building = choose_building(footprint, random);
    const Style style = choose_style(widest, bearing, Canvas(size).cell(), random);
    const Length side = random.between(0, 3);
    Length hang = over_edge ? grid_side / 10 + random.between(0, 2000) : 0;
    for (int push = 0; push < 6; ++push) {
      for (Wing& w : building) {
        (side < 2 ? w.origin.x : w.origin.y) += side % 2 == 0 ? hang : -hang;
      }
      Canvas canvas(size);
      draw(canvas, building, style, random);
      if (!canvas.has(Material::room)) break;
      if (!over_edge || canvas.room_on_edge()) return to_plan(canvas.cells());
      hang = grid_side / 40;  // only outer walls touch the edge; move the building further
    }
  }
}

FloorPlan generate_poisson_plan(std::uint64_t seed, std::uint64_t index, std::size_t size) {
  require_possible(size);
  FloorPlan plan{Grid<double>(size, size), Grid<std::uint8_t>(size, size, 1),
                 Grid<double>(size, size, index == 1 ? 1.0 : 0.0)};
  for (std::size_t i = 0; i < size; ++i)
    for (std::uint8_t* edge : {&plan.interior(0, i), &plan.interior(size - 1, i),
                               &plan.interior(i, 0), &plan.interior(i, size - 1)})
      *edge = 0;
  if (index == 0) plan.source(size / 2, size / 2) = 10000;
  if (index < 2) return plan;
  Random random(Random::mix(seed + 0x632be59bd9b4e019U) ^ Random::mix(~index));
  const auto inner_index = [&] {
    return static_cast<std::size_t>(random.between(1, static_cast<Length>(size) - 2));
  };
  for (Length sources = random.between(1, 8); sources > 0; --sources) {
    const std::size_t row = inner_index();
    const std::size_t col = inner_index();
    plan.source(row, col) = static_cast<double>(random.between(1000, 20000));
  }
  return plan;
}

}  // namespace wallheat
