#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "cli/commands.hpp"
#include "cli/plan_options.hpp"
#include "core/npy.hpp"
#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"
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

/// Formats of numbers: all digits in the output of the command, rounded on a page.
struct NumberStyle {
  ValueStyle celsius{ValueFormat::round_trip, 0, "°C"};
  ValueStyle percent{ValueFormat::round_trip, 0, "%"};
  ValueStyle small_celsius = celsius;  ///< for deltas and error bounds
};
const NumberStyle all_digits;
const NumberStyle rounded{{ValueFormat::decimals, 2, "°C"},
                          {ValueFormat::decimals, 1, "%"},
                          {ValueFormat::digits, 2, "°C"}};

/// Adds the error bound or the error estimate, and what follows from it.
void add_certainty(const PlanResult& result, const Thresholds& thresholds, const NumberStyle& style,
                   Report& report) {
  const bool is_proven = !std::isnan(result.error_bound);
  report.add_fact("error_bound", is_proven ? "error bound" : "", result.error_bound,
                  style.small_celsius, ", proven");
  const bool is_estimated = !is_proven && result.status != PlanStatus::empty;
  const bool is_known = std::isfinite(result.error_estimate);
  std::string more = is_known ? "" : ", because there were too few iterations";
  if (is_far_from_steady(result)) more += fmt::format(": {}", far_from_steady);
  report.add_fact("error_estimate", is_estimated ? "error estimate" : "",
                  is_known ? result.error_estimate : nan_value, {ValueFormat::digits, 2, "°C"},
                  more);
  if (result.fell_back != 0)
    report.add(Fact{"", "fell back",
                    "to plain iterations, because jumps save nothing or cannot prove convergence"});
  const ValueStyle number{style.percent.form, style.percent.digits};
  report.add_fact("uncertain_cells", result.uncertain_cells > 0 ? "uncertain" : "",
                  result.uncertain_cells, {.unit = result.uncertain_cells == 1 ? "cell" : "cells"},
                  fmt::format(": above {} °C {} to {}, below {} °C {} to {}", thresholds.above,
                              value_text(result.pct_above_lower, number),
                              value_text(result.pct_above_upper, style.percent), thresholds.below,
                              value_text(result.pct_below_lower, number),
                              value_text(result.pct_below_upper, style.percent)));
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

/// Returns the table of a plan's rooms for a page, with the columns that are useful next to a
/// picture with room numbers.
Table room_page_table(const PlanResult& result, const Thresholds& thresholds, double cell_metres) {
  const std::string area = cell_metres > 0 ? "area_m2" : "cells";
  Table table =
      table_of("rooms", rooms_of(result),
               parse_columns("", "room,mean_temp,min_temp,max_temp,pct_above,pct_below," + area,
                             room_columns(cell_metres)));
  table.name = "rooms";
  const ValueStyle celsius{ValueFormat::decimals, 1, "°C"};
  const ValueStyle percent{ValueFormat::decimals, 0, "%"};
  const std::vector<std::pair<std::string, ValueStyle>> heads{
      {"room", {}},
      {"mean", celsius},
      {"coldest", celsius},
      {"warmest", celsius},
      {fmt::format("above {} °C", thresholds.above), percent},
      {fmt::format("below {} °C", thresholds.below), percent},
      {cell_metres > 0 ? "area" : "cells",
       cell_metres > 0 ? ValueStyle{ValueFormat::decimals, 2, "m²"} : ValueStyle{}}};
  for (std::size_t i = 0; i < heads.size(); ++i)
    std::tie(table.columns[i].name, table.columns[i].style) = heads[i];
  return table;
}

/// Returns the output of the command, or with `is_page` the content of its page, without the table
/// of rooms.
Report solution_report(const PlanResult& result, const SolverOptions& solver, double cell_metres,
                       bool is_page) {
  const NumberStyle& style = is_page ? rounded : all_digits;
  const bool is_empty = result.status == PlanStatus::empty;
  const auto name = [&](const std::string& text) { return is_empty ? "" : text; };
  Report report{"plan " + result.id};
  report.add_fact("id", "plan", result.id, {},
                  fmt::format(" ({} x {} cells, {} interior)", result.rows, result.cols,
                              result.interior_cells));
  report.add_fact(
      "status", "status", to_string(result.status), {},
      is_empty ? ": the plan has no interior cells"
               : fmt::format(" after {}, last delta {}",
                             count_text(static_cast<std::size_t>(result.iterations), "iteration"),
                             value_text(result.last_delta, style.small_celsius)));
  const Statistics& statistics = result.statistics;
  report.add_fact("mean_temp", name("mean temperature"), statistics.mean_temp, style.celsius);
  report.add(
      Fact{"std_temp", name("std deviation"), statistics.std_temp, style.celsius, " (population)"});
  const auto [above, below] = solver.thresholds;
  report.add_json_fact("above", above);
  report.add_json_fact("below", below);
  report.add_fact("pct_above", name(fmt::format("above {} °C", above)), statistics.pct_above,
                  style.percent);
  report.add_fact("pct_below", name(fmt::format("below {} °C", below)), statistics.pct_below,
                  style.percent);
  add_certainty(result, solver.thresholds, style, report);
  report.add_fact("cpu_s", name("solved in"), result.cpu_s, {ValueFormat::decimals, 4, "s"},
                  speed_of(result, solver));
  // Values that the text output contains only in the remarks on other values.
  for (const RowColumn& column :
       parse_columns("",
                     "rows,cols,interior_cells,iterations,last_delta,fell_back,pct_above_lower,"
                     "pct_above_upper,pct_below_lower,pct_below_upper,seconds,device,solver",
                     all_columns()))
    report.add_json_fact(column.head.key, column.value(result));
  if (cell_metres > 0)
    report.add_fact("area_m2", name("area"),
                    static_cast<double>(result.interior_cells) * cell_metres * cell_metres,
                    {ValueFormat::digits, 5, "m²"});
  if (!solver.door) return report;
  const std::uint32_t door = solver.door->of(
      {static_cast<std::size_t>(result.rows), static_cast<std::size_t>(result.cols)});
  const std::string metres = cell_metres > 0 ? fmt::format(" ({:.3g} m)", door * cell_metres) : "";
  report.add_text_fact(name("rooms"), result.rooms.size(),
                       door == 0 ? ", divided at walls only"
                                 : fmt::format(", divided at openings of up to {}{}",
                                               count_text(door, "cell"), metres));
  report.add_json_fact("door_cells", door);
  return report;
}

/// Returns the picture of a solved plan: its initial field, its solution, and its rooms if `door`
/// is set.
FieldPicture solution_picture(const FloorPlan& plan, const Grid<std::uint8_t>& building,
                              const Grid<double>& solution, const PlanResult& result,
                              const std::optional<Door>& door) {
  FieldPicture picture = plan_picture("plan " + result.id, plan, building, solution,
                                      solution_caption(result.solver, result.iterations));
  if (!door) return picture;
  const RoomMap map = map_rooms(plan.interior, door->of({plan.interior.rows, plan.interior.cols}));
  picture.panels.push_back(
      rooms_panel(count_text(result.rooms.size(), "room") + ", by mean", map, result.rooms));
  ++picture.columns;
  return picture;
}

/// Returns a picture as a figure that is as wide as a page, whose heading replaces its title.
Figure picture_on_page(FieldPicture picture) {
  constexpr int page_width = 930;
  constexpr int max_height = 2000;
  picture.title.clear();
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
  double cell_metres = 0;
  options.describe("ID --data PLANS [options]", "Solves one floor plan and prints its statistics.",
                   {"wallheat solve 00001 --data plans",
                    "wallheat solve 00001 --data plans --solver steady --png plan.png"});
  options.add("id", value(id, "ID").positional().required(),
              "ID of the plan (also as an argument)");
  declare_data(options, data);
  options.add("png", file(png, FileRole::replaced_picture),
              "draw initial field and solution side by side to FILE; its suffix determines the "
              "format: PNG, SVG or PDF; --page shows them, too, with rounded numbers");
  options.add("npy", output_file(npy, npy::magic),
              "store the solution as a NumPy array, float64 in °C");
  declare_problem_options(options, solver);
  declare_cell_size(options, cell_metres);
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
  Report report = solution_report(result, solver, cell_metres, false);
  if (solver.door) {
    std::vector<RowColumn> columns = room_columns(cell_metres);
    add_threshold_columns(solver.thresholds, columns);
    report.add(table_of("rooms", rooms_of(result), columns));
  }
  FieldPicture picture;
  if (!png.empty() || options.was_given("page"))
    picture = solution_picture(plan, building, solution->field, result, solver.door);
  if (!png.empty()) {
    write_output(png, picture.draw(plot_format("png", png)));
    report.add_fact("png", "picture", png.string());
  }
  report.for_page = [result, solver, cell_metres, figure = picture_on_page(std::move(picture))] {
    Report page = solution_report(result, solver, cell_metres, true);
    page.add(figure);
    if (solver.door) page.add(room_page_table(result, solver.thresholds, cell_metres));
    return page;
  };
  if (!npy.empty()) {
    write_output(npy, npy::to_bytes(solution->field));
    report.add_fact("npy", "array", npy.string());
  }
  return report;
}

}  // namespace wallheat
