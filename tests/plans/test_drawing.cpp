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

/// Returns a PNG picture with one pixel per character: '.' is room, 'r' and 'k' are walls of 25 and
/// 5 °C, 'b' is outside; ',' and 'K' are near to white and black, '?' is near to no colour.
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

/// Returns one character per cell, as for drawn().
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

TEST(PlanFromImage, MapsSimilarColoursToNearest) {
  const DrawnPlan read =
      plan_from_image(drawn({"bbbbb", "bkKkb", "bk,rb", "bk.rb"}), red_and_black);
  EXPECT_THAT(lines_of(read.plan), ElementsAre("bbbbb", "bkkkb", "bk.rb", "bk.rb"));
  ASSERT_EQ(read.uses.size(), 4U);
  EXPECT_EQ(read.uses[0].near, 1U);
  EXPECT_THAT(read.uses[2].meaning, Mentions({"wall", "5.0 °C"}));
  EXPECT_EQ(read.uses[2].pixels, 5U);
  EXPECT_EQ(read.uses[2].near, 1U);
  EXPECT_EQ(to_text(read.uses[3].colour), "#3c64c8");
  EXPECT_EQ(read.edge_room_pixels, 1U);
}

TEST(PlanFromImage, NamesPixelOfUnknownColour) {
  const NamedBytes odd = drawn({"bbbb", "bk?b", "b.??"});
  EXPECT_THAT(error_message_of<InputError>([&] { (void)plan_from_image(odd, red_and_black); }),
              Mentions({"flat.png", "x 2", "y 1", "#c8b414", "3", "--wall", "--near"}));
  Legend tolerant = red_and_black;
  tolerant.colour_tolerance = 442;
  EXPECT_THAT(lines_of(plan_from_image(odd, tolerant).plan), ElementsAre("bbbb", "bkrb", "b.rr"));
}

TEST(PlanFromImage, TreatsTransparentPixelsAsOutside) {
  const std::vector<std::uint8_t> pixels{9, 9, 9, 0, 0, 0, 0, 255, 255, 255, 255, 255};
  const DrawnPlan read =
      plan_from_image(png_of(pixels.data(), 1, 3, PNG_FORMAT_RGBA), red_and_black);
  EXPECT_THAT(lines_of(read.plan), ElementsAre("bk."));
}

TEST(PlanFromImage, KeepsThinWallsClosedWhenScaled) {
  Legend legend = red_and_black;
  legend.pixels_per_cell = 2;
  EXPECT_THAT(lines_of(plan_from_image(drawn({"bbbbb", "bb..b", "..k..", "....."}), legend).plan),
              ElementsAre("b.b", ".k."));
  legend.pixels_per_cell = 1;
  legend.cells_per_pixel = 2;
  EXPECT_THAT(lines_of(plan_from_image(drawn({"k."}), legend).plan), ElementsAre("kk..", "kk.."));
}

TEST(PlanFromImage, RejectsInvalidPictures) {
  NamedBytes cut = drawn({"kkk", "k.k"});
  cut.bytes.resize(cut.bytes.size() - 20);
  NamedBytes huge = drawn({"k."});  // its header says 16130 x 16129 pixels
  for (const std::size_t size : {18, 22}) huge.bytes[size] = std::byte{0x3f};
  seal_chunks(huge.bytes);
  const std::pair<NamedBytes, Facts> invalid[] = {
      {drawn({"kkk", "krk"}), {"flat.png", "white"}},
      {{"notes.txt", std::vector<std::byte>(100)}, {"notes.txt", "PNG"}},
      {cut, {"flat.png", "PNG"}},
      {drawn({std::string(16385, '.')}), {"flat.png", "16384 pixels"}},
      {huge, {"flat.png", "16130 x 16129"}}};
  for (const auto& [png, facts] : invalid)
    EXPECT_THAT(error_message_of<InputError>(
                    [&, &png = png] { (void)plan_from_image(png, red_and_black); }),
                Mentions(facts));
}

}  // namespace
}  // namespace wallheat
