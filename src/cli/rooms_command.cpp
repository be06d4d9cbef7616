#include <fmt/format.h>

#include <cstdint>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/question_options.hpp"
#include "cli/result_file.hpp"
#include "report/room_table.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

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
  ListForm form;
  CellSizeOption cell_size;
  Options options("rooms FILE [options]",
                  "Lists the rooms of a result file whose run had --rooms: which are too cold?\nAs "
                  "a table, as CSV that spreadsheets and pandas read without options, or as JSON.",
                  {"wallheat rooms steady.h5 --where 'mean_temp < 12' --sort mean_temp",
                   "wallheat rooms steady.h5 --sort -max_temp --first 3 -f csv"});
  declare_result_file(options, file);
  options.add(
      "where", value(choice.where, "FORMULA"),
      "only rooms for which this holds, as mean_temp < 18 and cells > 100, or id = '00003'; "
      "written as for 'wallheat list'");
  options.add("sort", value(choice.sort, "FORMULA"),
              "ascending by this column or formula; with a - in front, descending");
  cell_size.declare(options);
  form.declare(options, "rooms");
  std::vector<std::string> names;
  for (const RoomColumn& column : room_columns(true)) names.push_back(column.name);
  options.words("sort", names);
  if (!options.parse(arguments)) return exit_done;
  form.finish(choice);
  const double metres = cell_size.metres();

  const ResultReader reader = open_result_file(file);
  if (!reader.has_rooms()) throw RunError(fmt::format("{} has no rooms: run with --rooms", file));
  const RoomRows rooms = rooms_of(reader, metres);
  const std::vector<std::size_t> chosen = chosen_rows(rooms, choice);
  if (chosen.empty() && !choice.where.empty())
    throw RunError(fmt::format("--where '{}' holds for no room of {}", choice.where, file));
  const RoomRows shown = chosen_rooms(reader, rooms, chosen, metres);
  const auto columns = room_columns(metres > 0);
  form.print(shown, columns);
  return exit_done;
}

}  // namespace wallheat
