#include "core/generator_canvas.hpp"

namespace wallheat::generator {
namespace {

/// Draws the walls inside one wing: divides it at load-bearing walls into parts, and each part into
/// strips of rooms.
class Interior {
 public:
  Interior(Canvas& canvas, const Wing& wing, const Style& style, Random& random)
      : canvas_(canvas), wing_(wing), style_(style), random_(random) {}

  void draw() {
    const Length t = style_.outer;
    fill({0, 0, wing_.length, wing_.depth}, Material::bearing);
    const Box all{t, t, wing_.length - t, wing_.depth - t};
    fill(all, Material::room);
    for (Length u = all.u0; u < all.u1;) {
      const Length wanted = u + random_.between(17 * style_.widest / 10, 32 * style_.widest / 10);
      const Length end = all.u1 - wanted > 12 * style_.widest / 10 ? wanted : all.u1;
      part({u, all.v0, end, all.v1}, t, t);
      if (end < all.u1) fill({end, all.v0, end + style_.party, all.v1}, Material::bearing);
      u = end + style_.party;
    }
  }

 private:
  /// A row of rooms. One of its long sides is the facade, behind a wall of thickness `facade` (0 if
  /// there is none). The opposite side is the front, which contains the doors.
  struct Strip {
    Box box;
    bool facade_low;  ///< the facade is at v0
    Length facade;
    Material front;  ///< Material::room: no wall, because the strip has the full depth of its part
  };

  void fill(const Box& box, Material material) { canvas_.fill(wing_, box, material); }

  /// Fills a box in the coordinates of a strip, in which v counts from the facade.
  void fill(const Strip& strip, Box b, Material material) {
    if (strip.facade_low) {
      fill({b.u0, strip.box.v0 + b.v0, b.u1, strip.box.v0 + b.v1}, material);
    } else {
      fill({b.u0, strip.box.v1 - b.v1, b.u1, strip.box.v1 - b.v0}, material);
    }
  }

  Material choose_wall(Length bearing_permille) {
    return random_.between(0, 999) < bearing_permille ? Material::bearing : Material::inside;
  }

  [[nodiscard]] Length thickness(Material wall) const {
    return wall == Material::bearing ? style_.party : style_.thin;
  }

  /// Returns true if a room of w × h loses heat more slowly than a square room of width `widest`.
  /// The rates are 1/w² + 1/h² and 2/widest².
  [[nodiscard]] bool too_wide(Length w, Length h) const {
    const Length ww = w * w / 100;
    const Length hh = h * h / 100;
    return 2 * ww / 100 * (hh / 100) > (style_.widest * style_.widest / 10000) * ((ww + hh) / 100);
  }

  void part(const Box& b, Length facade_low, Length facade_high) {
    const Length depth = b.v1 - b.v0;
    const Length two_rooms = 2 * style_.narrow + style_.corridor + 2 * style_.party;
    if (depth <= 23 * style_.widest / 20 || depth < two_rooms) {
      const bool low = facade_high == 0 || (facade_low > 0 && random_.chance(50));
      strip({b, low, low ? facade_low : facade_high, Material::room});
    } else if (depth <= 21 * style_.widest / 10 + style_.corridor) {
      along_corridor(b, facade_low, facade_high);
    } else {
      const Length v = b.v0 + depth * random_.between(40, 60) / 100;
      part({b.u0, b.v0, b.u1, v}, facade_low, 0);
      part({b.u0, v + style_.party, b.u1, b.v1}, 0, facade_high);
      fill({b.u0, v, b.u1, v + style_.party}, Material::bearing);
      const Length u = random_.between(b.u0, b.u1 - style_.door);
      fill({u, v, u + style_.door, v + style_.party}, Material::room);
    }
  }

  void along_corridor(Box b, Length facade_low, Length facade_high) {
    const Length depth = b.v1 - b.v0 - style_.corridor;
    const Length v = b.v0 + std::clamp(depth * random_.between(38, 62) / 100, style_.narrow,
                                       std::max(style_.narrow, depth - style_.narrow));
    if (b.u1 - b.u0 > 18 * style_.widest / 10 && random_.chance(45)) end_rooms(b, v);
    const Material front = choose_wall(style_.bearing);
    strip({{b.u0, b.v0, b.u1, v}, true, facade_low, front});
    const Material other = choose_wall(style_.bearing);
    strip({{b.u0, v + style_.corridor, b.u1, b.v1}, false, facade_high, other});
    if (b.u1 - b.u0 > 2 * style_.widest) {  // a wall with a door near the middle of a long corridor
      const Length u = b.u0 + (b.u1 - b.u0) * random_.between(30, 70) / 100;
      fill({u, v, u + style_.thin, v + style_.corridor}, Material::inside);
      const Length side = (style_.corridor - style_.door) / 2;
      fill({u, v + side, u + style_.thin, v + side + style_.door}, Material::room);
    }
  }

  /// Draws two rooms across one end of a corridor, and reduces b to the other part.
  void end_rooms(Box& b, Length v) {
    const Length w = std::max(style_.narrow, style_.widest * random_.between(50, 68) / 100);
    const bool at_low = random_.chance(50);
    const Length wall = at_low ? b.u0 + w : b.u1 - w - style_.thin;
    const Box ends =
        at_low ? Box{b.u0, b.v0, wall, b.v1} : Box{wall + style_.thin, b.v0, b.u1, b.v1};
    const Length between = random_.chance(50) ? v - style_.thin : v + style_.corridor;
    fill({wall, b.v0, wall + style_.thin, b.v1}, Material::inside);
    fill({ends.u0, between, ends.u1, between + style_.thin}, Material::inside);
    const Length side = (style_.corridor - style_.door) / 2;
    fill({wall, v + side, wall + style_.thin, v + side + style_.door}, Material::room);
    (at_low ? b.u0 : b.u1) = at_low ? wall + style_.thin : wall;
  }

  void strip(const Strip& s) {
    const Length h = s.box.v1 - s.box.v0;
    const Length wall = s.front == Material::room ? 0 : thickness(s.front);
    bool stairs = wall > 0 && random_.chance(75);
    Length recess_before = 0;
    for (Length u = s.box.u0; u < s.box.u1;) {
      Length w = std::max(style_.narrow, style_.widest * random_.between(42, 118) / 100);
      const bool is_stairs = stairs && random_.chance(70) && s.box.u1 - u > 3 * style_.narrow;
      if (is_stairs) w = std::max(style_.narrow, random_.between(3000, 4600));
      if (s.box.u1 - u - w < style_.narrow) w = s.box.u1 - u;
      while (too_wide(w, h) && w > 2 * style_.narrow) w = 4 * w / 5;
      const bool last = u + w >= s.box.u1;
      // A recess makes the corridor wider in front of this room.
      const bool recessed = wall > 0 && !is_stairs && h > 2 * style_.narrow && random_.chance(30);
      const Length recess = recessed ? random_.between(style_.narrow / 5, style_.narrow / 2) : 0;
      fill(s, {u, h - wall - recess, u + w, h - recess}, s.front);
      if (recess != recess_before && u > s.box.u0) {  // the step between two fronts
        const Length from = h - wall - std::max(recess, recess_before);
        fill(s, {u - thickness(s.front), from, u, h - std::min(recess, recess_before)}, s.front);
      }
      const Box slot{u, 0, u + w - (last ? 0 : style_.thin), h - recess - wall};
      if (!last) fill(s, {slot.u1, 0, u + w, slot.v1}, choose_wall(style_.bearing * 8 / 100));
      if (is_stairs) {
        staircase(s, {slot.u0, 0, u + w, h});
        stairs = false;
      } else {
        room(s, slot, wall, last);
      }
      recess_before = recess;
      u += w;
    }
  }

  void room(const Strip& s, const Box& slot, Length wall, bool last) {
    const Length w = slot.u1 - slot.u0;
    const Length h = slot.v1;
    const Length spare = std::max<Length>(0, w - style_.door - 2 * style_.thin);
    Length door = slot.u0 + style_.thin + random_.between(0, spare);
    if (looks_out(s, slot) && w > 2 * style_.narrow && h > 3 * style_.narrow && random_.chance(9)) {
      loggia(s, slot);
    } else if (w > 2 * style_.narrow && h > 2 * style_.narrow &&
               random_.chance(wall > 0 ? 85 : 100)) {
      bathroom(s, slot);
      door = slot.u1 - style_.door - style_.thin;
    } else if (6 * style_.thin < style_.narrow &&
               random_.chance(35)) {  // a pipe duct or a column in a corner
      const Length a = random_.between(style_.thin * 2, style_.thin * 4);
      const Material material = random_.chance(60) ? Material::inside : Material::bearing;
      fill(s, {slot.u0, h - a, slot.u0 + a * random_.between(3, 6) / 4, h}, material);
      door = std::max(door, slot.u0 + 7 * a / 4);
    }
    if (wall > 0 && random_.chance(80))
      fill(s, {door, h, door + style_.door, h + wall}, Material::room);
    if (!last && random_.chance(wall > 0 ? 15 : 75)) {  // a door to the next room
      const Length v = h * random_.between(15, 70) / 100;
      fill(s, {slot.u1, v, slot.u1 + style_.thin, v + style_.door}, Material::room);
    }
  }

  void bathroom(const Strip& s, const Box& slot) {
    const Length w = (slot.u1 - slot.u0) * random_.between(38, 55) / 100;
    const Length top = slot.v1 - slot.v1 * random_.between(30, 42) / 100;
    const Length u = slot.u0 + w;
    fill(s, {slot.u0, top, u, top + style_.thin}, Material::inside);
    fill(s, {u - style_.thin, top, u, slot.v1}, Material::inside);
    if (random_.chance(60)) {
      const Length v = (top + style_.thin + slot.v1 - style_.door) / 2;
      fill(s, {u - style_.thin, v, u, v + style_.door}, Material::room);
    }
  }

  /// Returns true if nothing is in front of the facade of this room.
  [[nodiscard]] bool looks_out(const Strip& s, const Box& slot) const {
    if (s.facade == 0) return false;
    const Length away = s.facade + 800;
    const Length v = s.facade_low ? s.box.v0 - away : s.box.v1 + away;
    return canvas_.outside_at(wing_, slot.u0, v) && canvas_.outside_at(wing_, slot.u1, v) &&
           canvas_.outside_at(wing_, (slot.u0 + slot.u1) / 2, v);
  }

  /// Draws a balcony behind the facade line that is open to the outside. Its cells are room or
  /// outside, as in real plans.
  void loggia(const Strip& s, const Box& slot) {
    const Length deep = std::min<Length>(slot.v1 * random_.between(22, 34) / 100, 3000);
    const Material floor = random_.chance(60) ? Material::room : Material::outside;
    const Length stub = random_.between(0, 500);
    fill(s, {slot.u0, -s.facade - stub, slot.u1, deep + style_.party}, Material::bearing);
    const Length side = style_.party;
    fill(s, {slot.u0 + side, -s.facade, slot.u1 - side, deep}, floor);
    fill(s, {slot.u0 + side, -s.facade - stub, slot.u1 - side, -s.facade}, Material::outside);
    const Length u = (slot.u0 + slot.u1 - style_.door) / 2;
    if (random_.chance(40)) fill(s, {u, deep, u + style_.door, deep + side}, Material::room);
  }

  /// Draws load-bearing walls around a flight of stairs, which is not room, and a landing, which is
  /// room.
  void staircase(const Strip& s, const Box& slot) {
    const Length t = style_.party;
    const Length landing = slot.v1 - slot.v1 * random_.between(25, 45) / 100;
    fill(s, slot, Material::bearing);
    fill(s, {slot.u0 + t, 0, slot.u1 - t, landing}, Material::outside);
    fill(s, {slot.u0 + t, landing, slot.u1 - t, slot.v1 - t}, Material::room);
    const Length u = (slot.u0 + slot.u1 - style_.door) / 2;
    fill(s, {u, slot.v1 - t, u + style_.door, slot.v1}, Material::room);
  }

  Canvas& canvas_;
  const Wing& wing_;
  const Style& style_;
  Random& random_;
};

}  // namespace

void draw_wing(Canvas& canvas, const Wing& wing, const Style& style, Random& random) {
  Interior(canvas, wing, style, random).draw();
}

}  // namespace wallheat::generator
