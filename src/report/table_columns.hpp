#pragma once

#include "core/result_columns.hpp"
#include "core/room_columns.hpp"
#include "report/room_table.hpp"

namespace wallheat {

/// Calls visit(name, of) for each column that formulas know; of(row) is its value.
template <class Visit>
void for_each_column_of(const PlanResult*, const Visit& visit) {
  for_each_column([&](const auto& column) { visit(column.name, column.of); });
}
template <class Visit>
void for_each_column_of(const RoomRow*, const Visit& visit) {
  visit("id", [](const RoomRow& row) -> const std::string& { return row.id; });
  for_each_room_column([&](const char* name, auto member, const char*) {
    visit(name, [member](const RoomRow& row) { return row.room.*member; });
  });
  visit("pct_above", [](const RoomRow& row) { return row.pct_above(); });
  visit("pct_below", [](const RoomRow& row) { return row.pct_below(); });
  visit("area_m2", [](const RoomRow& row) { return row.area_m2(); });
}

}  // namespace wallheat
