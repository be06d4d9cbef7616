#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "report/field_picture.hpp"
#include "support/matchers.hpp"
#include "support/png.hpp"
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
        png_shape(plan_picture("plan", plan, building_cells(plan), plan.domain, "steady state")
                      .draw(PlotFormat::png));
    EXPECT_LE(shape.cols, 2200U) << grid.rows << " x " << grid.cols;
    EXPECT_LE(shape.rows, 1100U) << grid.rows << " x " << grid.cols;
    EXPECT_GT(shape.cols, 512U) << "two panels and a colour bar";
  }
}

TEST(FieldPicture, RejectsSolutionOfAnotherShape) {
  EXPECT_THROW((void)mask_outside(building_cells(plan_of(8, 8)), Grid<double>(8, 9)), RunError);
}

TEST(FieldPicture, ShortensCaptionsThatWouldOverlap) {
  const FloorPlan plan = plan_of(30, 30);
  FieldPicture picture;
  picture.title = "a sheet";
  for (const std::string id : {"00001", "00002"})
    picture.panels.push_back({id + ", after 3602 iterations of jacobi",
                              mask_outside(building_cells(plan), plan.domain)});
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
  const std::string zeros =
      one_panel(mask_ground(Grid<double>(4, 4, 0.0), false)).draw(PlotFormat::svg);
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
  room.cells = 40 * 40;
  room.centre_row = 20;
  room.centre_col = 10;
  room.last_row = room.last_col = 39;
  room.mean_temp = 17;
  FieldPicture picture;
  picture.panels = {rooms_panel("", {Grid<std::uint32_t>(40, 40, 1), 1}, {room})};
  FieldLabel& label = picture.panels.front().labels.at(0);
  EXPECT_EQ(label.row, 20U);
  EXPECT_EQ(label.col, 10U);
  const std::string text = label.texts.front();
  EXPECT_THAT(text, Mentions({"1", "17.0 °C"}));
  EXPECT_THAT(picture.draw(PlotFormat::svg), HasSubstr(text));
  label.room_for_it = 2;
  EXPECT_THAT(picture.draw(PlotFormat::svg), Not(HasSubstr(text)));
  EXPECT_THAT(rooms_panel("", {Grid<std::uint32_t>(40, 40, 1), 1}, {room}, 2000).labels,
              testing::IsEmpty())
      << "a room with fewer cells is not counted";
}

TEST(FieldPicture, LabelsRoomWithItsNameAsFarAsItFits) {
  RoomResult room{.room = 3, .mean_temp = 17, .cells = 1600, .last_row = 39, .last_col = 39};
  FieldPicture picture;
  picture.panels = {
      rooms_panel("", {Grid<std::uint32_t>(40, 40, 1), 1}, {room}, 1, {{3, "Reading room"}})};
  FieldLabel& label = picture.panels.front().labels.at(0);
  const auto drawn = [&](std::size_t cells) {
    label.room_for_it = cells;
    return picture.draw(PlotFormat::svg);
  };
  EXPECT_THAT(drawn(40), HasSubstr("Reading room: 17.0 °C"));
  EXPECT_THAT(drawn(4), AllOf(HasSubstr("Reading room"), Not(HasSubstr("17.0 °C"))));
  EXPECT_THAT(drawn(1), AllOf(Not(HasSubstr("Reading room")), HasSubstr(">3<")));
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

/// Returns the number of pixels in the left half of a picture that are not a shade of grey. The
/// colour bar is in the right half.
std::size_t coloured_pixels(const std::string& png) {
  const auto pixels = pixels_of(png);
  std::size_t coloured = 0;
  for (std::size_t i = 0; i < pixels.cells.size(); ++i) {
    const auto [darkest, lightest] = std::ranges::minmax(pixels.cells[i]);
    if (i % pixels.cols < pixels.cols / 2 && lightest - darkest > 25) ++coloured;
  }
  return coloured;
}

TEST(FieldPicture, DrawsFieldsOfOneRowOrColumn) {
  for (const GridShape shape : {GridShape{1, 1}, {1, 5}, {5, 1}, {1, 500}, {700, 1}, {3000, 2}}) {
    Grid<double> field(shape.rows, shape.cols, 10.0);
    field.cells.back() = 20;
    EXPECT_GT(coloured_pixels(one_panel(field).draw(PlotFormat::png)), 2000U)
        << shape.rows << " x " << shape.cols;
  }
}

TEST(FieldPicture, DrawsBarOfOneDegreeForEqualValues) {
  const Grid<double> zeros(8, 8, 0.0);
  EXPECT_THAT(one_panel(zeros, PanelScale::difference).draw(PlotFormat::svg),
              AllOf(HasSubstr(">-1<"), HasSubstr("> 1<"), Not(HasSubstr("e-3"))));
  Grid<double> rounded(8, 8, 20.0);
  rounded(1, 1) += 1e-13;
  EXPECT_THAT(one_panel(rounded).draw(PlotFormat::svg),
              AllOf(HasSubstr("> 20<"), HasSubstr("> 21<")));
}

TEST(FieldPicture, KeepsWallsAtZeroInBuilding) {
  FloorPlan plan{Grid<double>(7, 9), Grid<std::uint8_t>(7, 9)};
  for (std::size_t row = 3; row < 5; ++row)
    for (std::size_t col = 3; col < 6; ++col) plan.interior(row, col) = 1;
  for (std::size_t col = 1; col < 8; ++col) plan.domain(1, col) = 5;
  const Grid<std::uint8_t> building = building_cells(plan);
  EXPECT_EQ(std::ranges::count(building.cells, 1), 7 + 4 * 5)
      << "the wall at 5 °C, the room, and its walls at 0 °C";
  EXPECT_EQ(building(0, 1), 0);
  EXPECT_EQ(building(1, 7), 1);
  EXPECT_EQ(building(2, 2), 1) << "also at a corner";
  EXPECT_EQ(building(3, 7), 0);
  plan.domain.cells.assign(plan.domain.cells.size(), 0);  // the wall at 5 °C is held at 0 °C
  const Grid<double> field = mask_outside(building, plan.domain);
  EXPECT_EQ(field(1, 1), 0);
  EXPECT_TRUE(std::isnan(field(0, 0)));
  Grid<double> without_plan(2, 2, 0.0);
  without_plan(0, 0) = 7;
  EXPECT_TRUE(std::isnan(mask_ground(without_plan, false)(1, 1)));
  EXPECT_EQ(mask_ground(without_plan, true)(1, 1), 0);
}

TEST(FieldPicture, CutsOffNoCaption) {
  FieldPicture picture = one_panel(Grid<double>(700, 1, 1.0), PanelScale::mask);
  picture.title = "a title that is much too long for the picture of so thin a plan";
  for (const std::string caption : {"mean 5.000 °C, after 1 iteration of jacobi",
                                    "a_long_name_of_a_building_without_any_comma_0001"}) {
    picture.panels[0].caption = caption;
    const auto pixels = pixels_of(picture.draw(PlotFormat::png));
    for (std::size_t row = 0; row < pixels.rows; ++row)
      for (const std::size_t col : {std::size_t{2}, pixels.cols - 3})
        ASSERT_GT(pixels(row, col)[0], 240) << caption << ": row " << row << ", column " << col;
  }
  EXPECT_THAT(picture.draw(PlotFormat::svg), AllOf(HasSubstr("a_long"), HasSubstr("0001")));
  picture.panels[0].caption = "mean 17.61 °C";
  picture.size = {90, 300};
  EXPECT_THAT(picture.draw(PlotFormat::svg),
              Not(testing::AnyOf(HasSubstr("mean"), HasSubstr("1 °C"))))
      << "part of a number is a wrong one";
}

TEST(FieldPicture, NamesIterationsAndSolver) {
  PlanResult result;
  result.status = PlanStatus::converged;
  result.solver = "jacobi 1";
  result.iterations = 1;
  EXPECT_EQ(solution_caption(result), "after 1 iteration of jacobi");
  result.iterations = 2;
  EXPECT_EQ(solution_caption(result), "after 2 iterations of jacobi");
  result.solver = "command 0123";
  EXPECT_THAT(solution_caption(result), Mentions({"2 iterations", "program"}));
  result.iterations = 0;
  EXPECT_THAT(solution_caption(result), AllOf(HasSubstr("program"), Not(HasSubstr("iteration"))))
      << "the program did not report them";
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
