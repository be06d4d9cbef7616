#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "solve/solver_options.hpp"
#include "wallheat/rooms.hpp"

namespace wallheat {

/// The indices of some cells among a plan's interior cells.
using CellIndices = std::vector<std::uint32_t>;
/// Those of each room, from number 1 on.
using RoomCells = std::vector<CellIndices>;

[[nodiscard]] inline RoomCells room_cells_of(const FloorPlan& plan, const Door& door) {
  const RoomMap map = map_rooms(plan.interior, door.of({plan.interior.rows, plan.interior.cols}));
  RoomCells rooms(map.count);
  std::uint32_t index = 0;
  for (const std::uint32_t room : map.room.cells)
    if (room > 0) rooms[room - 1].push_back(index++);
  return rooms;
}

/// The whole plan as its one room.
[[nodiscard]] inline RoomCells one_room(std::size_t cells) {
  RoomCells rooms(1, CellIndices(cells));
  std::iota(rooms.front().begin(), rooms.front().end(), 0U);
  return rooms;
}

template <class Value>
[[nodiscard]] std::vector<Value> values_at(const CellIndices& indices,
                                           const std::vector<Value>& cells) {
  std::vector<Value> values;
  values.reserve(indices.size());
  for (const std::uint32_t index : indices) values.push_back(cells[index]);
  return values;
}

}  // namespace wallheat
