#include "report/room_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Splits a line of CSV. A cell in quotes may contain separators, and quotes twice (RFC 4180).
std::vector<std::string> split_quoted(std::string_view line, char separator) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      const bool is_double = is_quoted && i + 1 < line.size() && line[i + 1] == '"';
      if (is_double) cells.back() += line[++i];
      if (!is_double) is_quoted = !is_quoted;
    } else if (line[i] == separator && !is_quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  for (std::string& cell : cells) {
    cell.erase(0, cell.find_first_not_of(" \t"));
    cell.erase(cell.find_last_not_of(" \t") + 1);
  }
  return cells;
}

/// Header of a file of room names.
struct RoomFileHeader {
  char separator = ',';
  bool is_in_metres = false;
};

std::optional<RoomFileHeader> parse_room_header(std::string_view line) {
  const char separator = line.find(';') == std::string_view::npos ? ',' : ';';
  const std::vector<std::string> names = split_quoted(line, separator);
  if (names == std::vector<std::string>{"x", "y", "name"}) return RoomFileHeader{separator, false};
  if (names == std::vector<std::string>{"x_m", "y_m", "name"})
    return RoomFileHeader{separator, true};
  return std::nullopt;
}

}  // namespace

void RoomCounts::add(std::size_t cells, std::size_t min_cells) {
  if (cells < min_cells) {
    ++small;
    return;
  }
  ++counted;
  if (cells < corner_cells) ++corners;
}

std::string RoomCounts::suffix(std::size_t min_cells) const {
  std::string text;
  if (min_cells > 1) text = fmt::format(" of at least {} cells; {} smaller", min_cells, small);
  if (corners > 0)
    text += fmt::format("{} {} of fewer than {} cells (--min-cells {} excludes such corners)",
                        text.empty() ? "," : ";", corners, corner_cells, corner_cells);
  return text;
}

namespace {

/// Returns the numbers of cells of the rooms, by their numbers from 1.
std::vector<std::size_t> room_sizes(const RoomMap& map) {
  std::vector<std::size_t> cells(map.room_count + 1);
  for (const std::uint32_t room : map.labels.cells) ++cells[room];
  return cells;
}

}  // namespace

std::string door_text(std::uint32_t door_cells, double cell_metres) {
  return count_text(door_cells, "cell") +
         (cell_metres > 0 ? fmt::format(" ({:.3g} m)", door_cells * cell_metres) : "");
}

RoomCounts count_rooms(const Grid<std::uint8_t>& interior, std::uint32_t door_cells) {
  RoomCounts counts;
  const auto sizes = room_sizes(map_rooms(interior, door_cells));
  for (std::size_t room = 1; room < sizes.size(); ++room) counts.add(sizes[room], corner_cells);
  return counts;
}

std::optional<Division> find_division(const Grid<std::uint8_t>& interior, std::uint32_t from) {
  const auto side = static_cast<std::uint32_t>(std::max(interior.rows, interior.cols));
  constexpr std::uint32_t max_exact_side = 1000;
  std::uint32_t step = 1 + side / max_exact_side;
  const std::uint32_t max = std::min(side / 10, max_door_cells) / 2;
  std::uint32_t half = (from + 1) / 2;  // of the largest width that does not divide the plan
  while (half + step <= max) {
    const std::size_t rooms = count_rooms(interior, 2 * (half + step)).counted;
    if (rooms < 2)
      half += step;
    else if (step > 1)
      step = 1;  // to try the widths that were skipped
    else
      return Division{2 * (half + 1), rooms};
  }
  return std::nullopt;
}

std::string division_text(const Division& division, std::uint32_t default_cells,
                          double cell_metres) {
  return fmt::format(
      "the plan is one room, because its openings are wider than the default door width of {}; the "
      "smallest width that divides it, into {}, is {}: --door {}",
      door_text(default_cells, cell_metres), count_text(division.rooms, "room"),
      door_text(division.door_cells, cell_metres), division.door_cells);
}

std::string door_suffix(std::optional<std::uint32_t> door_cells, bool is_default,
                        double cell_metres) {
  if (door_cells == 0U) return ", divided by walls only";
  const std::string width =
      door_cells ? door_text(*door_cells, cell_metres) : "1/50 of the longer side of each plan";
  return fmt::format(", divided at openings of up to {}{}", width,
                     is_default ? ", the default; --door sets the width" : "");
}

std::optional<std::uint32_t> recorded_door_cells(const std::string& file,
                                                 const ResultReader& reader) {
  const std::optional<Door> door = recorded_solver(file, reader.settings()).door;
  if (!door) throw RunError(file + " contains no rooms");
  if (*door != Door()) return static_cast<std::uint32_t>(door->cells);
  std::set<std::uint32_t> widths;
  reader.for_each_row([&](const PlanResult& row) {
    if (is_solved(row.status)) widths.insert(door->of({row.rows, row.cols}));
  });
  return widths.size() == 1 ? std::optional(*widths.begin()) : std::nullopt;
}

void add_door_facts(std::optional<std::uint32_t> door_cells, double cell_metres, Report& report) {
  report.add_json_fact("door_cells", door_cells);
  report.add_json_fact("door_m",
                       door_cells && cell_metres > 0 ? Value(*door_cells * cell_metres) : Value());
}

RoomNames parse_room_names(const std::string& file, std::string_view text, const RoomMap& map,
                           std::size_t min_cells, double cell_metres) {
  const std::vector<std::size_t> cells = room_sizes(map);
  std::optional<RoomFileHeader> header;
  RoomNames names;
  std::size_t number = 0;
  const auto fail = [&](const std::string& problem) {
    throw RunError(fmt::format("{}: line {}: {}", file, number, problem));
  };
  const auto coordinate_of = [&](std::string cell) {
    if (header->separator == ';') std::ranges::replace(cell, ',', '.');
    const double value = parse_number<double>(cell).value_or(NAN);
    if (!std::isfinite(value))
      fail(fmt::format("'{}' is not a number", escape_control_chars(cell)));
    return std::floor(header->is_in_metres ? value / cell_metres : value);
  };
  text = without_byte_order_mark(text);
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    if (line.empty()) continue;
    if (!header) {
      header = parse_room_header(line);
      if (!header) fail("the header must be x,y,name (in cells) or x_m,y_m,name (in metres)");
      if (header->is_in_metres && !(cell_metres > 0))
        fail("points in metres require the width of a cell; use --cell-size");
      continue;
    }
    const std::vector<std::string> values = split_quoted(line, header->separator);
    if (values.size() != 3)
      fail(fmt::format("expected 3 values, got {}; put a name with '{}' in quotes", values.size(),
                       header->separator));
    if (values[2].empty()) fail("the name is empty");
    if (escape_control_chars(values[2]) != values[2])
      fail("the name contains control characters, or is not UTF-8; save the file as UTF-8");
    const double col = coordinate_of(values[0]);
    const double row = coordinate_of(values[1]);
    const std::string point = fmt::format("the point ({}, {})", values[0], values[1]);
    const Grid<std::uint32_t>& labels = map.labels;
    if (row < 0 || col < 0 || row >= static_cast<double>(labels.rows) ||
        col >= static_cast<double>(labels.cols))
      fail(fmt::format("{} is outside the plan of {} x {} cells (width x height)", point,
                       labels.cols, labels.rows));
    const std::uint32_t room = labels(static_cast<std::size_t>(row), static_cast<std::size_t>(col));
    if (room == 0) fail(point + " is in a wall or outside the building, not in a room");
    if (cells[room] < min_cells)
      fail(fmt::format("{} is in a room of {}, which --min-cells {} excludes", point,
                       count_text(cells[room], "cell"), min_cells));
    const auto [named, is_new] = names.emplace(room, values[2]);
    if (!is_new)
      fail(
          fmt::format("'{}' and '{}' are in one room, number {}; if a door is between them, "
                      "--door must be at least its width",
                      named->second, values[2], room));
  }
  if (!header) throw RunError(file + ": there is no header; expected x,y,name or x_m,y_m,name");
  return names;
}

}  // namespace wallheat
