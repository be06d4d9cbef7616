#include "plans/png_picture.hpp"

#include <png.h>

#include <algorithm>
#include <string_view>

#include "io/deflate.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

static_assert(sizeof(Pixel) == 4, "libpng writes four bytes per pixel");

Grid<Pixel> read_png(const NamedBytes& png, std::size_t max_per_side) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const std::string_view bytes(reinterpret_cast<const char*>(png.bytes.data()), png.bytes.size());
  for (const auto& [magic, format] : {std::pair("\xFF\xD8\xFF", "JPEG"),
                                      {"GIF8", "GIF"},
                                      {"RIFF", "WebP"},
                                      {"BM", "BMP"},
                                      {"%PDF", "PDF"}})
    if (bytes.starts_with(magic))
      throw InputError(png.name + " is a " + format +
                       " file; open it in a paint program and save it as PNG, because another "
                       "suffix does not convert it");
  const auto fail = [&](const std::string& cause) {
    png_image_free(&image);
    throw InputError(png.name + " cannot be read as a PNG picture: " + cause);
  };
  if (png_image_begin_read_from_memory(&image, png.bytes.data(), png.bytes.size()) == 0)
    fail(image.message);
  if (std::max(image.width, image.height) > max_per_side)
    fail("more than " + std::to_string(max_per_side) + " pixels per side");
  // A pixel takes at least one bit. A file that is too short is rejected before memory is
  // allocated.
  if (std::uint64_t{image.height} * (image.width / 8) > max_inflated_size(png.bytes.size()))
    fail("the file is too short for " + std::to_string(image.width) + " x " +
         std::to_string(image.height) + " pixels");
  image.format = PNG_FORMAT_RGBA;
  Grid<Pixel> pixels(image.height, image.width);
  if (png_image_finish_read(&image, nullptr, pixels.cells.data(), 0, nullptr) == 0)
    fail(image.message);
  return pixels;
}

}  // namespace wallheat
