#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/wall_temperatures.hpp"

namespace wallheat {
namespace {

TEST(WallTemperatures, replace_fixed_cells_of_their_kind_all_at_once) {
  FloorPlan plan{Grid<double>(2, 3), Grid<std::uint8_t>(2, 3)};
  plan.domain.cells = {5, 25, 0, 5, 25, 8};
  plan.interior.cells = {0, 0, 0, 1, 1, 0};
  EXPECT_THAT(wall_kinds(plan), testing::ElementsAre(0, 5, 8, 25));
  set_wall_temperatures(plan, {{5, 8}, {8, 9}, {25, 5}});
  EXPECT_THAT(plan.domain.cells, testing::ElementsAre(8, 5, 0, 5, 25, 9));
}

TEST(WallTemperatures, are_read_as_they_are_written) {
  const auto walls = wall_temperatures_in("25=22.5 5=-8");
  ASSERT_TRUE(walls);
  EXPECT_EQ(to_text(*walls), "5.0=-8.0 25.0=22.5");
  EXPECT_EQ(wall_temperatures_in(to_text(*walls)), walls);
  for (const char* wrong :
       {"5", "5=", "=5", "5=nan", "5=1e301", "5=8=9", "x=5", "5=8 5=9", "5=8,25=22"})
    EXPECT_FALSE(wall_temperatures_in(wrong)) << wrong;
}

}  // namespace
}  // namespace wallheat
