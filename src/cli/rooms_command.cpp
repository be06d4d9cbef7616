#include <fmt/format.h>

#include <cstdint>
#include <iostream>
#include <limits>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/question_options.hpp"
#include "cli/result_file.hpp"
#include "report/room_table.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

enum class RoomFormat { table, csv, json };

/// The chosen rooms in their order. Where they are not sorted, no more than their numbers are in
/// memory.
RoomRows chosen_rooms(const ResultReader& reader, const RoomRows& rooms,
                      const std::vector<std::size_t>& chosen, double cell_metres) {
  return [&, cell_metres](const auto& take) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> places;  // row, room
    rooms([&](const RoomRow& row) { places.emplace_back(row.room.plan, row.room.room); });
    std::size_t read = SIZE_MAX;
    PlanResult plan;
    for (const std::size_t k : chosen) {
      const auto [row, room] = places[k];
      if (read != row) {
        read = row;
        plan = reader.row(row);
        plan.rooms = reader.rooms(row);
      }
      take({plan.id, plan.rooms.at(room - 1), cell_metres});
    }
  };
}

}  // namespace

int rooms_command(const Arguments& arguments) {
  std::string file;
  RowChoice choice;
  std::string format_name;
  constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
  std::int64_t first = all;
  bool json = false;
  CellSizeOption cell_size;
  Options options("rooms FILE [options]",
                  "Lists the rooms of a result file whose run had --rooms: which are too cold?\nAs "
                  "a table, as CSV that spreadsheets and pandas read without options, or as JSON.");
  declare_result_file(options, file);
  options.add("where", value(choice.where, "FORMULA"),
              "only rooms for which this holds, as 'mean_temp < 18 and cells > 100' or "
              "'id(\"00003\")'; written as for 'wallheat list'");
  options.add("sort", value(choice.sort, "FORMULA"),
              "ascending by this column or formula; with a - in front, descending");
  options.add("first,n", value(first, "N", all, "all"), "so many rooms at most");
  cell_size.declare(options);
  options.add("format,f", value(format_name, "NAME", "table"), "table, csv or json");
  options.add("json", flag(json), "the same as --format json");
  options.words("format", {"table", "csv", "json"});
  std::vector<std::string> names;
  for (const RoomColumn& column : room_columns(true)) names.push_back(column.name);
  options.words("sort", names);
  if (!options.parse(arguments)) return exit_done;
  if (json) format_name = "json";
  const auto format = choose<RoomFormat>(
      "format", format_name,
      {{"table", RoomFormat::table}, {"csv", RoomFormat::csv}, {"json", RoomFormat::json}});
  if (first < 1) throw UsageError("--first must be at least 1");
  choice.first = static_cast<std::size_t>(first);
  const double metres = cell_size.metres();

  const ResultReader reader = open_result_file(file);
  if (!reader.has_rooms()) throw RunError(fmt::format("{} has no rooms: run with --rooms", file));
  const RoomRows rooms = rooms_of(reader, metres);
  const std::vector<std::size_t> chosen = chosen_rows(rooms, choice);
  if (chosen.empty() && !choice.where.empty())
    throw RunError(fmt::format("--where '{}' holds for no room of {}", choice.where, file));
  const RoomRows shown = chosen_rooms(reader, rooms, chosen, metres);
  const auto columns = room_columns(metres > 0);
  switch (format) {
    case RoomFormat::table:
      print_rows(shown, columns);
      break;
    case RoomFormat::csv:
      write_csv(std::cout, shown, columns);
      break;
    case RoomFormat::json:
      write_json(std::cout, shown, columns);
      break;
  }
  return exit_done;
}

}  // namespace wallheat
