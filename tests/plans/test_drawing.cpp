#include <gtest/gtest.h>
#include <png.h>

#include "core/python_float.hpp"
#include "plans/drawing.hpp"
#include "support/matchers.hpp"
#include "support/refusal.hpp"
#include "support/shared_plans.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

using testing::AllOf;

constexpr PixelColour red{255, 0, 0};
constexpr PixelColour black{0, 0, 0};
constexpr PixelColour blue{60, 100, 200};

NamedBytes png_of(const void* pixels, std::size_t rows, std::size_t cols, png_uint_32 format) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(rows);
  image.width = static_cast<png_uint_32>(cols);
  image.format = format;
  png_alloc_size_t size = 0;
  EXPECT_NE(png_image_write_get_memory_size(image, size, 0, pixels, 0, nullptr), 0);
  NamedBytes png{"flat.png", std::vector<std::byte>(size)};
  EXPECT_NE(png_image_write_to_memory(&image, png.bytes.data(), &size, 0, pixels, 0, nullptr), 0);
  png.bytes.resize(size);
  return png;
}
NamedBytes png_of(const Grid<PixelColour>& pixels) {
  return png_of(pixels.cells.data(), pixels.rows, pixels.cols, PNG_FORMAT_RGB);
}

/// A letter a pixel: . room, r and k walls of 25 and 5 °C, b the outside, and what is near them.
NamedBytes drawn(const std::vector<std::string>& lines) {
  Grid<PixelColour> pixels(lines.size(), lines.front().size());
  for (std::size_t i = 0; i < pixels.cells.size(); ++i) {
    switch (lines[i / pixels.cols][i % pixels.cols]) {
      case '.':
        pixels.cells[i] = white;
        break;
      case ',':
        pixels.cells[i] = {235, 240, 250};
        break;
      case 'r':
        pixels.cells[i] = red;
        break;
      case 'k':
        pixels.cells[i] = black;
        break;
      case 'K':
        pixels.cells[i] = {30, 20, 10};
        break;
      case 'b':
        pixels.cells[i] = blue;
        break;
      default:
        pixels.cells[i] = {200, 180, 20};
        break;
    }
  }
  return png_of(pixels);
}

const Legend usual{{{red, 25}, {black, 5}}};

/// A letter a cell, as drawn() takes them.
std::vector<std::string> lines_of(const FloorPlan& plan) {
  std::vector<std::string> lines(plan.domain.rows);
  for (std::size_t i = 0; i < plan.domain.cells.size(); ++i) {
    const double value = plan.domain.cells[i];
    lines[i / plan.domain.cols] += plan.interior.cells[i] != 0 ? '.'
                                   : value == 25               ? 'r'
                                   : value == 5                ? 'k'
                                                               : 'b';
  }
  return lines;
}

TEST(Drawing, of_a_real_plan_is_that_plan) {
  if (!std::filesystem::exists(shared_plans)) GTEST_SKIP() << "there is no " << shared_plans;
  for (const char* id : {"10000", "1948", "7636"}) {
    const FloorPlan plan = load_floor_plan(shared_plans, id);
    Grid<PixelColour> pixels(plan.domain.rows, plan.domain.cols);
    for (std::size_t i = 0; i < pixels.cells.size(); ++i) {
      const double value = plan.domain.cells[i];
      pixels.cells[i] = plan.interior.cells[i] != 0 ? white
                        : value == 25               ? red
                        : value == 5                ? black
                                                    : blue;
    }
    const DrawnPlan read = plan_in_drawing(png_of(pixels), usual);
    EXPECT_TRUE(read.plan.domain == plan.domain) << id;
    EXPECT_TRUE(read.plan.interior == plan.interior) << id;
  }
}

TEST(Drawing, takes_near_colours_for_the_nearest_and_says_so) {
  const DrawnPlan read = plan_in_drawing(drawn({"bbbbb", "bkKkb", "bk,rb", "bk.rb"}), usual);
  EXPECT_THAT(lines_of(read.plan), testing::ElementsAre("bbbbb", "bkkkb", "bk.rb", "bk.rb"));
  ASSERT_EQ(read.uses.size(), 4U);
  EXPECT_EQ(read.uses[0].near, 1U);
  EXPECT_EQ(read.uses[2].meaning, "wall of 5.0 °C");
  EXPECT_EQ(read.uses[2].pixels, 5U);
  EXPECT_EQ(read.uses[2].near, 1U);
  EXPECT_EQ(to_text(read.uses[3].colour), "#3c64c8");
  EXPECT_EQ(read.room_at_edge, 1U);
}

TEST(Drawing, with_an_odd_colour_is_refused_with_its_place) {
  const NamedBytes odd = drawn({"bbbb", "bk?b", "b.??"});
  EXPECT_THAT(
      refusal_of<InputError>([&] { (void)plan_in_drawing(odd, usual); }),
      AllOf(HasSubstr("flat.png: the pixel at x 2, y 1 is #c8b414"), HasSubstr("3 such pixels")));
  Legend tolerant = usual;
  tolerant.near = 442;
  EXPECT_THAT(lines_of(plan_in_drawing(odd, tolerant).plan),
              testing::ElementsAre("bbbb", "bkrb", "b.rr"));
}

TEST(Drawing, has_its_outside_where_it_is_transparent) {
  const std::vector<std::uint8_t> pixels{9, 9, 9, 0, 0, 0, 0, 255, 255, 255, 255, 255};
  const DrawnPlan read = plan_in_drawing(png_of(pixels.data(), 1, 3, PNG_FORMAT_RGBA), usual);
  EXPECT_THAT(lines_of(read.plan), testing::ElementsAre("bk."));
}

TEST(Drawing, is_scaled_and_keeps_thin_walls_closed) {
  Legend legend = usual;
  legend.pixels_a_cell = 2;
  EXPECT_THAT(lines_of(plan_in_drawing(drawn({"bbbbb", "bb.bb", "..k..", "....."}), legend).plan),
              testing::ElementsAre("bbb", ".k."));
  legend.pixels_a_cell = 1;
  legend.cells_a_pixel = 2;
  EXPECT_THAT(lines_of(plan_in_drawing(drawn({"k."}), legend).plan),
              testing::ElementsAre("kk..", "kk.."));
}

TEST(Drawing, that_cannot_be_read_is_refused) {
  const auto refusal = [](const NamedBytes& png) {
    return refusal_of<InputError>([&] { (void)plan_in_drawing(png, usual); });
  };
  EXPECT_THAT(refusal(drawn({"kkk", "krk"})), HasSubstr("nothing in it is white"));
  EXPECT_THAT(refusal({"notes.txt", std::vector<std::byte>(100)}),
              HasSubstr("notes.txt cannot be read as a PNG picture"));
  NamedBytes cut = drawn({"kkk", "k.k"});
  cut.bytes.resize(cut.bytes.size() - 20);
  EXPECT_THAT(refusal(cut), HasSubstr("cannot be read"));
  EXPECT_THAT(refusal(drawn({std::string(16385, '.')})), HasSubstr("more than 16384 pixels"));
}

}  // namespace
}  // namespace wallheat
