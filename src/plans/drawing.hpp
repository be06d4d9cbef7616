#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/input_file.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

struct PixelColour {
  std::uint8_t red = 0, green = 0, blue = 0;
  friend auto operator<=>(const PixelColour&, const PixelColour&) = default;
};
inline constexpr PixelColour white{255, 255, 255};
/// "#ff0000"
[[nodiscard]] std::string to_text(PixelColour colour);

/// The colour of walls, and the temperature in °C that they are held at.
struct WallColour {
  PixelColour colour;
  double temperature = 0;
};

/// How a drawing is read.
struct Legend {
  std::vector<WallColour> walls;  ///< at least one; each colour once, and none is white
  double colour_tolerance = 60;   ///< how far a colour may be from one that means something
  /// Cells along each side of a pixel, and pixels along each side of a cell; one of them is 1.
  std::size_t cells_per_pixel = 1, pixels_per_cell = 1;
};

/// A plan as it was drawn, and for what its colours were taken.
struct DrawnPlan {
  struct ColourUse {
    PixelColour colour;
    std::string meaning;  ///< "wall of 25.0 °C", "room", "outside"
    std::size_t pixels = 0;
    std::size_t near = 0;  ///< of these, pixels of a colour near it
  };
  /// A colour without a meaning, which counted as the nearest colour that has one.
  struct NearColour {
    PixelColour colour;
    std::size_t use = 0;  ///< index in `uses` of the colour that it counted as
    double distance = 0;  ///< from that colour
    std::size_t pixels = 0;
  };
  /// A connected part of the outside that does not reach the edge of the picture. Its cells are
  /// held at 0 °C: this is a courtyard, or a mistake, as a label that was written into a room.
  struct EnclosedArea {
    std::size_t x = 0, y = 0;  ///< its first pixel in reading order, from 0
    std::size_t pixels = 0;
    bool borders_room = false;  ///< true if no wall is between it and a room
  };
  static constexpr std::size_t max_near_colours = 100;  ///< the rarer ones are left out

  FloorPlan plan;
  std::vector<ColourUse> uses;
  std::vector<NearColour> near_colours;      ///< most pixels first
  std::vector<EnclosedArea> enclosed_areas;  ///< the largest first
  std::size_t transparent_pixels = 0;
  std::size_t edge_room_pixels = 0;  ///< pixels of room on the edge of the picture
};

/// Returns the plan that the bytes of a PNG file show.
///   - A pixel that is less than half opaque is outside. Any other pixel counts as opaque: drawing
///     programs write the smooth edge of a wall as pixels of the wall's colour that are partly
///     transparent.
///   - White is room. The commonest other colour along the edge is outside, too.
///   - Any other colour counts as the nearest of these and of the walls' colours, by the root of
///     the sum of squares of red, green and blue.
///   - A cell with any pixel of a wall is wall, so that thin walls stay closed. Otherwise the
///     commoner of room and outside counts.
///
/// Cells that are not wall begin at 0 °C. Throws InputError if the file is not a PNG, has more than
/// 16384 pixels or cells on a side or no room, or if the nearest colour of a pixel is farther than
/// `legend.colour_tolerance`; the message names that pixel.
[[nodiscard]] DrawnPlan plan_from_image(const NamedBytes& png, const Legend& legend);

}  // namespace wallheat
