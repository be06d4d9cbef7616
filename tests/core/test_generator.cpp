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

/// Returns the FNV-1a hash of the shape, the initial field (low byte first) and the mask of each
/// plan.
std::uint64_t hash_of(const std::vector<FloorPlan>& plans) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&](std::uint64_t word, int bytes) {
    for (int i = 0; i < bytes; ++i) hash = (hash ^ ((word >> (8 * i)) & 0xffU)) * 0x100000001b3U;
  };
  for (const FloorPlan& plan : plans) {
    add(plan.domain.rows, 8);
    add(plan.domain.cols, 8);
    for (const double celsius : plan.domain.cells) add(std::bit_cast<std::uint64_t>(celsius), 8);
    for (const std::uint8_t room : plan.interior.cells) add(room, 1);
  }
  return hash;
}

std::vector<FloorPlan> first_plans(std::uint64_t seed, std::uint64_t count, std::size_t size) {
  std::vector<FloorPlan> plans;
  for (std::uint64_t i = 0; i < count; ++i) plans.push_back(generate_floor_plan(seed, i, size));
  return plans;
}

// tests/bench/whole_set.py compares generated plans with real ones.
TEST(Generator, MakesIdenticalPlansOnEveryMachine) {
  EXPECT_EQ(hash_of({generate_floor_plan(1, 0, 512)}), 9164688456197451749U);
  EXPECT_EQ(hash_of({generate_floor_plan(20240131, 4570, 300)}), 12357635778161795583U);
  EXPECT_EQ(hash_of(first_plans(1, 60, 101)), 178367017022979311U)
      << "some of these plans have rooms that touch the edge";
}

TEST(Generator, MakesValidPlansForSmallOrOddSizes) {
  for (const std::size_t size : {16, 17, 23, 31, 64, 101, 255}) {
    for (const FloorPlan& plan : first_plans(5, 30, size)) {
      ASSERT_EQ(plan.domain.rows, size);
      ASSERT_EQ(plan.domain.cols, size);
      EXPECT_THAT(plan.interior.cells, testing::Contains(1));
      for (std::size_t i = 0; i < size * size; ++i) {
        const double celsius = plan.domain.cells[i];
        const std::uint8_t is_room = plan.interior.cells.at(i);
        EXPECT_TRUE(is_room <= 1 &&
                    (celsius == 0 || (is_room == 0 && (celsius == 5 || celsius == 25))));
      }
    }
  }
}

TEST(Generator, RejectsSizesOutOfRange) {
  EXPECT_THROW((void)generate_floor_plan(1, 0, 15), RunError);
  EXPECT_THROW((void)generate_floor_plan(1, 0, 16385), RunError);
}

}  // namespace
}  // namespace wallheat
