#include <gtest/gtest.h>

#include <map>

#include "core/text.hpp"
#include "plans/drawing.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/png.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr PixelColour red{255, 0, 0};
constexpr PixelColour black{0, 0, 0};
constexpr PixelColour blue{60, 100, 200};

/// A letter a pixel: . room, r and k walls of 25 and 5 °C, b the outside, and what is near them.
NamedBytes drawn(const std::vector<std::string>& lines) {
  const std::map<char, PixelColour> colours{
      {'.', white}, {',', {235, 240, 250}}, {'r', red}, {'k', black}, {'K', {30, 20, 10}},
      {'b', blue},  {'?', {200, 180, 20}}};
  Grid<PixelColour> pixels(lines.size(), lines.front().size());
  for (std::size_t i = 0; i < pixels.cells.size(); ++i)
    pixels.cells[i] = colours.at(lines[i / pixels.cols][i % pixels.cols]);
  return png_of(pixels.cells.data(), pixels.rows, pixels.cols, PNG_FORMAT_RGB);
}

const Legend red_and_black{{{red, 25}, {black, 5}}};

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

TEST(Drawing, takes_near_colours_for_the_nearest_and_says_so) {
  const DrawnPlan read =
      plan_in_drawing(drawn({"bbbbb", "bkKkb", "bk,rb", "bk.rb"}), red_and_black);
  EXPECT_THAT(lines_of(read.plan), ElementsAre("bbbbb", "bkkkb", "bk.rb", "bk.rb"));
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
      error_message_of<InputError>([&] { (void)plan_in_drawing(odd, red_and_black); }),
      AllOf(HasSubstr("flat.png: the pixel at x 2, y 1 is #c8b414"), HasSubstr("3 such pixels")));
  Legend tolerant = red_and_black;
  tolerant.near = 442;
  EXPECT_THAT(lines_of(plan_in_drawing(odd, tolerant).plan), ElementsAre("bbbb", "bkrb", "b.rr"));
}

TEST(Drawing, has_its_outside_where_it_is_transparent) {
  const std::vector<std::uint8_t> pixels{9, 9, 9, 0, 0, 0, 0, 255, 255, 255, 255, 255};
  const DrawnPlan read =
      plan_in_drawing(png_of(pixels.data(), 1, 3, PNG_FORMAT_RGBA), red_and_black);
  EXPECT_THAT(lines_of(read.plan), ElementsAre("bk."));
}

TEST(Drawing, is_scaled_and_keeps_thin_walls_closed) {
  Legend legend = red_and_black;
  legend.pixels_a_cell = 2;
  EXPECT_THAT(lines_of(plan_in_drawing(drawn({"bbbbb", "bb..b", "..k..", "....."}), legend).plan),
              ElementsAre("b.b", ".k."));
  legend.pixels_a_cell = 1;
  legend.cells_a_pixel = 2;
  EXPECT_THAT(lines_of(plan_in_drawing(drawn({"k."}), legend).plan), ElementsAre("kk..", "kk.."));
}

TEST(Drawing, that_cannot_be_read_is_refused) {
  NamedBytes cut = drawn({"kkk", "k.k"});
  cut.bytes.resize(cut.bytes.size() - 20);
  NamedBytes bold = drawn({"k."});
  for (const std::size_t size : {18, 22}) bold.bytes[size] = std::byte{0x3f};
  seal_chunks(bold.bytes);
  const std::pair<NamedBytes, const char*> refused[] = {
      {drawn({"kkk", "krk"}), "nothing in it is white"},
      {{"notes.txt", std::vector<std::byte>(100)}, "notes.txt cannot be read as a PNG picture"},
      {cut, "cannot be read"},
      {drawn({std::string(16385, '.')}), "more than 16384 pixels"},
      {bold, "it is too short for 16130 x 16129 pixels"}};
  for (const auto& [png, why] : refused)
    EXPECT_THAT(error_message_of<InputError>(
                    [&, &png = png] { (void)plan_in_drawing(png, red_and_black); }),
                HasSubstr(why));
}

}  // namespace
}  // namespace wallheat
