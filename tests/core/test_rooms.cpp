#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "core/generator.hpp"
#include "core/interior_values.hpp"
#include "support/refusal.hpp"
#include "wallheat/error.hpp"
#include "wallheat/rooms.hpp"

namespace wallheat {
namespace {

using Cell = std::pair<int, int>;
using Mask = Grid<std::uint8_t>;

bool is_inside(const Mask& mask, Cell cell) {
  const auto [row, col] = cell;
  return row >= 0 && col >= 0 && row < static_cast<int>(mask.rows) &&
         col < static_cast<int>(mask.cols) &&
         mask(static_cast<std::size_t>(row), static_cast<std::size_t>(col)) != 0;
}

template <class Visit>
void for_each(const Mask& mask, const Visit& visit) {
  for (int row = 0; row < static_cast<int>(mask.rows); ++row)
    for (int col = 0; col < static_cast<int>(mask.cols); ++col)
      if (is_inside(mask, {row, col})) visit(Cell{row, col});
}

/// Steps from one of these cells within the mask, to each that can be reached.
std::map<Cell, int> steps_from(const Mask& mask, const std::vector<Cell>& cells,
                               bool corners = false) {
  std::map<Cell, int> steps;
  std::vector<Cell> queue = cells;
  for (const Cell& cell : cells) steps[cell] = 0;
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const auto [row, col] = queue[at];
    for (int dr = -1; dr <= 1; ++dr) {
      for (int dc = -1; dc <= 1; ++dc) {
        const Cell next{row + dr, col + dc};
        if ((dr == 0) == (dc == 0) && !(corners && dr != 0)) continue;
        if (!is_inside(mask, next) || steps.contains(next)) continue;
        steps[next] = steps[queue[at]] + 1;
        queue.push_back(next);
      }
    }
  }
  return steps;
}

std::vector<std::vector<Cell>> parts_of(const Mask& mask, bool corners) {
  std::vector<std::vector<Cell>> parts;
  std::set<Cell> seen;
  for_each(mask, [&](Cell cell) {
    if (seen.contains(cell)) return;
    auto& part = parts.emplace_back();
    for (const auto& [reached, steps] : steps_from(mask, {cell}, corners)) {
      part.push_back(reached);
      seen.insert(reached);
    }
  });
  return parts;
}

/// The cores, by the words of the header.
std::vector<std::vector<Cell>> cores_of(const Mask& mask, int door) {
  const int radius = (door + 1) / 2;
  Mask core(mask.rows, mask.cols);
  for_each(mask, [&](Cell cell) {
    bool far = true;
    for (int dr = -radius; dr <= radius; ++dr)
      for (int dc = -radius; dc <= radius; ++dc)
        if (dr * dr + dc * dc <= radius * radius)
          far = far && is_inside(mask, {cell.first + dr, cell.second + dc});
    core(static_cast<std::size_t>(cell.first), static_cast<std::size_t>(cell.second)) = far;
  });
  auto cores = parts_of(core, door > 0);
  std::erase_if(cores, [&](const auto& cells) { return static_cast<int>(cells.size()) < door; });
  return cores;
}

/// The cores that may have each cell: the nearest, of these those of the most cells.
std::map<Cell, std::set<std::size_t>> owners_of(const Mask& mask, int door) {
  const auto cores = cores_of(mask, door);
  std::map<Cell, std::pair<std::pair<int, int>, std::set<std::size_t>>> best;
  for (std::size_t k = 0; k < cores.size(); ++k) {
    for (const auto& [cell, steps] : steps_from(mask, cores[k])) {
      const std::pair claim{steps, -static_cast<int>(cores[k].size())};
      auto& [held, owners] = best.try_emplace(cell, claim, std::set<std::size_t>{}).first->second;
      if (claim < held) owners.clear();
      held = std::min(held, claim);
      if (claim == held) owners.insert(k);
    }
  }
  std::map<Cell, std::set<std::size_t>> owners;
  for (auto& [cell, claim] : best) owners[cell] = std::move(claim.second);
  return owners;
}

std::uint32_t room_of(const RoomMap& map, Cell cell) {
  return map.room(static_cast<std::size_t>(cell.first), static_cast<std::size_t>(cell.second));
}

/// Every interior cell is in one room, rooms are connected and numbered in reading order.
void expect_division(const Mask& mask, const RoomMap& map) {
  std::vector<Cell> first;
  std::vector<std::size_t> cells;
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < mask.cells.size(); ++i)
    ASSERT_EQ(map.room.cells[i] != 0, mask.cells[i] != 0);
  for_each(mask, [&](Cell cell) {
    const std::uint32_t room = room_of(map, cell);
    ASSERT_LE(room, seen + 1);
    if (room > seen) {
      seen = room;
      first.push_back(cell);
      cells.push_back(0);
    }
    ++cells[room - 1];
  });
  ASSERT_EQ(seen, map.count);
  Mask alone(mask.rows, mask.cols);
  for (std::uint32_t room = 1; room <= map.count; ++room) {
    std::transform(map.room.cells.begin(), map.room.cells.end(), alone.cells.begin(),
                   [&](std::uint32_t of) { return of == room; });
    ASSERT_EQ(steps_from(alone, {first[room - 1]}).size(), cells[room - 1]) << "room " << room;
  }
}

/// Each cell is in the room of a core that may have it, and the rest in its connected parts.
void expect_definition(const Mask& mask, int door, const RoomMap& map) {
  const auto owners = owners_of(mask, door);
  std::map<std::size_t, std::uint32_t> room_of_core;
  for (const auto& [cell, cores] : owners)
    if (cores.size() == 1) room_of_core.try_emplace(*cores.begin(), room_of(map, cell));
  Mask rest = mask;
  for (const auto& [cell, cores] : owners) {
    rest(static_cast<std::size_t>(cell.first), static_cast<std::size_t>(cell.second)) = 0;
    ASSERT_TRUE(
        std::any_of(cores.begin(), cores.end(),
                    [&](std::size_t core) { return room_of_core.at(core) == room_of(map, cell); }))
        << cell.first << " " << cell.second;
  }
  const auto parts = parts_of(rest, false);
  for (const auto& part : parts)
    for (const Cell& cell : part) ASSERT_EQ(room_of(map, cell), room_of(map, part[0]));
  ASSERT_EQ(map.count, room_of_core.size() + parts.size());
}

Mask turned(const Mask& mask) {
  Mask result(mask.cols, mask.rows);
  for (std::size_t row = 0; row < mask.rows; ++row)
    for (std::size_t col = 0; col < mask.cols; ++col)
      result(col, mask.rows - 1 - row) = mask(row, col);
  return result;
}

TEST(Rooms, divide_a_thousand_generated_plans_as_the_header_says) {
  std::uint32_t most = 0;
  for (std::uint64_t index = 0; index < 1000; ++index) {
    const Mask mask = generate_floor_plan(7, index, 20 + index % 13).interior;
    const auto door = static_cast<int>(index % 5);
    SCOPED_TRACE(testing::Message() << "plan " << index << ", door " << door);
    const RoomMap map = map_rooms(mask, static_cast<std::uint32_t>(door));
    most = std::max(most, map.count);
    expect_division(mask, map);
    expect_definition(mask, door, map);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(most, 10U);
}

/// Rooms of 3 x 3 cells behind walls of one, `across` x `across` of them, with doors of one cell.
Mask many_rooms(std::size_t across) {
  Mask mask(4 * across + 1, 4 * across + 1);
  for (std::size_t row = 1; row + 1 < mask.rows; ++row)
    for (std::size_t col = 1; col + 1 < mask.cols; ++col)
      mask(row, col) = (row % 4 != 0 || col % 4 == 2) && (col % 4 != 0 || row % 4 == 2) ? 1 : 0;
  return mask;
}

TEST(Rooms, are_ten_thousand_behind_doors_and_one_where_doors_do_not_count) {
  const Mask mask = many_rooms(100);
  EXPECT_EQ(map_rooms(mask, 1).count, 10000U);
  EXPECT_EQ(map_rooms(mask, 0).count, 1U);
  // Narrower than a door everywhere: nothing is divided.
  EXPECT_EQ(map_rooms(mask, default_door({mask.rows, mask.cols})).count, 1U);
  const auto rooms = room_results(map_rooms(mask, 1), Grid<double>(mask.rows, mask.cols, 20.0));
  EXPECT_EQ(rooms[9999].room, 10000U);
  EXPECT_EQ(rooms[9999].last_col, 399U);
}

TEST(Rooms, are_none_without_interior_and_one_in_a_plan_one_cell_wide) {
  EXPECT_EQ(map_rooms(Mask(5, 7), 2).count, 0U);
  EXPECT_TRUE(room_results(map_rooms(Mask(5, 7), 2), Grid<double>(5, 7)).empty());
  for (const Mask& mask : {Mask(1, 40, 1), Mask(40, 1, 1), Mask(1, 1, 1)}) {
    const RoomMap map = map_rooms(mask, 3);
    EXPECT_EQ(map.count, 1U);
    expect_division(mask, map);
  }
}

/// Two rooms of 20 x 20 cells with an opening of this width between them.
Mask two_rooms(std::size_t opening) {
  Mask mask(22, 44);
  for (std::size_t row = 1; row < 21; ++row)
    for (std::size_t col = 1; col < 43; ++col)
      mask(row, col) = (col != 21 && col != 22) || (row >= 3 && row < 3 + opening) ? 1 : 0;
  return mask;
}

TEST(Rooms, are_divided_by_an_opening_as_wide_as_a_door_and_not_by_a_wider_one) {
  for (std::uint32_t door = 1; door <= 12; ++door) {
    const std::uint32_t even = door + door % 2;
    EXPECT_EQ(map_rooms(two_rooms(even), door).count, 2U) << door;
    EXPECT_EQ(map_rooms(turned(two_rooms(even)), door).count, 2U) << door;
    EXPECT_EQ(map_rooms(two_rooms(even + 1), door).count, 1U) << door;
  }
  EXPECT_EQ(refusal_of<RunError>([] { (void)map_rooms(Mask(3, 3, 1), largest_door + 1); }),
            "a door cannot be wider than 10000 cells");
}

TEST(Rooms, are_summarised_as_numpy_would) {
  const Mask mask = two_rooms(4);
  const RoomMap map = map_rooms(mask, 4);
  Grid<double> field(mask.rows, mask.cols);
  for (std::size_t i = 0; i < field.cells.size(); ++i)
    field.cells[i] = static_cast<double>(i * 7919 % 10007) / 10007.0 * 25.0;
  field(5, 5) = 20;  // neither above nor below
  field(6, 6) = 10;
  const auto rooms = room_results(map, field, {20, 10});
  ASSERT_EQ(rooms.size(), 2U);
  for (const RoomResult& room : rooms) {
    std::vector<double> values;
    double rows = 0;
    double cols = 0;
    std::set<std::uint32_t> of_rows, of_cols;
    for_each(mask, [&](Cell cell) {
      if (room_of(map, cell) != room.room) return;
      const auto row = static_cast<std::size_t>(cell.first);
      const auto col = static_cast<std::size_t>(cell.second);
      values.push_back(field(row, col));
      rows += cell.first;
      cols += cell.second;
      of_rows.insert(static_cast<std::uint32_t>(row));
      of_cols.insert(static_cast<std::uint32_t>(col));
    });
    const auto count = static_cast<double>(values.size());
    EXPECT_EQ(room.cells, values.size());
    EXPECT_EQ(std::tuple(room.first_row, room.last_row),
              std::tuple(*of_rows.begin(), *of_rows.rbegin()));
    EXPECT_EQ(std::tuple(room.first_col, room.last_col),
              std::tuple(*of_cols.begin(), *of_cols.rbegin()));
    EXPECT_EQ(room.centre_row, static_cast<float>(rows / count));
    EXPECT_EQ(room.centre_col, static_cast<float>(cols / count));
    EXPECT_EQ(room.mean_temp, numpy_sum(values) / count);
    EXPECT_EQ(room.min_temp, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(room.max_temp, *std::max_element(values.begin(), values.end()));
    EXPECT_EQ(room.cells_above,
              std::count_if(values.begin(), values.end(), [](double v) { return v > 20; }));
    EXPECT_EQ(room.cells_below,
              std::count_if(values.begin(), values.end(), [](double v) { return v < 10; }));
  }
}

TEST(Rooms, have_doors_of_a_fiftieth_of_the_longer_side) {
  EXPECT_EQ(default_door({100, 400}), 8U);
  EXPECT_EQ(default_door({400, 100}), 8U);
  EXPECT_EQ(default_door({10, 10}), 1U);
}

TEST(RoomResults, of_a_field_with_a_nan_have_no_extremes) {
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
