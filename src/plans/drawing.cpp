#include "plans/drawing.hpp"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "core/text.hpp"
#include "io/deflate.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

static_assert(sizeof(PixelColour) == 3, "libpng writes three bytes a pixel");

Grid<PixelColour> pixels_of(const NamedBytes& png, std::size_t max_per_side) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const auto fail = [&](const std::string& cause) {
    png_image_free(&image);
    throw InputError(png.name + " cannot be read as a PNG picture: " + cause);
  };
  if (png_image_begin_read_from_memory(&image, png.bytes.data(), png.bytes.size()) == 0)
    fail(image.message);
  if (std::max(image.width, image.height) > max_per_side)
    fail("more than " + std::to_string(max_per_side) + " pixels along a side");
  // A pixel takes at least a bit. A file that is too short is refused before memory is asked for.
  if (std::uint64_t{image.height} * (image.width / 8) > max_inflated_size(png.bytes.size()))
    fail("it is too short for " + std::to_string(image.width) + " x " +
         std::to_string(image.height) + " pixels");
  image.format = PNG_FORMAT_RGB;
  Grid<PixelColour> pixels(image.height, image.width);
  constexpr png_color behind{128, 128, 128};
  if (png_image_finish_read(&image, &behind, pixels.cells.data(), 0, nullptr) == 0)
    fail(image.message);
  return pixels;
}

double distance_between(PixelColour a, PixelColour b) {
  return std::hypot(a.red - b.red, a.green - b.green, a.blue - b.blue);
}

/// The use whose colour is the nearest.
DrawnPlan::ColourUse& use_of(PixelColour colour, std::vector<DrawnPlan::ColourUse>& uses) {
  return *std::ranges::min_element(uses, {}, [&](const DrawnPlan::ColourUse& use) {
    return distance_between(colour, use.colour);
  });
}

template <class T, class Visit>
void for_each_at_edge(const Grid<T>& grid, const Visit& visit) {
  for (std::size_t row = 0; row < grid.rows; ++row)
    for (std::size_t col = 0; col < grid.cols; ++col)
      if (row == 0 || row + 1 == grid.rows || col == 0 || col + 1 == grid.cols)
        visit(grid(row, col));
}

/// Room, the walls in their order, and the outside, if the picture has one.
std::vector<DrawnPlan::ColourUse> uses_of(const Grid<PixelColour>& pixels, const Legend& legend) {
  std::vector<DrawnPlan::ColourUse> uses{{white, "room"}};
  for (const auto& [colour, temperature] : legend.walls)
    uses.push_back({colour, "wall of " + format_repr(temperature) + " °C"});
  std::map<PixelColour, std::size_t> others;
  for_each_at_edge(pixels, [&](PixelColour colour) {
    const double distance = distance_between(colour, use_of(colour, uses).colour);
    if (distance > std::min(legend.colour_tolerance, Legend().colour_tolerance)) ++others[colour];
  });
  const auto most =
      std::ranges::max_element(others, {}, &std::pair<const PixelColour, std::size_t>::second);
  if (most != others.end()) uses.push_back({most->first, "outside"});
  return uses;
}

/// The number of each pixel's use; counts the pixels of each.
Grid<std::uint32_t> meanings_of(const Grid<PixelColour>& pixels, const std::string& name,
                                double near, std::vector<DrawnPlan::ColourUse>& uses) {
  Grid<std::uint32_t> meanings(pixels.rows, pixels.cols);
  std::size_t odd = 0;
  std::size_t first_odd = 0;
  for (std::size_t i = 0; i < pixels.cells.size(); ++i) {
    DrawnPlan::ColourUse& use = use_of(pixels.cells[i], uses);
    const double distance = distance_between(pixels.cells[i], use.colour);
    meanings.cells[i] = static_cast<std::uint32_t>(&use - uses.data());
    ++use.pixels;
    if (distance > 0) ++use.near;
    if (distance > near && odd++ == 0) first_odd = i;
  }
  if (odd > 0)
    throw InputError(
        name + ": the pixel at x " + std::to_string(first_odd % pixels.cols) + ", y " +
        std::to_string(first_odd / pixels.cols) + " is " + to_text(pixels.cells[first_odd]) +
        ", which is near no --wall, nor white, nor the outside (" + count_text(odd, "such pixel") +
        "): name it by --wall, paint it over, draw without smooth edges, or allow a "
        "larger --near");
  return meanings;
}

FloorPlan plan_of(const Grid<std::uint32_t>& meanings, const Legend& legend) {
  const auto& [walls, near, cells_a_pixel, pixels_a_cell] = legend;
  const std::size_t rows = (meanings.rows * cells_a_pixel + pixels_a_cell - 1) / pixels_a_cell;
  const std::size_t cols = (meanings.cols * cells_a_pixel + pixels_a_cell - 1) / pixels_a_cell;
  FloorPlan plan{Grid<double>(rows, cols), Grid<std::uint8_t>(rows, cols)};
  std::vector<std::size_t> counts(walls.size() + 2);  // of room, walls, outside
  const std::span of_walls = std::span(counts).subspan(1, walls.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols; ++col) {
      const std::size_t top = row * pixels_a_cell / cells_a_pixel;
      const std::size_t left = col * pixels_a_cell / cells_a_pixel;
      std::ranges::fill(counts, 0);
      for (std::size_t y = top; y < std::min(top + pixels_a_cell, meanings.rows); ++y)
        for (std::size_t x = left; x < std::min(left + pixels_a_cell, meanings.cols); ++x)
          ++counts[meanings(y, x)];
      const auto wall = std::ranges::max_element(of_walls);
      if (*wall > 0) {
        plan.domain(row, col) =
            walls[static_cast<std::size_t>(wall - of_walls.begin())].temperature;
      } else {
        plan.interior(row, col) = counts.front() >= counts.back() ? 1 : 0;
      }
    }
  }
  return plan;
}

}  // namespace

std::string to_text(PixelColour colour) {
  std::string text = "#";
  constexpr std::string_view digits = "0123456789abcdef";
  for (const std::uint8_t byte : {colour.red, colour.green, colour.blue})
    text.append({digits[byte >> 4], digits[byte & 15]});
  return text;
}

DrawnPlan plan_from_image(const NamedBytes& png, const Legend& legend) {
  constexpr std::size_t max_cells_per_side = 16384;
  const auto pixels = pixels_of(png, max_cells_per_side / legend.cells_per_pixel);
  DrawnPlan drawn;
  drawn.uses = uses_of(pixels, legend);
  const auto meanings = meanings_of(pixels, png.name, legend.colour_tolerance, drawn.uses);
  if (drawn.uses.front().pixels == 0)
    throw InputError(png.name + ": nothing in it is white, so it has no room");
  for_each_at_edge(
      meanings, [&](std::uint32_t meaning) { drawn.edge_room_pixels += meaning == 0 ? 1U : 0U; });
  drawn.plan = plan_of(meanings, legend);
  return drawn;
}

}  // namespace wallheat
