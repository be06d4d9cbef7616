#pragma once

#include <cstddef>
#include <utility>

#include "wallheat/rooms.hpp"

namespace wallheat {

/// Calls visit(name, member, meaning) for each column of a room, in order: `member` points to it.
/// This list is the columns' only home: result files, messages, tables and formulas are made from
/// it, and a test compares the documents with it.
template <class Visit>
constexpr void for_each_room_column(Visit&& visit) {
  visit("plan", &RoomResult::plan, "number of its plan's row in /rows");
  visit("room", &RoomResult::room, "from 1 on, in reading order of the rooms' first cells");
  visit("mean_temp", &RoomResult::mean_temp, "°C, over its cells");
  visit("min_temp", &RoomResult::min_temp, "°C");
  visit("max_temp", &RoomResult::max_temp, "°C");
  visit("cells", &RoomResult::cells, "cells");
  visit("cells_above", &RoomResult::cells_above, "cells above the threshold (18 °C)");
  visit("cells_below", &RoomResult::cells_below, "cells below the threshold (15 °C)");
  visit("first_row", &RoomResult::first_row, "of its box");
  visit("first_col", &RoomResult::first_col, "of its box");
  visit("last_row", &RoomResult::last_row, "of its box");
  visit("last_col", &RoomResult::last_col, "of its box");
  visit("centre_row", &RoomResult::centre_row, "mean row of its cells");
  visit("centre_col", &RoomResult::centre_col, "mean column of its cells");
  visit("room_crc32", &RoomResult::room_crc32, "of all bytes of the room before it");
}

static_assert(
    [] {
      std::size_t bytes = 0;
      for_each_room_column([&](const char*, auto member, const char*) {
        bytes += sizeof(std::declval<RoomResult>().*member);
      });
      return bytes;
    }() == sizeof(RoomResult),
    "a gap in RoomResult would store, and check, undefined bytes");

}  // namespace wallheat
