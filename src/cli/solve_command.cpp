#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>

#include "cli/command_files.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/question_options.hpp"
#include "cli/run_option_parser.hpp"
#include "core/answer.hpp"
#include "core/cpu_time.hpp"
#include "core/npy.hpp"
#include "core/printable.hpp"
#include "core/python_float.hpp"
#include "io/print_error.hpp"
#include "isolation/plan_job.hpp"
#include "plans/plan_source.hpp"
#include "report/field_picture.hpp"
#include "report/room_table.hpp"
#include "report/row_table.hpp"
#include "run/catalogue.hpp"
#include "view/advice.hpp"
#include "view/json.hpp"
#include "view/output_file.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

void print_estimate(const PlanResult& result) {
  std::string text = std::isfinite(result.error_estimate)
                         ? fmt::format("about {:.2g} °C", result.error_estimate)
                         : "unknown, as too few iterations were made";
  if (is_far_from_steady(result)) text += fmt::format(": {}", far_from_steady);
  print_fact("error estimate", text, 17);
}

/// What is known of the error, where the solver tells.
void print_certainty(const PlanResult& result, const Thresholds& thresholds) {
  if (!std::isnan(result.error_bound))
    fmt::print("error bound      {} °C, proven\n", python_float(result.error_bound));
  if (std::isnan(result.error_bound) && result.status != PlanStatus::empty) print_estimate(result);
  if (result.fell_back != 0)
    fmt::print("fell back        to the exact iteration, as jumps gain nothing or prove no end\n");
  if (result.cells_in_doubt > 0)
    fmt::print("in doubt         {} cell(s): above {} °C {} to {} %, below {} °C {} to {} %\n",
               result.cells_in_doubt, thresholds.above, python_float(result.pct_above_18_least),
               python_float(result.pct_above_18_most), thresholds.below,
               python_float(result.pct_below_15_least), python_float(result.pct_below_15_most));
}

void print_solve_for_people(const PlanResult& result, const SolverOptions& solver,
                            double cell_metres) {
  fmt::print("plan             {} ({} x {} cells, {} interior)\n", printable(result.id),
             result.rows, result.cols, result.interior_cells);
  if (result.status == PlanStatus::empty) {
    fmt::print("status           empty: there is no interior cell to solve for\n");
    return;
  }
  fmt::print("status           {} after {} iterations, last delta {} °C\n",
             to_string(result.status), result.iterations, python_float(result.last_delta));
  fmt::print("mean temperature {} °C\n", python_float(result.statistics.mean_temp));
  fmt::print("std deviation    {} °C (population)\n", python_float(result.statistics.std_temp));
  const auto [above, below] = solver.thresholds;
  print_fact(fmt::format("above {} °C", above),
             fmt::format("{} %", python_float(result.statistics.pct_above_18)), 17);
  print_fact(fmt::format("below {} °C", below),
             fmt::format("{} %", python_float(result.statistics.pct_below_15)), 17);
  print_certainty(result, solver.thresholds);
  const bool on_gpu = !result.device.starts_with("cpu");
  fmt::print("solved in        {:.4f} s of CPU time, {:.4f} s in all, by {} on {}", result.cpu_s,
             result.seconds, to_string(solver.kind), solver.device_text());
  if (solver.kind == SolverKind::jacobi)
    fmt::print(", {:.2f} G interior cell updates/s",
               static_cast<double>(result.interior_cells) * static_cast<double>(result.iterations) /
                   (on_gpu ? result.seconds : result.cpu_s) * 1e-9);
  fmt::print("\n");
  if (cell_metres > 0)
    fmt::print("area             {:.5g} m²\n",
               static_cast<double>(result.interior_cells) * cell_metres * cell_metres);
  if (!solver.door) return;
  fmt::print("rooms            {}\n\n", result.rooms.size());
  print_rows(rooms_of(result, cell_metres), room_columns(cell_metres > 0));
}

/// The plan's rooms beside its start field and its solution.
void add_rooms(FieldPicture& picture, const FloorPlan& plan, const PlanResult& result, Door door) {
  const RoomMap map = map_rooms(plan.interior, door.of({plan.interior.rows, plan.interior.cols}));
  picture.panels.push_back(
      rooms_panel(fmt::format("{} room(s), by mean", result.rooms.size()), map, result.rooms));
  ++picture.columns;
}

/// Throws RunError where the plan has no wall of such a kind.
void set_known_wall_temperatures(FloorPlan& plan, const WallTemperatures& walls,
                                 const std::string& id) {
  const auto kinds = wall_kinds(plan);
  for (const WallTemperature& wall : walls)
    if (!kinds.contains(wall.kind))
      throw RunError(fmt::format("plan {} has no wall of {} °C, which --wall names, but of {}",
                                 printable(id), python_float(wall.kind), to_text(kinds)));
  set_wall_temperatures(plan, walls);
}

/// What of a row one plan alone has: without attempts, ranks and the steps of a worker.
constexpr const char* json_columns =
    "id,status,mean_temp,std_temp,pct_above_18,pct_below_15,iterations,last_delta,interior_cells,"
    "rows,cols,seconds,cpu_s,device,solver,fell_back,error_bound,error_estimate,pct_above_18_least,"
    "pct_above_18_most,"
    "pct_below_15_least,pct_below_15_most,cells_in_doubt";

void print_solve_as_json(const PlanResult& result, bool with_rooms, double cell_metres) {
  std::ostringstream text;
  write_json(text, rows_of(std::vector{result}), columns_named("columns", json_columns));
  if (!with_rooms) {
    fmt::print("{}", text.str());
    return;
  }
  std::ostringstream rooms;
  write_json(rooms, rooms_of(result, cell_metres), room_columns(cell_metres > 0));
  Json row = Json::parse(text.str());
  row[0]["rooms"] = Json::parse(rooms.str());
  fmt::print("{}", json_text(row));
}

}  // namespace

int solve_command(Options& options) {
  std::string id;
  std::filesystem::path data;
  std::filesystem::path png;
  std::filesystem::path npy;
  bool overwrite = false;
  bool json = false;
  SolverOptionParser solver_options;
  QuestionOptions questions;
  CellSizeOption cell_size;
  options.describe("ID --data PLANS [options]", "Solves one floor plan and prints its statistics.",
                   {"wallheat solve 00001 --data plans",
                    "wallheat solve 00001 --data plans --solver steady --png plan.png"});
  options.add("id", value(id, "ID"), "the plan (also as an argument)");
  options.add("data,d", value(data, "PLANS"),
              "directory with ID_domain.npy, ID_interior.npy and maybe ID_source.npy, or a zip "
              "archive of one");
  options.add("png", value(png, "FILE"), "draw start field and solution side by side");
  options.add("npy", value(npy, "FILE"), "store the solution as a NumPy array, float64 in °C");
  options.add("overwrite", flag(overwrite), "replace an existing picture or array");
  options.add("json", flag(json), "print one JSON array with one row, as list does");
  questions.declare(options);
  cell_size.declare(options);
  solver_options.declare(options);
  options.positional("id", 1);
  options.require({"id", "data"});
  options.parse();
  std::string ending = png.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  if (!png.empty() && ending != ".png")
    throw UsageError(fmt::format(
        "--png draws a PNG picture, so name a file that ends in .png, not {}", png.string()));
  CommandFiles& files = options.files();
  files.reads_plans("--data", data);
  files.makes("--png", png, overwrite, "\x89PNG\r\n\x1a\n");
  files.makes("--npy", npy, overwrite, npy::beginning);
  files.check();
  SolverOptions solver = solver_options.finish(data);
  questions.finish(solver);
  const SharedPlanSource source = open_plan_source(data);
  require_plans(*source, {id});
  FloorPlan plan = source->load(id);
  set_known_wall_temperatures(plan, solver.walls, id);
  if (plan.has_source() && !solver.spacing_is_known) print_error("wallheat: {}", unknown_spacing);
  const auto start = std::chrono::steady_clock::now();
  const double cpu_start_s = thread_cpu_seconds();
  const auto solution = solve_plan(id, plan, *solver.make(), solver.limits, {});
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  PlanResult result;
  result.cpu_s = thread_cpu_seconds() - cpu_start_s;
  describe_solution(plan, *solution, solver, result);
  result.id = id;
  result.seconds = seconds;
  result.device = solver.device_text();
  result.solver = solver.solver_text();
  const double cell_metres = cell_size.metres();
  if (json) {
    print_solve_as_json(result, solver.door.has_value(), cell_metres);
  } else {
    print_solve_for_people(result, solver, cell_metres);
  }
  if (!png.empty()) {
    FieldPicture picture = plan_picture("plan " + id, plan, solution->field,
                                        solution_caption(result.solver, result.iterations));
    if (solver.door) add_rooms(picture, plan, result, *solver.door);
    write_output(png, picture.draw(PlotFormat::png));
    if (!json) fmt::print("picture          {}\n", printable(png.string()));
  }
  if (!npy.empty()) {
    write_output(npy, npy::bytes_of(solution->field));
    if (!json) fmt::print("array            {}\n", printable(npy.string()));
  }
  return exit_done;
}

}  // namespace wallheat
