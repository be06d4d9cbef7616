#pragma once

#include <png.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "core/input_file.hpp"
#include "io/deflate.hpp"
#include "wallheat/grid.hpp"

namespace wallheat {

/// Returns a picture as a PNG file. `format` is a pixel format of libpng.
inline NamedBytes png_of(const void* pixels, std::size_t rows, std::size_t cols,
                         png_uint_32 format) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(rows);
  image.width = static_cast<png_uint_32>(cols);
  image.format = format;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  NamedBytes png{"flat.png", std::vector<std::byte>(size)};
  if (png_image_write_to_memory(&image, png.bytes.data(), &size, 0, pixels, 0, nullptr) == 0)
    throw std::runtime_error(image.message);
  png.bytes.resize(size);
  return png;
}

/// Returns the pixels of a PNG file. Throws std::runtime_error if it is not one.
inline Grid<std::array<std::uint8_t, 3>> pixels_of(const std::string& png) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, png.data(), png.size()) == 0)
    throw std::runtime_error(image.message);
  image.format = PNG_FORMAT_RGB;
  Grid<std::array<std::uint8_t, 3>> pixels(image.height, image.width);
  const png_color background{255, 255, 255};
  if (png_image_finish_read(&image, &background, pixels.cells.data(), 0, nullptr) == 0)
    throw std::runtime_error(image.message);
  return pixels;
}

/// Sets the checksum of every chunk of a picture to the checksum of its content.
inline void seal_chunks(std::vector<std::byte>& png) {
  constexpr std::size_t signature = 8;
  const auto put = [&](std::size_t at, std::uint32_t number) {
    for (std::size_t k = 0; k < 4; ++k)
      png[at + k] = static_cast<std::byte>(number >> (24 - 8 * k));
  };
  const auto number_at = [&](std::size_t at) {
    std::size_t number = 0;
    for (std::size_t k = 0; k < 4; ++k)
      number = number << 8 | std::to_integer<unsigned>(png[at + k]);
    return number;
  };
  constexpr std::size_t around = 12;  // bytes of the size, the type and the checksum of a chunk
  for (std::size_t at = signature; at + around <= png.size();) {
    const std::size_t size = number_at(at);
    if (size > png.size() - at - around) return;
    put(at + 8 + size, crc32_of(std::span(png).subspan(at + 4, 4 + size)));
    at += around + size;
  }
}

}  // namespace wallheat
