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
/// Returns the colour as text, such as "#ff0000".
[[nodiscard]] std::string to_text(PixelColour colour);

/// Colour of walls, and their temperature in °C.
struct WallColour {
  PixelColour colour;
  double temperature = 0;
};

/// Interpretation of the pixels of a picture.
struct Legend {
  std::vector<WallColour> walls;  ///< at least one; all colours differ, and none is white
  /// Maximum distance of a colour from the nearest colour that has a meaning.
  double colour_tolerance = 60;
  /// Cells per pixel along each side, and pixels per cell along each side; one of them is 1.
  std::size_t cells_per_pixel = 1, pixels_per_cell = 1;
};

/// A plan that was made from a picture, and the meanings of the colours in it.
struct DrawnPlan {
  struct ColourUse {
    PixelColour colour;
    std::string meaning;  ///< "wall of 25.0 °C", "room", "outside"
    std::size_t pixels = 0;
    std::size_t near = 0;  ///< of these, pixels whose colour is not exactly `colour`
  };
  /// A colour without a meaning, which was replaced by the nearest colour that has one.
  struct NearColour {
    PixelColour colour;
    std::size_t use = 0;  ///< index in `uses` of the colour that replaced it
    double distance = 0;  ///< from that colour
    std::size_t pixels = 0;
  };
  /// A connected part of the outside that does not reach the edge of the picture. Its cells are
  /// fixed at 0 °C. It is a courtyard, or a mistake, such as a label that was written into a room.
  struct EnclosedArea {
    std::size_t x = 0, y = 0;  ///< its first pixel in reading order, from 0
    std::size_t pixels = 0;
    bool borders_room = false;  ///< true if no wall is between it and a room
  };
  /// Pixels, or sides of pixels, with one property.
  struct Places {
    std::size_t count = 0;
    std::size_t x = 0, y = 0;  ///< pixel of the first one that was found, from 0

    void add(const Places& others) {
      if (count == 0) *this = {0, others.x, others.y};
      count += others.count;
    }
  };
  static constexpr std::size_t max_near_colours = 100;  ///< rarer colours are omitted

  FloorPlan plan;
  std::vector<ColourUse> uses;
  std::vector<NearColour> near_colours;      ///< in descending order of pixels
  std::vector<EnclosedArea> enclosed_areas;  ///< in descending order of size
  std::size_t transparent_pixels = 0;
  Places at_edge;  ///< pixels of room on the edge of the picture
  /// Sides of pixels of room with no wall between them and the outside, except to enclosed areas.
  Places open_sides;
};

/// Returns the plan that a PNG image shows.
///   - A pixel that is less than half opaque is outside. Any other pixel counts as opaque, because
///     drawing programs write the smooth edge of a wall as partly transparent pixels of the wall's
///     colour.
///   - White is room. The most common other colour along the edge is outside, too.
///   - Any other colour counts as the nearest of these and of the colours of the walls, by
///     Euclidean distance in RGB.
///   - A cell that contains a wall pixel is wall, so that thin walls stay closed. Otherwise the
///     majority of room and outside decides.
///
/// Cells that are not wall start at 0 °C. Throws InputError if the file is not a PNG image, if the
/// image has more than 16384 pixels or cells along a side, or no room, or if the nearest colour of
/// a pixel is farther away than `legend.colour_tolerance`; the message lists the most frequent of
/// these colours.
[[nodiscard]] DrawnPlan plan_from_image(const NamedBytes& png, const Legend& legend);

}  // namespace wallheat
