#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "report/report.hpp"
#include "wallheat/result_reader.hpp"
#include "wallheat/rooms.hpp"

// The division of plans into rooms, in the output of commands: door width, small rooms, names.

namespace wallheat {

/// Rooms with fewer cells are mostly corners that walls cut off. Reports suggest to exclude them.
inline constexpr std::uint32_t corner_cells = 20;

/// Numbers of rooms of one or more plans.
struct RoomCounts {
  std::size_t counted = 0;  ///< rooms with at least min_cells cells
  std::size_t small = 0;    ///< smaller rooms
  std::size_t corners = 0;  ///< counted rooms with fewer than corner_cells cells

  void add(std::size_t cells, std::size_t min_cells);
  /// Returns which rooms are counted, as a suffix of their number; an empty string if all are
  /// counted and none is a corner.
  [[nodiscard]] std::string suffix(std::size_t min_cells) const;
};

/// Returns a door width, such as "4 cells (0.2 m)".
[[nodiscard]] std::string door_text(std::uint32_t door_cells, double cell_metres);
/// Returns the door width as a suffix of a number of rooms, such as ", divided at openings of up to
/// 4 cells (0.2 m), the default; --door sets the width". `door_cells` is nullopt if the default
/// differs between plans. `cell_metres` is the width of a cell in m; 0: unknown.
[[nodiscard]] std::string door_suffix(std::optional<std::uint32_t> door_cells, bool is_default,
                                      double cell_metres);
/// Returns the door width with which the rooms of a result file were computed, in cells; nullopt if
/// it differs between the plans, or if no plan is solved. The file must have rooms. `file` is used
/// in messages. Throws RunError if the setting is invalid.
[[nodiscard]] std::optional<std::uint32_t> recorded_door_cells(const std::string& file,
                                                               const ResultReader& reader);
/// Adds this door width to the JSON output, in cells and in m.
void add_door_facts(std::optional<std::uint32_t> door_cells, double cell_metres, Report& report);
/// Returns the door width of plans, in cells; nullopt if it differs between them, or if there are
/// none.
template <class Plans>
[[nodiscard]] std::optional<std::uint32_t> common_door_cells(const Plans& plans) {
  std::optional<std::uint32_t> door_cells;
  for (const auto& plan : plans) {
    if (door_cells.value_or(plan.door_cells) != plan.door_cells) return std::nullopt;
    door_cells = plan.door_cells;
  }
  return door_cells;
}

/// Returns the numbers of rooms into which a door width divides an interior, without corners.
[[nodiscard]] RoomCounts count_rooms(const Grid<std::uint8_t>& interior, std::uint32_t door_cells);

/// A door width, and the number of rooms into which it divides a plan.
struct Division {
  std::uint32_t door_cells = 0;
  std::size_t rooms = 0;  ///< without corners
};
/// Returns an even door width above `from` that divides the interior of a plan, whereas the next
/// smaller even width does not (map_rooms() treats an odd width as the next even one). Returns
/// nullopt if no width up to a tenth of the longer side divides it. Tries at most about 60 widths,
/// because each takes time proportional to the number of cells: on a side of more than 1000 cells,
/// it tries all even widths only near the first one that divides the plan.
[[nodiscard]] std::optional<Division> find_division(const Grid<std::uint8_t>& interior,
                                                    std::uint32_t from);
/// Returns a message on a plan that the default door width does not divide.
[[nodiscard]] std::string division_text(const Division& division, std::uint32_t default_cells,
                                        double cell_metres);
/// Names of rooms by the numbers of the rooms in a RoomMap.
using RoomNames = std::map<std::uint32_t, std::string>;

/// Parses a CSV file that names rooms: each line contains a point in a room, and the name of this
/// room. A point identifies a room even if a drawing is changed so that rooms get other numbers.
///   - The header is `x,y,name`, in cells, or `x_m,y_m,name`, in m. x extends to the right and y
///     downwards from the upper left corner of the plan, as in drawing programs.
///   - The separator is the comma or, for spreadsheets whose decimal mark is a comma, the
///   semicolon.
///   - Names may be quoted. Empty lines and a byte-order mark are ignored.
///
/// Throws RunError, with a message that contains the file and the line, if a line is invalid, if a
/// point is not in a room of at least `min_cells` cells, if a room gets two names, or if points are
/// in m and `cell_metres` is 0.
[[nodiscard]] RoomNames parse_room_names(const std::string& file, std::string_view text,
                                         const RoomMap& map, std::size_t min_cells,
                                         double cell_metres);

}  // namespace wallheat
