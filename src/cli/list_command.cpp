#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/plan_options.hpp"
#include "cli/result_file.hpp"
#include "core/plan_ids.hpp"
#include "core/text.hpp"
#include "report/room_text.hpp"
#include "report/row_table.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using SharedReader = std::shared_ptr<const ResultReader>;

/// Returns the indices of the rows of these plans, without duplicates. Throws RunError if a plan is
/// not in the file.
std::vector<std::size_t> rows_of_plans(const std::string& file, const ResultReader& reader,
                                       const std::vector<std::string>& ids) {
  IdIndex named;
  for (const std::string& id : ids) named.add(id);
  std::vector<std::size_t> rows(named.size(), SIZE_MAX);
  std::size_t number = 0;
  reader.for_each_row([&](const PlanResult& row) {
    if (const auto index = named.find(row.id)) rows[*index] = number;
    ++number;
  });
  if (const auto none = std::ranges::find(rows, SIZE_MAX); none != rows.end())
    throw_unknown_plan(file, reader,
                       std::string(named[static_cast<std::size_t>(none - rows.begin())]));
  return rows;
}

/// Returns a table of the plans in `ids`, or of the selected plans in their order if `ids` is
/// empty.
Table plans_of_file(const std::string& file, const SharedReader& reader, const RowSelection& choice,
                    const std::vector<std::string>& ids, const std::vector<RowColumn>& columns) {
  auto selected =
      ids.empty() ? selected_rows(file, *reader, choice) : rows_of_plans(file, *reader, ids);
  selected.resize(std::min(selected.size(), choice.first));
  const bool all_in_order =
      ids.empty() && selected.size() == reader->count() && choice.sort.empty();
  if (all_in_order)
    return table_of("plans", Rows([reader](const auto& take) { reader->for_each_row(take); }),
                    columns);
  return table_of("plans", Rows([reader, selected](const auto& take) {
                    for (const std::size_t row : selected) take(reader->row(row));
                  }),
                  columns);
}

/// Returns the selected rooms in their order. Keeps only their indices in memory.
Rows chosen_rooms(const SharedReader& reader, std::size_t min_cells,
                  std::vector<std::size_t> chosen) {
  return [reader, min_cells, chosen = std::move(chosen)](const auto& take) {
    // Row index and room number.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> rooms_by_number;
    rooms_of(*reader, min_cells)([&](const PlanResult& row) {
      rooms_by_number.emplace_back(row.rooms.front().plan, row.rooms.front().room);
    });
    std::size_t read = SIZE_MAX;
    PlanResult plan;
    std::vector<RoomResult> rooms;
    for (const std::size_t k : chosen) {
      const auto [row, room] = rooms_by_number[k];
      if (read != row) {
        read = row;
        plan = reader->row(row);
        rooms = reader->rooms(row);
      }
      plan.rooms.assign(1, rooms.at(room - 1));
      take(plan);
    }
  };
}

Table rooms_of_file(const std::string& file, const SharedReader& reader, const RowSelection& choice,
                    double cell_metres, std::size_t min_cells,
                    const std::vector<RowColumn>& columns) {
  if (!reader->has_rooms())
    throw RunError(fmt::format("{} contains no rooms; run with --rooms", file));
  auto chosen = select_rows(rooms_of(*reader, min_cells), choice, room_columns(cell_metres));
  if (chosen.empty() && !choice.where.empty())
    throw RunError(fmt::format("--where '{}' matches no room of {} with at least {}", choice.where,
                               file, count_text(min_cells, "cell")));
  return table_of("rooms", chosen_rooms(reader, min_cells, std::move(chosen)), columns);
}

}  // namespace

Report list_command(Options& options) {
  std::string file;
  std::vector<std::string> ids;
  RowSelection choice;
  std::string column_names;
  bool rooms = false;
  double cell_metres = 0;
  std::size_t min_cells = 1;
  options.describe("FILE [ID ...] [options]",
                   "Lists plans of a result file, for example the coldest, the failed or the "
                   "slowest ones; or rooms, if the run had --rooms.",
                   {"wallheat list results.h5 --sort mean_temp --first 10",
                    "wallheat list steady.h5 --rooms --where 'mean_temp < 12' -f csv"});
  declare_result_file(options, file);
  options.add("id", value(ids, "ID").positional(), "ID of a plan to list (also as an argument)");
  declare_rows(options, choice, names_of(room_columns(1)));
  options.add("first,n", value(choice.first, "N", SIZE_MAX, "all").at_least(1),
              "list at most N rows");
  options.add(
      "columns", value(column_names, "NAMES"),
      "columns, separated by commas, or all, which omits columns that concern only the file, "
      "such as session and index (default: id, status, statistics, iterations and seconds; "
      "for rooms: all)");
  options.add(
      "rooms", flag(rooms),
      "list rooms; --where, --sort and --columns then use the columns of rooms. Areas in "
      "m² require --cell-size of the run, or here. Rooms have numbers only: 'wallheat solve "
      "--room-names' shows names");
  declare_cell_size(options, cell_metres);
  declare_min_cells(options, min_cells);
  options.add_dependency("rooms", {"cell-size", "min-cells"});
  options.add_conflict("id", {"where", "sort", "rooms"});
  options.parse();
  if (column_names.empty())
    column_names =
        rooms ? "all" : "id,status,mean_temp,std_temp,pct_above,pct_below,iterations,seconds";

  const auto reader = std::make_shared<const ResultReader>(open_result_file(file));
  if (!options.was_given("cell-size")) cell_metres = cell_size_of_runs(*reader);
  auto columns =
      parse_columns("columns", column_names,
                    rooms ? room_columns(cell_metres) : all_columns(column_names != "all"));
  const Thresholds thresholds = recorded_thresholds(file, reader->settings());
  Report report{std::filesystem::path(file).filename().string()};
  report.add_json_fact("above", thresholds.above);
  report.add_json_fact("below", thresholds.below);
  if (rooms) report.add_json_fact("min_cells", min_cells);
  const bool are_counted = add_threshold_columns(thresholds, columns);
  report.add(rooms ? rooms_of_file(file, reader, choice, cell_metres, min_cells, columns)
                   : plans_of_file(file, reader, choice, ids, columns));
  if (are_counted)
    report.add_note(fmt::format("Cells are counted above {} °C and below {} °C.", thresholds.above,
                                thresholds.below));
  if (!rooms) return report;
  const auto door_cells = recorded_door_cells(file, *reader);
  add_door_facts(door_cells, cell_metres, report);
  report.add_note(fmt::format("Rooms have at least {}{}.", count_text(min_cells, "cell"),
                              door_suffix(door_cells, false, cell_metres)));
  return report;
}

}  // namespace wallheat
