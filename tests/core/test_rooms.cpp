#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "core/cell_statistics.hpp"
#include "core/generator.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "wallheat/error.hpp"
#include "wallheat/rooms.hpp"

namespace wallheat {
namespace {

using Mask = Grid<std::uint8_t>;

/// Returns the mask of a drawing, in which a line feed precedes each row and '#' is a fixed cell.
Mask mask_in(const std::string& drawing) {
  const std::size_t rows = static_cast<std::size_t>(std::ranges::count(drawing, '\n'));
  Mask mask(rows, drawing.size() / rows - 1);
  for (std::size_t row = 0; row < mask.rows; ++row)
    for (std::size_t col = 0; col < mask.cols; ++col)
      mask(row, col) = drawing[row * (mask.cols + 1) + 1 + col] != '#' ? 1 : 0;
  return mask;
}

/// Returns a drawing of the room number of each cell; '#' is a fixed cell.
std::string drawn(const RoomMap& map) {
  std::string drawing;
  for (std::size_t i = 0; i < map.labels.cells.size(); ++i) {
    if (i % map.labels.cols == 0) drawing += '\n';
    drawing += map.labels.cells[i] == 0 ? '#' : static_cast<char>('0' + map.labels.cells[i]);
  }
  return drawing;
}

struct Example {
  const char* description;
  std::uint32_t door;
  std::string rooms;
};
const Example examples[] = {
    {"without doors only walls divide rooms, also at their corners", 0, R"(
11#222#
11###2#
##3#222)"},
    {"a door belongs to the larger of two equally distant rooms", 1, R"(
#########
#111#222#
#1112222#
#111#222#
#####222#
#####222#
#########)"},
    {"an opening wider than a door does not divide a room", 2, R"(
#########
#111#111#
#1111111#
#1111111#
#1111111#
#111#111#
#########)"},
    {"cores that touch at a corner are one core", 1, R"(
#######
#111###
#1111##
#11111#
##1111#
###111#
#######)"},
    {"each connected part that no core reaches is a room", 2, R"(
#########
#11#####2
####333#2
####333##
####333##
#########)"},
    {"rooms are numbered in the order of their first cells", 1, R"(
111#222
111#222
1111122
##3####
33333##
33333##
33333##)"},
};

TEST(Rooms, DividesExamplesAsDocumented) {
  for (const auto& [description, door, rooms] : examples)
    EXPECT_EQ(drawn(map_rooms(mask_in(rooms), door)), rooms) << description;
}

TEST(Rooms, MatchesReferenceSearchForThousandPlans) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (std::uint64_t index = 0; index < 1000; ++index) {
    const Mask mask = generate_floor_plan(7, index, 20 + index % 13).interior;
    for (const std::uint32_t room :
         map_rooms(mask, static_cast<std::uint32_t>(index % 5)).labels.cells)
      hash = (hash ^ room) * 0x100000001b3U;
  }
  EXPECT_EQ(hash, 5537228569115364125U);
}

/// Rooms of 3 x 3 cells behind walls of one, `across` x `across` of them, with doors of one cell.
Mask many_rooms(std::size_t across) {
  Mask mask(4 * across + 1, 4 * across + 1);
  for (std::size_t row = 1; row + 1 < mask.rows; ++row)
    for (std::size_t col = 1; col + 1 < mask.cols; ++col)
      mask(row, col) = (row % 4 != 0 || col % 4 == 2) && (col % 4 != 0 || row % 4 == 2) ? 1 : 0;
  return mask;
}

TEST(Rooms, FindsTenThousandRoomsBehindDoors) {
  const Mask mask = many_rooms(100);
  EXPECT_EQ(map_rooms(mask, 1).room_count, 10000U);
  EXPECT_EQ(map_rooms(mask, 0).room_count, 1U);
  // Narrower than a door everywhere: nothing is divided.
  EXPECT_EQ(map_rooms(mask, default_door_cells({mask.rows, mask.cols})).room_count, 1U);
  const auto rooms = room_results(map_rooms(mask, 1), Grid<double>(mask.rows, mask.cols, 20.0));
  EXPECT_EQ(rooms[9999].room, 10000U);
  EXPECT_EQ(rooms[9999].last_col, 399U);
}

TEST(Rooms, HandlesEmptyOrOneCellWidePlans) {
  EXPECT_EQ(map_rooms(Mask(5, 7), 2).room_count, 0U);
  EXPECT_TRUE(room_results(map_rooms(Mask(5, 7), 2), Grid<double>(5, 7)).empty());
  for (const Mask& mask : {Mask(1, 40, 1), Mask(40, 1, 1), Mask(1, 1, 1)})
    EXPECT_THAT(map_rooms(mask, 3).labels.cells, Each(1U));
}

/// Two rooms of 20 x 20 cells with an opening of this width between them.
Mask two_rooms(std::size_t opening) {
  Mask mask(22, 44);
  for (std::size_t row = 1; row < 21; ++row)
    for (std::size_t col = 1; col < 43; ++col)
      mask(row, col) = (col != 21 && col != 22) || (row >= 3 && row < 3 + opening) ? 1 : 0;
  return mask;
}

TEST(Rooms, DividesAtOpeningsUpToDoorWidth) {
  for (std::uint32_t door = 1; door <= 12; ++door) {
    const std::uint32_t even = door + door % 2;
    EXPECT_EQ(map_rooms(two_rooms(even), door).room_count, 2U) << door;
    EXPECT_EQ(map_rooms(two_rooms(even + 1), door).room_count, 1U) << door;
  }
  EXPECT_EQ(default_door_cells({100, 400}), 8U) << "a fiftieth of the longer side";
  EXPECT_EQ(default_door_cells({10, 10}), 1U);
  EXPECT_THAT(
      error_message_of<RunError>([] { (void)map_rooms(Mask(3, 3, 1), max_door_cells + 1); }),
      Mentions({"door", "10000"}));
}

TEST(Rooms, SummarizesRoomsAsNumpyDoes) {
  Mask mask(4, 7, 1);
  for (std::size_t row = 0; row < 4; ++row) mask(row, 5) = 0;
  mask(0, 0) = mask(3, 6) = 0;
  Grid<double> field(4, 7, 15);
  std::vector<double> of_first;
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t col = row == 0 ? 1 : 0; col < 5; ++col)
      of_first.push_back(field(row, col) = 0.1 * static_cast<double>(row * 7919 % 101 + col * 31));
  field(0, 6) = 20;  // neither above nor below
  field(1, 6) = 10;
  field(2, 6) = 20.5;
  const auto rooms = room_results(map_rooms(mask, 0), field, {20, 10});
  ASSERT_EQ(rooms.size(), 2U);
  EXPECT_EQ(rooms[0].mean_temp, numpy_sum(of_first) / 19);
  EXPECT_EQ(rooms[0].min_temp, *std::ranges::min_element(of_first));
  EXPECT_EQ(rooms[0].max_temp, *std::ranges::max_element(of_first));
  EXPECT_EQ(rooms[0].cells, 19U);
  EXPECT_EQ(
      std::tuple(rooms[0].first_row, rooms[0].last_row, rooms[0].first_col, rooms[0].last_col),
      std::tuple(0U, 3U, 0U, 4U));
  EXPECT_EQ(rooms[0].centre_row, static_cast<float>(30.0 / 19));
  EXPECT_EQ(rooms[0].centre_col, static_cast<float>(40.0 / 19));
  const RoomResult& second = rooms[1];
  EXPECT_EQ(second.room, 2U);
  EXPECT_EQ(std::tuple(second.first_row, second.last_row, second.first_col, second.last_col),
            std::tuple(0U, 2U, 6U, 6U));
  EXPECT_EQ(std::tuple(second.cells_above, second.cells_below), std::tuple(1, 0));
}

TEST(RoomResults, ReturnsNanExtremesForFieldWithNan) {
  const Grid<std::uint8_t> interior(2, 3, 1);
  for (std::size_t cell = 0; cell < interior.cells.size(); ++cell) {
    Grid<double> field(2, 3, 20);
    field.cells[cell] = std::numeric_limits<double>::quiet_NaN();
    const auto rooms = room_results(map_rooms(interior, 0), field, {});
    ASSERT_EQ(rooms.size(), 1U);
    EXPECT_TRUE(std::isnan(rooms[0].mean_temp));
    EXPECT_TRUE(std::isnan(rooms[0].min_temp)) << cell;
    EXPECT_TRUE(std::isnan(rooms[0].max_temp)) << cell;
  }
}

}  // namespace
}  // namespace wallheat
