#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <span>

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
  EXPECT_EQ(read.at_edge.count, 1U);
  EXPECT_EQ(read.at_edge.x, 2U);
  EXPECT_EQ(read.at_edge.y, 3U);
  ASSERT_EQ(read.near_colours.size(), 2U);
  EXPECT_EQ(to_text(read.near_colours[0].colour), "#1e140a");
  EXPECT_EQ(read.near_colours[0].use, 2U) << "black";
  EXPECT_EQ(read.near_colours[0].pixels, 1U);
  EXPECT_NEAR(read.near_colours[0].distance, std::hypot(30, 20, 10), 1e-12);
  EXPECT_EQ(read.near_colours[1].use, 0U) << "white";
}

TEST(PlanFromImage, ListsCommonestNearColoursFirst) {
  const DrawnPlan read = plan_from_image(drawn({"bbbbb", "bk,Kb", "bk,,b"}), red_and_black);
  ASSERT_EQ(read.near_colours.size(), 2U);
  EXPECT_EQ(to_text(read.near_colours[0].colour), "#ebf0fa");
  EXPECT_EQ(read.near_colours[0].pixels, 3U);
}

TEST(PlanFromImage, FindsOutsideThatBuildingEncloses) {
  const DrawnPlan read = plan_from_image(
      drawn({"bbbbbbbbb", "kkkkkkkkb", "k..bb.kkb", "k...b.kbk", "k.b..bkkk", "kkkkkkkkb"}),
      red_and_black);
  std::vector<std::string> areas;
  for (const auto& [x, y, pixels, borders_room] : read.enclosed_areas)
    areas.push_back("x " + std::to_string(x) + ", y " + std::to_string(y) + ": " +
                    std::to_string(pixels) + (borders_room ? " in a room" : ""));
  EXPECT_THAT(areas, ElementsAre("x 3, y 2: 3 in a room", "x 7, y 3: 1", "x 2, y 4: 1 in a room",
                                 "x 5, y 4: 1 in a room"));
  EXPECT_THAT(plan_from_image(drawn({"bb.b", "k.bb", "bbkk"}), red_and_black).enclosed_areas,
              IsEmpty())
      << "all of it reaches the edge";
}

TEST(PlanFromImage, FindsRoomsThatAreOpenToOutside) {
  const DrawnPlan holes = plan_from_image(
      drawn({"bbbbbbb", "kkkkkkb", "k....kb", "k.b...b", "k....kb", "k..kkkb", "bbbbbbb"}),
      red_and_black);
  EXPECT_EQ(holes.open_sides.count, 3U) << "one on the right and two below";
  EXPECT_EQ(holes.open_sides.x, 5U);
  EXPECT_EQ(holes.open_sides.y, 3U);
  EXPECT_THAT(holes.enclosed_areas, SizeIs(1)) << "which is reported separately";
  const DrawnPlan top = plan_from_image(drawn({"bbbb", "k..k", "kkkk"}), red_and_black);
  EXPECT_EQ(top.open_sides.count, 2U) << "next to outside on the edge of the picture";
  const DrawnPlan closed = plan_from_image(drawn({"bbbb", "bkkb", "k.kb", "bkbb"}), red_and_black);
  EXPECT_EQ(closed.open_sides.count, 0U) << "no heat flows across corners";
}

TEST(PlanFromImage, JoinsPartsOfEnclosedArea) {
  const DrawnPlan u = plan_from_image(
      drawn({"bbbbbbb", "k.b.b.k", "k.b.b.k", "k.bbb.k", "k.....k", "kkkkkkk"}), red_and_black);
  EXPECT_THAT(u.enclosed_areas, IsEmpty()) << "it is open at the top";
  const DrawnPlan cup = plan_from_image(
      drawn({"bbbbbbb", "k.....k", "k.b.b.k", "k.bbb.k", "k.....k", "kkkkkkk"}), red_and_black);
  ASSERT_EQ(cup.enclosed_areas.size(), 1U);
  EXPECT_EQ(cup.enclosed_areas[0].pixels, 5U);
  EXPECT_EQ(cup.enclosed_areas[0].x, 2U);
  EXPECT_EQ(cup.enclosed_areas[0].y, 2U);
}

TEST(PlanFromImage, NamesPixelOfUnknownColour) {
  const NamedBytes odd = drawn({"bbbb", "bk?b", "b.??"});
  EXPECT_THAT(error_message_of<InputError>([&] { (void)plan_from_image(odd, red_and_black); }),
              Mentions({"flat.png", "x 2", "y 1", "#c8b414", "3", "--wall",
                        "--colour-tolerance 190", "wall of 25.0 °C"}));
  Legend tolerant = red_and_black;
  tolerant.colour_tolerance = 442;
  EXPECT_THAT(lines_of(plan_from_image(odd, tolerant).plan), ElementsAre("bbbb", "bkrb", "b.rr"));
}

TEST(PlanFromImage, ListsAllUnknownColoursAtOnce) {
  // The smooth edge of a wall, of which the darker pixels are nearest to the outside.
  const std::vector<std::uint8_t> pixels{60,  100, 200, 60,  100, 200,  // outside
                                         255, 255, 255, 190, 190, 190,  // a room and its edge
                                         130, 130, 130, 130, 130, 130};
  const std::string message = error_message_of<InputError>(
      [&] { (void)plan_from_image(png_of(pixels.data(), 3, 2, PNG_FORMAT_RGB), red_and_black); });
  EXPECT_THAT(message, Mentions({"flat.png", "x 1", "y 1", "#bebebe (1 pixel", "#828282 (2 pixels",
                                 "anti-aliasing"}));
  EXPECT_THAT(message, Not(Mentions("--colour-tolerance")))
      << "with which the edge would be at 0 °C";
}

TEST(PlanFromImage, TreatsTransparentPixelsAsOutside) {
  const std::vector<std::uint8_t> pixels{0,   0,   0,   0,    // black, but transparent
                                         130, 130, 130, 127,  // a wall's colour, but transparent
                                         130, 130, 130, 128,  // a smooth edge of that wall
                                         0,   0,   0,   255,  //
                                         255, 255, 255, 255};
  const Legend grey_and_black{{{{128, 128, 128}, 25}, {black, 5}}};
  const DrawnPlan read =
      plan_from_image(png_of(pixels.data(), 1, 5, PNG_FORMAT_RGBA), grey_and_black);
  EXPECT_THAT(lines_of(read.plan), ElementsAre("bbrk."));
  EXPECT_EQ(read.transparent_pixels, 2U);
  ASSERT_EQ(read.uses.size(), 3U) << "no colour is outside";
  EXPECT_EQ(read.uses[1].pixels, 1U);
  EXPECT_EQ(read.uses[2].pixels, 1U);
  const std::vector<std::uint8_t> no_room{255, 255, 255, 0, 0, 0, 0, 255};
  EXPECT_THAT(error_message_of<InputError>([&] {
                (void)plan_from_image(png_of(no_room.data(), 1, 2, PNG_FORMAT_RGBA),
                                      grey_and_black);
              }),
              Mentions({"flat.png", "white", "transparent"}));
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
  const auto file_of = [](const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return NamedBytes{"scan.png", {bytes.begin(), bytes.end()}};
  };
  NamedBytes cut = drawn({"kkk", "k.k"});
  cut.bytes.resize(cut.bytes.size() - 20);
  NamedBytes huge = drawn({"k."});  // its header says 16130 x 16129 pixels
  for (const std::size_t size : {18, 22}) huge.bytes[size] = std::byte{0x3f};
  seal_chunks(huge.bytes);
  const std::pair<NamedBytes, Facts> invalid[] = {
      {drawn({"kkk", "krk"}), {"flat.png", "white"}},
      {{"notes.txt", std::vector<std::byte>(100)}, {"notes.txt", "PNG"}},
      {file_of("\xFF\xD8\xFF\xE0, a photograph"), {"scan.png", "JPEG", "PNG"}},
      {file_of("GIF89a, a drawing"), {"scan.png", "GIF", "PNG"}},
      {file_of("RIFF1234WEBP"), {"scan.png", "WebP", "PNG"}},
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
