#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "cli/commands.hpp"
#include "cli/drawing_record.hpp"
#include "cli/plan_options.hpp"
#include "core/cell_statistics.hpp"
#include "core/npy.hpp"
#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"
#include "io/files.hpp"
#include "io/standard_streams.hpp"
#include "isolation/task_runner.hpp"
#include "plans/plan_source.hpp"
#include "report/field_picture.hpp"
#include "report/row_table.hpp"
#include "run/plan_selection.hpp"
#include "view/advice.hpp"
#include "view/output_file.hpp"

namespace wallheat {
namespace {

const ValueStyle celsius{temperature_format.form, temperature_format.digits, "°C"};
const ValueStyle small_celsius{ValueFormat::digits, 2, "°C"};  ///< for deltas and error bounds
const ValueStyle percent{ValueFormat::decimals, 2, "%"};

constexpr const char* fallback_name = "fell back";  ///< name of a fact

/// Adds the error bound or the error estimate, and what follows from it.
void add_certainty(const PlanResult& result, const Thresholds& thresholds, Report& report) {
  const bool is_proven = !std::isnan(result.error_bound);
  report.add_fact("error_bound", is_proven ? "error bound" : "", result.error_bound, small_celsius,
                  ", proven");
  const bool is_estimated = !is_proven && result.status != PlanStatus::empty;
  const bool is_known = std::isfinite(result.error_estimate);
  std::string more = is_known ? "" : ", because there were too few iterations";
  if (is_far_from_steady(result))
    more += fmt::format(": {}", far_from_steady_remark(is_solver_command(result.solver)));
  report.add_fact("error_estimate", is_estimated ? "error estimate" : "",
                  is_known ? result.error_estimate : nan_value, small_celsius, more);
  if (result.fell_back != 0)
    report.add(Fact{"", fallback_name,
                    "to plain iterations, because jumps save nothing or cannot prove convergence"});
  const ValueStyle number{percent.form, percent.digits};
  report.add_fact("uncertain_cells", result.uncertain_cells > 0 ? "uncertain" : "",
                  result.uncertain_cells, {.unit = result.uncertain_cells == 1 ? "cell" : "cells"},
                  fmt::format(": above {} °C {} to {}, below {} °C {} to {}", thresholds.above,
                              value_text(result.pct_above_lower, number),
                              value_text(result.pct_above_upper, percent), thresholds.below,
                              value_text(result.pct_below_lower, number),
                              value_text(result.pct_below_upper, percent)));
}

/// Returns the speed of the solver, for the text output.
std::string speed_of(const PlanResult& result, const SolverOptions& solver) {
  std::string text = fmt::format(" of CPU time, {:.4f} s of wall time, by {} on {}", result.seconds,
                                 to_string(solver.kind), result.device);
  if (solver.kind != SolverKind::jacobi) return text;
  const double updates =
      static_cast<double>(result.interior_cells) * static_cast<double>(result.iterations);
  return text + fmt::format(", {:.2f} G interior cell updates/s", updates / result.cpu_s * 1e-9);
}

/// The rooms of a plan, and which of them are shown.
struct PlanRooms {
  RoomMap map;
  RoomNames names;
  std::size_t min_cells = 1;  ///< smaller rooms are not counted
  double cell_metres = 0;     ///< width of a cell; 0: unknown

  /// Returns the name of a room; an empty string if it has none.
  [[nodiscard]] std::string name_of(std::uint32_t room) const {
    const auto name = names.find(room);
    return name == names.end() ? "" : name->second;
  }
  [[nodiscard]] Value area_of(std::int64_t cells) const {
    if (cell_metres > 0) return static_cast<double>(cells) * cell_metres * cell_metres;
    return cells;
  }
};

/// Returns the table of a plan's rooms, with all columns.
Table room_table(const PlanResult& result, const Thresholds& thresholds, const PlanRooms& rooms) {
  std::vector<RowColumn> columns = room_columns(rooms.cell_metres);
  if (!rooms.names.empty())
    columns.insert(std::ranges::find(columns, "room",
                                     [](const RowColumn& column) { return column.head.key; }) +
                       1,
                   {{"name", "name"}, true, false, [rooms](const PlanResult& row) {
                      return rooms.name_of(row.rooms.front().room);
                    }});
  add_threshold_columns(thresholds, columns);
  return table_of("rooms", rooms_of(result, rooms.min_cells), columns);
}

/// Returns the table of a plan's rooms for a page, with the columns that are useful next to a
/// picture with room numbers, and a row for the complete plan.
Table room_page_table(const PlanResult& result, const Thresholds& thresholds,
                      const PlanRooms& rooms) {
  const ValueStyle room_celsius{ValueFormat::decimals, 1, "°C"};
  const ValueStyle room_percent{ValueFormat::decimals, 0, "%"};
  const bool has_area = rooms.cell_metres > 0;
  Table table{"rooms",
              "rooms",
              {{"room", "room"},
               {"name", rooms.names.empty() ? "" : "name"},
               {has_area ? "area_m2" : "cells", has_area ? "area" : "cells",
                has_area ? ValueStyle{ValueFormat::decimals, 1, "m²"} : ValueStyle{}},
               {"mean_temp", "mean", room_celsius},
               {"min_temp", "minimum", room_celsius},
               {"max_temp", "maximum", room_celsius},
               {"pct_above", fmt::format("above {} °C", thresholds.above), room_percent},
               {"pct_below", fmt::format("below {} °C", thresholds.below), room_percent}}};
  double min_temp = nan_value;
  double max_temp = nan_value;
  for (const RoomResult& room : result.rooms) {
    min_temp = std::fmin(min_temp, room.min_temp);
    max_temp = std::fmax(max_temp, room.max_temp);
    if (room.cells < rooms.min_cells) continue;
    // The number is a string, as the last row has none.
    table.rows.push_back({std::to_string(room.room), rooms.name_of(room.room),
                          rooms.area_of(room.cells), room.mean_temp, room.min_temp, room.max_temp,
                          percent_of(room.cells_above, room.cells), pct_below(room)});
  }
  const Statistics& all = result.statistics;
  table.rows.push_back({"all", "", rooms.area_of(result.interior_cells), all.mean_temp, min_temp,
                        max_temp, all.pct_above, all.pct_below});
  return table;
}

/// Facts for readers of a page: the results, or the details of the calculation, which matter only
/// to readers who know the solvers.
enum class FactsOnPage { results, details };

/// Returns these facts of a report in text output as a table.
Table table_of_facts(const Report& report, FactsOnPage facts) {
  const bool are_details = facts == FactsOnPage::details;
  Table table{are_details ? "details" : "results",
              are_details ? "technical details" : "results",
              {{"property", "property"}, {"value", "value"}}};
  for (const auto& part : report.elements) {
    const auto* const fact = std::get_if<Fact>(&part);
    if (fact == nullptr || !fact->is_in_text()) continue;
    const bool is_detail =
        fact->key == "status" || fact->key == "cpu_s" || fact->name == fallback_name;
    if (is_detail == are_details)
      table.rows.push_back({fact->name, value_text(fact->value, fact->style) + fact->suffix});
  }
  return table;
}

/// Returns the output of the command without the table of rooms.
Report solution_report(const PlanResult& result, const SolverOptions& solver,
                       const PlanRooms& rooms) {
  const bool is_empty = result.status == PlanStatus::empty;
  const auto name = [&](const std::string& text) { return is_empty ? "" : text; };
  Report report{"plan " + result.id};
  report.add_fact("id", "plan", result.id, {},
                  fmt::format(", {} x {} cells (width x height), {} interior", result.cols,
                              result.rows, result.interior_cells));
  report.add_fact(
      "status", "status", to_string(result.status), {},
      is_empty ? ": the plan has no interior cells"
               : fmt::format(" after {}, last delta {}",
                             count_text(static_cast<std::size_t>(result.iterations), "iteration"),
                             value_text(result.last_delta, small_celsius)));
  const Statistics& statistics = result.statistics;
  report.add_fact("mean_temp", name("mean temperature"), statistics.mean_temp, celsius);
  report.add(
      Fact{"std_temp", name("std deviation"), statistics.std_temp, celsius, " (population)"});
  const auto [above, below] = solver.thresholds;
  report.add_json_fact("above", above);
  report.add_json_fact("below", below);
  report.add_fact("pct_above", name(fmt::format("above {} °C", above)), statistics.pct_above,
                  percent);
  report.add_fact("pct_below", name(fmt::format("below {} °C", below)), statistics.pct_below,
                  percent);
  add_certainty(result, solver.thresholds, report);
  report.add_fact("cpu_s", name("solved in"), result.cpu_s, {ValueFormat::decimals, 4, "s"},
                  speed_of(result, solver));
  // Values that the text output contains only in the remarks on other values.
  for (const RowColumn& column :
       parse_columns("",
                     "rows,cols,interior_cells,iterations,last_delta,fell_back,pct_above_lower,"
                     "pct_above_upper,pct_below_lower,pct_below_upper,seconds,device,solver",
                     all_columns()))
    report.add_json_fact(column.head.key, column.value(result));
  if (rooms.cell_metres > 0)
    report.add_fact("area_m2", name("area"), rooms.area_of(result.interior_cells),
                    {ValueFormat::digits, 5, "m²"});
  if (!solver.door) return report;
  const std::uint32_t door = solver.door->of(
      {static_cast<std::size_t>(result.rows), static_cast<std::size_t>(result.cols)});
  RoomCounts counts;
  for (const RoomResult& room : result.rooms) counts.add(room.cells, rooms.min_cells);
  report.add_text_fact(name("rooms"), counts.counted,
                       counts.suffix(rooms.min_cells) +
                           door_suffix(door, *solver.door == Door(), rooms.cell_metres));
  report.add_json_fact("min_cells", rooms.min_cells);
  report.add_json_fact("small_rooms", counts.small);
  report.add_json_fact("door_cells", door);
  return report;
}

/// Returns the caption of the solution for readers who do not know the solvers.
std::string temperature_caption(const PlanResult& result, SolverKind solver) {
  if (solver == SolverKind::steady) return "steady temperature";
  return "temperature after " +
         count_text(static_cast<std::size_t>(result.iterations), "iteration");
}

/// Returns the picture of a solved plan: its initial field, its solution, and its rooms if `rooms`
/// is set.
FieldPicture solution_picture(const FloorPlan& plan, const Grid<std::uint8_t>& building,
                              const Grid<double>& solution, const PlanResult& result,
                              const std::string& caption, const std::optional<PlanRooms>& rooms) {
  FieldPicture picture = plan_picture("plan " + result.id, plan, building, solution, caption);
  if (!rooms) return picture;
  const auto counted = std::ranges::count_if(
      result.rooms, [&](const RoomResult& room) { return room.cells >= rooms->min_cells; });
  picture.panels.push_back(
      rooms_panel(count_text(static_cast<std::size_t>(counted), "room") + ", mean temperatures",
                  rooms->map, result.rooms, rooms->min_cells, rooms->names));
  ++picture.columns;
  return picture;
}

/// Adds how the drawing of a plan was interpreted, including the door width of this solution.
void add_drawing(const DrawingRecord& record, const PlanResult& result, const Door& door,
                 double cell_metres, Report& page) {
  const std::uint32_t door_cells =
      door.of({static_cast<std::size_t>(result.rows), static_cast<std::size_t>(result.cols)});
  for (auto part : record.report.elements) {
    if (auto* const table = std::get_if<Table>(&part); table != nullptr && table->key == "drawing")
      table->rows.push_back({"rooms", door_suffix(door_cells, false, cell_metres).substr(2)});
    page.elements.push_back(std::move(part));
  }
}

/// Returns a picture as a figure that is as wide as a page, whose heading replaces its title.
Figure picture_on_page(FieldPicture picture) {
  constexpr int page_width = 930;
  constexpr int max_height = 2000;
  picture.title.clear();
  std::ranges::reverse(picture.panels);  // the most important ones first
  picture.size = {page_width, max_height};
  picture.columns = 2;
  return {.key = "fields",
          .name = "temperatures",
          .fields = std::make_shared<const FieldPicture>(std::move(picture))};
}

}  // namespace

Report solve_command(Options& options) {
  std::string id;
  std::filesystem::path data;
  std::filesystem::path png;
  std::filesystem::path npy;
  SolverOptions solver;
  PlanRooms shown;
  std::filesystem::path room_names;
  options.describe(
      "ID --data PLANS [options]",
      "Solves one floor plan and prints its statistics: rounded in text output, with all digits in "
      "JSON and CSV.",
      {"wallheat solve 00001 --data plans",
       "wallheat solve 00001 --data plans --solver steady --png plan.png"});
  options.add("id", value(id, "ID").positional().required(),
              "ID of the plan (also as an argument)");
  declare_data(options, data);
  options.add("png", file(png, FileRole::replaced_picture),
              "draw initial field and solution side by side to FILE; its suffix determines the "
              "format: PNG, SVG or PDF; --page shows them, too");
  options.add("npy", output_file(npy, npy::magic),
              "store the solution as a NumPy array, float64 in °C");
  declare_cell_size(options, shown.cell_metres, CellSizeUse::areas_and_doors, data,
                    [&id] { return unique_ids(StringList({id})); });
  declare_problem_options(options, solver, shown.cell_metres, {"door", "page", "room-names"});
  declare_min_cells(options, shown.min_cells);
  options.check([&] {
    if (shown.min_cells > 1 && !solver.door) throw UsageError("--min-cells requires --rooms");
  });
  options.add("room-names", file(room_names, FileRole::input),
              "CSV file with names of rooms: a line x,y,name for a point in each room, in cells "
              "from the upper left corner, or x_m,y_m,name in metres; the first line is this "
              "header. Files with semicolons and decimal commas are valid, too");
  declare_solver(options, solver, data);
  options.parse();
  const SharedPlanSource source = open_plan_source(data);
  require_plans(*source, {id});
  FloorPlan plan = source->load(id);
  const Grid<std::uint8_t> building = building_cells(plan);
  require_walls(*source, {id}, solver.walls);
  apply_wall_overrides(plan, solver.walls);
  if (plan.has_heat_source() && !solver.spacing_is_known)
    print_error("wallheat: {}", unknown_spacing);
  const auto drawing =
      options.was_given("page") ? read_drawing_record(data, id) : std::optional<DrawingRecord>();
  std::optional<PlanRooms> rooms;
  if (solver.door) {
    shown.map = map_rooms(plan.interior, solver.door->of({plan.interior.rows, plan.interior.cols}));
    if (!room_names.empty())
      shown.names = parse_room_names(room_names.string(), read_text_file(room_names.string()),
                                     shown.map, shown.min_cells, shown.cell_metres);
    rooms = shown;
    warn_of_default_door(plan, *solver.door, shown.cell_metres);
  }
  const auto start = std::chrono::steady_clock::now();
  const double cpu_start_s = thread_cpu_seconds();
  std::optional<Solution> solution;
  try {
    solution = solver.make()->solve(plan, solver.limits, {});
  } catch (const InputError& error) {
    throw InputError(fmt::format("plan {}: {}", id, error.what()));
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  PlanResult result;
  result.cpu_s = thread_cpu_seconds() - cpu_start_s;
  fill_result(plan, *solution, solver, result);
  result.id = id;
  result.seconds = seconds;
  result.device = solver.device_text();
  result.solver = solver.solver_text();
  const Report facts = solution_report(result, solver, shown);
  Report report = facts;
  if (rooms) report.add(room_table(result, solver.thresholds, *rooms));
  FieldPicture picture;
  if (!png.empty() || options.was_given("page"))
    picture = solution_picture(plan, building, solution->field, result,
                               temperature_caption(result, solver.kind), rooms);
  if (!png.empty()) {
    write_output(png, picture.draw(plot_format("png", png)));
    report.add_fact("png", "picture", png.string());
  }
  report.for_page = [result, solver, shown, drawing, facts,
                     figure = picture_on_page(std::move(picture))] {
    Report page;
    page.add(figure);
    page.add(room_page_table(result, solver.thresholds, shown));
    page.add(table_of_facts(facts, FactsOnPage::results));
    if (drawing) add_drawing(*drawing, result, *solver.door, shown.cell_metres, page);
    page.add(table_of_facts(facts, FactsOnPage::details));
    return page;
  };
  if (!npy.empty()) {
    write_output(npy, npy::to_bytes(solution->field));
    report.add_fact("npy", "array", npy.string());
  }
  return report;
}

}  // namespace wallheat
