#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "solve/solver_options.hpp"
#include "wallheat/rooms.hpp"

namespace wallheat {

/// The places of some cells among a plan's interior cells.
using CellPlaces = std::vector<std::uint32_t>;
/// Those of each room, from number 1 on.
using RoomPlaces = std::vector<CellPlaces>;

[[nodiscard]] inline RoomPlaces room_places_of(const FloorPlan& plan, const Door& door) {
  const RoomMap map = map_rooms(plan.interior, door.of({plan.interior.rows, plan.interior.cols}));
  RoomPlaces rooms(map.count);
  std::uint32_t place = 0;
  for (const std::uint32_t room : map.room.cells)
    if (room > 0) rooms[room - 1].push_back(place++);
  return rooms;
}

/// The whole plan as its one room.
[[nodiscard]] inline RoomPlaces one_room(std::size_t cells) {
  RoomPlaces rooms(1, CellPlaces(cells));
  std::iota(rooms.front().begin(), rooms.front().end(), 0U);
  return rooms;
}

template <class Value>
[[nodiscard]] std::vector<Value> values_at(const CellPlaces& places,
                                           const std::vector<Value>& cells) {
  std::vector<Value> values;
  values.reserve(places.size());
  for (const std::uint32_t place : places) values.push_back(cells[place]);
  return values;
}

}  // namespace wallheat
