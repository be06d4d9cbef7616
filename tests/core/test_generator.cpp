#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/generator.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// FNV-1a over the shape, the bits of the domain (low byte first) and the interior.
std::uint64_t hash_of(const FloorPlan& plan) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&](std::uint64_t word, int bytes) {
    for (int i = 0; i < bytes; ++i) hash = (hash ^ ((word >> (8 * i)) & 0xffU)) * 0x100000001b3U;
  };
  add(plan.domain.rows, 8);
  add(plan.domain.cols, 8);
  for (const double celsius : plan.domain.cells) add(std::bit_cast<std::uint64_t>(celsius), 8);
  for (const std::uint8_t room : plan.interior.cells) add(room, 1);
  return hash;
}

double interior_share(const FloorPlan& plan) {
  const auto rooms = std::count(plan.interior.cells.begin(), plan.interior.cells.end(), 1);
  return static_cast<double>(rooms) / static_cast<double>(plan.interior.cells.size());
}

bool room_on_edge(const FloorPlan& plan) {
  const std::size_t last = plan.interior.rows - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    if (plan.interior(0, i) + plan.interior(last, i) + plan.interior(i, 0) + plan.interior(i, last))
      return true;
  }
  return false;
}

/// How many cells hold neither a wall, nor room, nor outside.
std::size_t faults(const FloorPlan& plan) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < plan.domain.cells.size(); ++i) {
    const double celsius = plan.domain.cells[i];
    const std::uint8_t room = plan.interior.cells[i];
    if (room == 1 ? celsius != 0.0 : celsius != 0.0 && celsius != 5.0 && celsius != 25.0) ++wrong;
    if (room > 1) ++wrong;
  }
  return wrong;
}

std::vector<FloorPlan> first_plans(std::uint64_t seed, std::uint64_t count, std::size_t size) {
  std::vector<FloorPlan> plans;
  for (std::uint64_t i = 0; i < count; ++i) plans.push_back(generate_floor_plan(seed, i, size));
  return plans;
}

TEST(Generator, gives_the_same_bytes_on_every_machine) {
  EXPECT_EQ(hash_of(generate_floor_plan(1, 0, 512)), 9164688456197451749U);
  EXPECT_EQ(hash_of(generate_floor_plan(20240131, 4570, 300)), 12357635778161795583U);
}

TEST(Generator, makes_plans_as_large_as_real_ones) {
  std::vector<double> cells;
  for (const FloorPlan& plan : first_plans(1, 400, 512))
    cells.push_back(interior_share(plan) * 512 * 512);
  std::sort(cells.begin(), cells.end());
  // Quantiles of 32 real plans.
  EXPECT_NEAR(cells[40], 37'619, 0.05 * 37'619);
  EXPECT_NEAR(cells[100], 48'331, 0.05 * 48'331);
  EXPECT_NEAR(cells[200], 75'277, 0.05 * 75'277);
  EXPECT_NEAR(cells[300], 85'371, 0.05 * 85'371);
  EXPECT_NEAR(cells[360], 98'149, 0.05 * 98'149);
}

TEST(Generator, lets_rooms_touch_the_edge_in_one_plan_of_ten) {
  const std::vector<FloorPlan> plans = first_plans(1, 30, 512);
  EXPECT_EQ(std::count_if(plans.begin(), plans.end(), room_on_edge), 3);
  EXPECT_TRUE(std::any_of(plans.begin(), plans.begin() + 24, room_on_edge));
}

TEST(Generator, works_for_small_and_odd_sizes) {
  for (const std::size_t size : {16, 17, 23, 31, 64, 101, 255}) {
    for (std::uint64_t index = 0; index < 30; ++index) {
      const FloorPlan plan = generate_floor_plan(5, index, size);
      ASSERT_EQ(plan.domain.rows, size);
      ASSERT_EQ(plan.domain.cols, size);
      ASSERT_EQ(plan.interior.cells.size(), size * size);
      EXPECT_EQ(faults(plan), 0U);
      EXPECT_GT(interior_share(plan), 0.0) << "size " << size << ", plan " << index;
    }
  }
}

TEST(Generator, refuses_a_size_that_makes_no_sense) {
  EXPECT_THROW((void)generate_floor_plan(1, 0, 15), RunError);
  EXPECT_THROW((void)generate_floor_plan(1, 0, 16385), RunError);
}

}  // namespace
}  // namespace wallheat
