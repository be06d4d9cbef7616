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
  FloorPlan plan;
  std::vector<ColourUse> uses;
  std::size_t edge_room_pixels = 0;  ///< pixels of room on the edge of the picture
};

/// The plan that the bytes of a PNG file show. White is room, and the commonest other colour along
/// the edge is outside; what is transparent counts as #808080. Any other colour counts as the
/// nearest of all these, by the root of the sum of squares of red, green and blue. A cell with any
/// pixel of a wall is wall, so that thin walls stay closed; otherwise the commoner of room and
/// outside counts. Cells that are no wall begin at 0 °C. Throws InputError if it is no PNG, has
/// more than 16384 pixels or cells on a side or no room, or names a pixel whose colour is near
/// none.
[[nodiscard]] DrawnPlan plan_from_image(const NamedBytes& png, const Legend& legend);

}  // namespace wallheat
