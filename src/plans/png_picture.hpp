#pragma once

#include <cstddef>
#include <cstdint>

#include "core/input_file.hpp"
#include "plans/drawing.hpp"

namespace wallheat {

/// Pixel of a picture.
struct Pixel {
  PixelColour colour;
  std::uint8_t opacity = 0;  ///< 255: opaque

  [[nodiscard]] bool is_transparent() const { return opacity < 128; }
};

/// Returns the pixels of a PNG picture. Throws InputError if the file is not a PNG picture, or if
/// it has more than `max_per_side` pixels along a side. A build without libpng always throws
/// UsageError (png_picture_absent.cpp).
[[nodiscard]] Grid<Pixel> read_png(const NamedBytes& png, std::size_t max_per_side);

}  // namespace wallheat
