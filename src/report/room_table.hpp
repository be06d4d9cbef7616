#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "report/row_table.hpp"
#include "wallheat/result_reader.hpp"
#include "wallheat/rooms.hpp"

namespace wallheat {

/// A room as it is shown.
struct RoomRow {
  std::string id;  ///< of its plan
  RoomResult room;
  double cell_metres = 0;  ///< width of a cell; 0: unknown

  [[nodiscard]] double pct_above() const { return percent(room.cells_above); }
  [[nodiscard]] double pct_below() const { return percent(room.cells_below); }
  /// m²; NaN where the width of a cell is unknown.
  [[nodiscard]] double area_m2() const;

 private:
  [[nodiscard]] double percent(std::uint32_t cells) const {
    return 100 * static_cast<double>(cells) / static_cast<double>(room.cells);
  }
};

using RoomColumn = Column<RoomRow>;
using RoomRows = Records<RoomRow>;

/// All columns of rooms, with `area_m2` only where the width of a cell is known.
[[nodiscard]] std::vector<RoomColumn> room_columns(bool with_area);

/// All rooms of a file, in order. `reader` must live as long. Throws RunError where the file has
/// none, or damaged ones.
[[nodiscard]] RoomRows rooms_of(const ResultReader& reader, double cell_metres = 0);
/// Those of one plan.
[[nodiscard]] RoomRows rooms_of(std::shared_ptr<const PlanResult> plan, double cell_metres = 0);

}  // namespace wallheat
