#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "report/field_picture.hpp"
#include "support/matchers.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns a plan with one room between a cold wall on the left and a warm wall on the right.
FloorPlan plan_of(std::size_t rows, std::size_t cols) {
  FloorPlan plan{Grid<double>(rows, cols), Grid<std::uint8_t>(rows, cols, 1)};
  for (std::size_t r = 0; r < rows; ++r) {
    plan.interior(r, 0) = plan.interior(r, cols - 1) = 0;
    plan.domain(r, 0) = 5.0;
    plan.domain(r, cols - 1) = 25.0;
  }
  return plan;
}

/// Reads width and height from the header chunk, which must be the first chunk of a PNG.
GridShape png_shape(const std::string& bytes) {
  EXPECT_THAT(bytes, AllOf(StartsWith("\x89PNG\r\n\x1a\n"), HasSubstr("IEND")));
  EXPECT_EQ(bytes.substr(12, 4), "IHDR");
  const auto two_bytes = [&](std::size_t at) {
    return std::size_t{256} * static_cast<std::uint8_t>(bytes.at(at)) +
           static_cast<std::uint8_t>(bytes.at(at + 1));
  };
  return {.rows = two_bytes(22), .cols = two_bytes(18)};
}

TEST(FieldPicture, FitsPageForAnyShape) {
  for (const GridShape grid : {GridShape{1, 2}, {3, 700}, {700, 3}, {2000, 20}, {2049, 1030}}) {
    const FloorPlan plan = plan_of(grid.rows, grid.cols);
    const GridShape shape =
        png_shape(plan_picture("plan", plan, plan.domain, "steady state").draw(PlotFormat::png));
    EXPECT_LE(shape.cols, 2200U) << grid.rows << " x " << grid.cols;
    EXPECT_LE(shape.rows, 1100U) << grid.rows << " x " << grid.cols;
    EXPECT_GT(shape.cols, 512U) << "two panels and a colour bar";
  }
}

TEST(FieldPicture, RejectsSolutionOfAnotherShape) {
  EXPECT_THROW((void)mask_outside(plan_of(8, 8), Grid<double>(8, 9)), RunError);
}

TEST(FieldPicture, ShortensCaptionsThatWouldOverlap) {
  const FloorPlan plan = plan_of(30, 30);
  FieldPicture picture;
  picture.title = "a sheet";
  for (const std::string id : {"00001", "00002"})
    picture.panels.push_back(
        {id + ", after 3602 iterations of jacobi", mask_outside(plan, plan.domain)});
  picture.columns = 2;
  picture.side = 120;
  EXPECT_THAT(picture.draw(PlotFormat::svg),
              AllOf(HasSubstr("a sheet"), HasSubstr("00001"), HasSubstr("00002"), HasSubstr("°C"),
                    HasSubstr(" 25<"), Not(HasSubstr("iterations"))));
  picture.side = 512;
  EXPECT_THAT(picture.draw(PlotFormat::svg), HasSubstr("00002, after 3602 iterations of jacobi"));
}

FieldPicture one_panel(const Grid<double>& values, PanelScale scale = PanelScale::temperature) {
  FieldPicture picture;
  picture.panels.push_back({"", values, scale});
  return picture;
}

TEST(FieldPicture, ChoosesColourRangeByWallTemperatures) {
  Grid<double> plate(8, 8, 0.1);
  plate(3, 3) = 0.4;
  FieldPicture picture = one_panel(plate);
  EXPECT_THAT(picture.draw(PlotFormat::svg), AllOf(HasSubstr(" 0.4<"), Not(HasSubstr(" 25<"))));
  plate(0, 0) = 5;  // a wall
  EXPECT_THAT(one_panel(plate).draw(PlotFormat::svg), HasSubstr(" 25<"));
  plate(1, 1) = 25.5;
  EXPECT_THAT(one_panel(plate).draw(PlotFormat::svg), Not(HasSubstr(" 0<")));
  picture.range = {-2, 60};
  EXPECT_THAT(picture.draw(PlotFormat::svg), AllOf(HasSubstr(" 60<"), HasSubstr("-")));
}

TEST(FieldPicture, DrawsConstantOrDivergedFields) {
  const std::string zeros = one_panel(mask_ground(Grid<double>(4, 4, 0.0))).draw(PlotFormat::svg);
  EXPECT_THAT(zeros, AllOf(HasSubstr("<image"), HasSubstr(" 0<")));
  const double ground = std::numeric_limits<double>::quiet_NaN();
  Grid<double> odd(4, 4, ground);
  EXPECT_THAT(one_panel(odd).draw(PlotFormat::svg), Not(HasSubstr("<image")));
  odd(1, 1) = 7;
  odd(2, 2) = -1e300;
  odd(3, 3) = 1e300;
  EXPECT_THAT(one_panel(odd).draw(PlotFormat::svg), AllOf(HasSubstr("<image"), HasSubstr(" 7<")));
}

TEST(FieldPicture, LabelsRoomWithMeanWhenItFits) {
  RoomResult room;
  room.room = 1;
  room.centre_row = 20;
  room.centre_col = 10;
  room.last_row = room.last_col = 39;
  room.mean_temp = 17;
  FieldPicture picture;
  picture.panels = {rooms_panel("", {Grid<std::uint32_t>(40, 40, 1), 1}, {room})};
  FieldLabel& label = picture.panels.front().labels.at(0);
  EXPECT_EQ(label.row, 20U);
  EXPECT_EQ(label.col, 10U);
  EXPECT_THAT(label.text, Mentions({"1", "17.0 °C"}));
  EXPECT_THAT(picture.draw(PlotFormat::svg), HasSubstr(label.text));
  label.room_for_it = 2;
  EXPECT_THAT(picture.draw(PlotFormat::svg), Not(HasSubstr(label.text)));
}

TEST(FieldPicture, DrawsColourBarForEachScale) {
  FieldPicture picture = one_panel(Grid<double>(4, 4, 7.0));
  picture.panels.push_back({"", Grid<double>(4, 4, -300.0), PanelScale::source});
  picture.panels.push_back({"", Grid<double>(4, 4, 1.0), PanelScale::mask});
  picture.panels.push_back({"", Grid<double>(4, 4, -0.5), PanelScale::difference});
  picture.columns = 4;
  EXPECT_THAT(picture.draw(PlotFormat::svg),
              AllOf(Mentions({"temperature", "°C", "heat source"}), HasSubstr("-300<"),
                    HasSubstr(" 300<"), HasSubstr("-0.4<"), HasSubstr(" 0.4<")))
      << "the scales of heat sources and differences are symmetric about zero";
}

TEST(FieldPicture, GrowsWithResolutionWithinGivenSize) {
  FieldPicture picture = one_panel(Grid<double>(100, 200, 7.0));
  picture.size = {800, 600};
  const GridShape shape = png_shape(picture.draw(PlotFormat::png));
  EXPECT_NEAR(shape.cols, 800, 1);
  EXPECT_LE(shape.rows, 600U);
  const GridShape fine = png_shape(picture.draw(PlotFormat::png, 2 * default_dpi));
  EXPECT_NEAR(fine.cols, 2 * shape.cols, 1);
  EXPECT_NEAR(fine.rows, 2 * shape.rows, 1);
  picture.size = {70, 70};
  EXPECT_THROW((void)picture.draw(PlotFormat::png), UsageError);
}

}  // namespace
}  // namespace wallheat
