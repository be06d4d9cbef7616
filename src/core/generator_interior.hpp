#pragma once

// Internal to the generator: what is inside the outer walls of one wing.

#include "core/generator_canvas.hpp"

namespace wallheat::generator {

/// What the walls and rooms of one building have in common.
struct Style {
  Length outer, party, thin;      ///< thickness of outer, other load-bearing, and inside walls
  Length corridor, door, narrow;  ///< widths; `narrow` is the least width of a room
  Length widest;                  ///< no room holds heat longer than a square one of this width
  Length bearing;                 ///< permille of the walls along corridors that bear load
};

/// Paints a wing whole: outer walls, apartments, corridors, rooms, doors.
void draw_wing(Canvas& canvas, const Wing& wing, const Style& style, Random& random);

}  // namespace wallheat::generator
