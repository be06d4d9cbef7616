#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "report/field_picture.hpp"
#include "support/matchers.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// A room between a cold wall on the left and a warm one on the right, nothing above and below.
FloorPlan plan_of(std::size_t rows, std::size_t cols) {
  FloorPlan plan{Grid<double>(rows, cols), Grid<std::uint8_t>(rows, cols)};
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) plan.interior(r, c) = c > 0 && c + 1 < cols;
    plan.domain(r, 0) = 5.0;
    plan.domain(r, cols - 1) = 25.0;
  }
  return plan;
}

std::uint32_t big_endian(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<std::uint8_t>(bytes.at(at + i));
  return value;
}

/// Width and height from the header chunk, which must be where the PNG format wants it.
GridShape png_shape(const std::string& bytes) {
  EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(bytes.substr(12, 4), "IHDR");
  EXPECT_THAT(bytes, HasSubstr("IEND"));
  return {.rows = big_endian(bytes, 20), .cols = big_endian(bytes, 16)};
}

TEST(FieldPicture, fits_the_page_whatever_the_shape) {
  for (const GridShape grid : {GridShape{1, 2}, {3, 700}, {700, 3}, {2000, 20}, {2049, 1030}}) {
    const FloorPlan plan = plan_of(grid.rows, grid.cols);
    const GridShape shape =
        png_shape(plan_picture("plan", plan, plan.domain, "steady state").draw(PlotFormat::png));
    EXPECT_LE(shape.cols, 2200U) << grid.rows << " x " << grid.cols;
    EXPECT_LE(shape.rows, 1100U) << grid.rows << " x " << grid.cols;
    EXPECT_GT(shape.cols, 512U) << "two panels and a colour bar";
  }
}

TEST(FieldPicture, refuses_a_solution_of_another_shape) {
  EXPECT_THROW((void)within_building(plan_of(8, 8), Grid<double>(8, 9)), RunError);
}

TEST(FieldPicture, has_a_caption_for_each_panel_and_one_scale) {
  const FloorPlan plan = plan_of(30, 40);
  FieldPicture picture;
  picture.title = "a sheet";
  for (int i = 0; i < 7; ++i)
    picture.panels.push_back(
        {"plan number " + std::to_string(i), within_building(plan, plan.domain)});
  picture.columns = 3;
  picture.side = 120;
  const std::string svg = picture.draw(PlotFormat::svg);
  for (const char* part : {"a sheet", "plan number 0", "plan number 6", "°C", " 25<"})
    EXPECT_THAT(svg, HasSubstr(part));
}

TEST(FieldPicture, leaves_out_of_a_caption_what_would_reach_into_the_next) {
  const FloorPlan plan = plan_of(30, 30);
  FieldPicture picture;
  for (int i = 0; i < 2; ++i)
    picture.panels.push_back(
        {"mean 14.01 °C, after 3602 iterations of jacobi", within_building(plan, plan.domain)});
  picture.columns = 2;
  picture.side = 120;
  EXPECT_THAT(picture.draw(PlotFormat::svg),
              AllOf(HasSubstr("mean 14.01 °C"), Not(HasSubstr("iterations"))));
  picture.side = 512;
  EXPECT_THAT(picture.draw(PlotFormat::svg), HasSubstr("iterations of jacobi"));
}

FieldPicture one_panel(const Grid<double>& values, PanelScale scale = PanelScale::temperature) {
  FieldPicture picture;
  picture.panels.push_back({"", values, scale});
  return picture;
}

TEST(FieldPicture, colours_a_plate_by_its_own_temperatures_and_a_study_by_0_to_25) {
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

TEST(FieldPicture, shows_one_value_nothing_but_ground_and_what_diverged) {
  const std::string zeros =
      one_panel(without_ground(Grid<double>(4, 4, 0.0))).draw(PlotFormat::svg);
  EXPECT_THAT(zeros, AllOf(HasSubstr("<image"), HasSubstr(" 0<")));
  const double ground = std::numeric_limits<double>::quiet_NaN();
  Grid<double> odd(4, 4, ground);
  EXPECT_THAT(one_panel(odd).draw(PlotFormat::svg), Not(HasSubstr("<image")));
  odd(2, 2) = -1e300;
  odd(3, 3) = 1e300;
  EXPECT_THAT(one_panel(odd).draw(PlotFormat::svg), HasSubstr("<image"));
}

TEST(FieldPicture, has_the_long_text_of_a_label_if_there_is_room) {
  FieldPicture picture = one_panel(Grid<double>(40, 40, 7.0));
  picture.panels.front().labels = {{"1: 17.0 °C", 20, 20, 30, "1"}};
  EXPECT_THAT(picture.draw(PlotFormat::svg), HasSubstr("1: 17.0 °C"));
  picture.panels.front().labels.front().room_for_it = 2;
  EXPECT_THAT(picture.draw(PlotFormat::svg), Not(HasSubstr("17.0")));
}

TEST(FieldPicture, has_a_bar_for_each_scale) {
  FieldPicture picture = one_panel(Grid<double>(4, 4, 7.0));
  picture.panels.push_back({"", Grid<double>(4, 4, -300.0), PanelScale::source});
  picture.panels.push_back({"", Grid<double>(4, 4, 1.0), PanelScale::mask});
  picture.panels.push_back({"", Grid<double>(4, 4, -0.5), PanelScale::difference});
  picture.columns = 4;
  EXPECT_THAT(picture.draw(PlotFormat::svg),
              AllOf(HasSubstr("temperature in °C"), HasSubstr("heat source"), HasSubstr("-300<"),
                    HasSubstr(" 300<"), HasSubstr("-0.4<"), HasSubstr(" 0.4<")))
      << "sources and differences go as far below zero as above it";
}

TEST(FieldPicture, fits_a_size_and_grows_with_its_resolution) {
  FieldPicture picture = one_panel(Grid<double>(100, 200, 7.0));
  picture.size = {800, 600};
  const std::string png = picture.draw(PlotFormat::png);
  const GridShape shape = png_shape(png);
  EXPECT_NEAR(shape.cols, 800, 1);
  EXPECT_LE(shape.rows, 600U);
  const std::string fine = picture.draw(PlotFormat::png, 2 * default_dpi);
  EXPECT_NEAR(png_shape(fine).cols, 2 * shape.cols, 1);
  EXPECT_NEAR(png_shape(fine).rows, 2 * shape.rows, 1);
  picture.size = {70, 70};
  EXPECT_THROW((void)picture.draw(PlotFormat::png), UsageError);
}

}  // namespace
}  // namespace wallheat
