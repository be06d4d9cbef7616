#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "view/picture.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A folder of its own for each test, gone afterwards.
class Picture : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              ("wallheat_picture_" + std::to_string(::getpid()) + "_" + info->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

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

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::uint32_t big_endian(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<std::uint8_t>(bytes.at(at + i));
  return value;
}

/// Width and height from the header chunk, which must be where the PNG format wants it.
GridShape png_shape(const fs::path& file) {
  const std::string bytes = bytes_of(file);
  EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(bytes.substr(12, 4), "IHDR");
  EXPECT_THAT(bytes, HasSubstr("IEND"));
  return {.rows = big_endian(bytes, 20), .cols = big_endian(bytes, 16)};
}

TEST_F(Picture, is_a_png_file_with_two_panels_and_a_colour_bar) {
  if (!can_draw()) GTEST_SKIP() << "this build has no cairo";
  const FloorPlan plan = plan_of(512, 512);

  draw_plan(folder_ / "plan.png", "floor plan 10000", plan, plan.domain);

  const GridShape shape = png_shape(folder_ / "plan.png");
  EXPECT_GT(shape.cols, 2 * 512U);
  EXPECT_LT(shape.cols, 2 * 512U + 300U);
  EXPECT_GT(shape.rows, 512U);
  EXPECT_LT(shape.rows, 512U + 200U);
}

TEST_F(Picture, shows_the_solution) {
  if (!can_draw()) GTEST_SKIP() << "this build has no cairo";
  const FloorPlan plan = plan_of(40, 40);
  Grid<double> warm = plan.domain;
  warm(20, 20) = 18.0;

  draw_plan(folder_ / "cold.png", "plan", plan, plan.domain);
  draw_plan(folder_ / "warm.png", "plan", plan, warm);

  EXPECT_NE(bytes_of(folder_ / "cold.png"), bytes_of(folder_ / "warm.png"));
}

TEST_F(Picture, fits_the_page_whatever_the_shape) {
  if (!can_draw()) GTEST_SKIP() << "this build has no cairo";
  for (const GridShape grid : {GridShape{1, 2}, {3, 700}, {700, 3}, {2000, 20}, {2049, 1030}}) {
    const FloorPlan plan = plan_of(grid.rows, grid.cols);
    draw_plan(folder_ / "plan.png", "plan", plan, plan.domain);
    const GridShape shape = png_shape(folder_ / "plan.png");
    EXPECT_LE(shape.cols, 2200U) << grid.rows << " x " << grid.cols;
    EXPECT_LE(shape.rows, 1100U) << grid.rows << " x " << grid.cols;
  }
}

TEST_F(Picture, can_show_temperatures_beyond_the_usual_and_not_a_number) {
  if (!can_draw()) GTEST_SKIP() << "this build has no cairo";
  const FloorPlan plan = plan_of(8, 8);
  Grid<double> odd = plan.domain;
  odd(2, 2) = -1e300;
  odd(3, 3) = 1e300;
  odd(4, 4) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NO_THROW(draw_plan(folder_ / "odd.png", "plan", plan, odd));
}

TEST_F(Picture, says_which_file_it_cannot_write) {
  const FloorPlan plan = plan_of(8, 8);
  const fs::path file = folder_ / "no such folder" / "plan.png";
  try {
    draw_plan(file, "plan", plan, plan.domain);
    FAIL() << "no error";
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr(file.string()));
  }
}

TEST_F(Picture, refuses_a_solution_of_another_shape) {
  const FloorPlan plan = plan_of(8, 8);
  EXPECT_THROW(draw_plan(folder_ / "plan.png", "plan", plan, Grid<double>(8, 9)), RunError);
}

}  // namespace
}  // namespace wallheat
