#include "cli/plan_options.hpp"

#include <fmt/format.h>

#include <memory>

#include "core/text.hpp"
#include "plans/plan_source.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

void declare_walls(Options& options, WallOverrides& walls) {
  const auto add = [words = std::string(), &walls](const std::string& word) mutable {
    words += (words.empty() ? "" : " ") + word;
    const auto found = parse_wall_overrides(words);
    if (found) walls = *found;
    return found.has_value();
  };
  options.add(
      "wall",
      custom_value(
          "NOMINAL=DEGREES",
          "NOMINAL=DEGREES with two temperatures in °C, such as 5=8, and each NOMINAL at most once",
          add)
          .repeated(),
      "hold the walls with the nominal temperature NOMINAL °C at DEGREES °C; repeat for more "
      "walls, such as --wall 5=8 --wall 25=22");
}

}  // namespace

void declare_data(Options& options, std::filesystem::path& data) {
  options.add("data,d", file(data, FileRole::plans, "PLANS").required(),
              "directory or zip archive that contains ID_domain.npy and ID_interior.npy for each "
              "plan, and ID_source.npy for plans with heat sources");
}

void declare_plans(Options& options, std::filesystem::path& data, std::vector<std::string>& ids,
                   std::filesystem::path& ids_file, std::size_t& first) {
  declare_data(options, data);
  options.add("id", value(ids, "ID").positional(),
              "ID of a plan (also as an argument); repeat for more (default: the plans of --ids)");
  options.add("ids", file(ids_file, FileRole::input),
              "file with one plan ID per line; # starts a comment (default: building_ids.txt of "
              "PLANS, or all plans if it does not exist)");
  options.add("first,n", value(first, "N", 0), "use only the first N plans; 0: all");
  options.add_conflict("ids", {"id"});
}

void declare_spacing(Options& options, SolverOptions& solver, const std::filesystem::path& plans) {
  options.add("spacing", value(solver.limits.spacing, "LENGTH").above(0),
              "grid spacing, in the unit of length of the heat sources; not needed for plans "
              "without heat sources (default: spacing.txt of PLANS, otherwise 1)");
  options.check([&] {
    if (options.was_given("spacing")) return;
    const auto spacing = read_spacing(plans);
    solver.limits.spacing = spacing.value_or(1);
    solver.spacing_is_known = spacing.has_value();
  });
}

void declare_solver(Options& options, SolverOptions& solver, const std::filesystem::path& plans) {
  options.add("solver",
              choice(solver.kind, "NAME", "jacobi",
                     {{"jacobi", SolverKind::jacobi},
                      {"fastforward", SolverKind::fastforward},
                      {"steady", SolverKind::steady}}),
              "jacobi (bit-identical to the reference program), fastforward (the same iterate to "
              "within 1e-11 of the largest temperature, several times faster) or steady (the "
              "steady state with a proven error bound, faster still); only jacobi runs on GPUs");
  options.add("tolerance", value(solver.limits.tolerance, "DEGREES", 1e-4, "1e-4").at_least(0),
              "stop when delta, the norm of the change in one iteration, is less than this, in °C "
              "(not for steady)");
  options.add(
      "norm", choice(solver.limits.norm, "NAME", "max", {{"max", Norm::max}, {"l2", Norm::l2}}),
      "norm of delta: max (largest change of a cell) or l2 (root of the sum of squares; CPU only)");
  declare_spacing(options, solver, plans);
  options.add("accuracy", value(solver.limits.accuracy, "DEGREES", 1e-8, "1e-8").above(0),
              "maximum distance of any cell from the steady state, in °C (steady only)");
  options.add("max-iterations", value(solver.limits.max_iterations, "N", 20000).at_least(1),
              "stop after N iterations");
  options.add("solver-backend",
              choice(solver.reference, "NAME", "vector", {{"vector", false}, {"reference", true}}),
              "implementation of jacobi: vector (fast) or reference (plain, for comparison); the "
              "results are bit-identical");
  options.add("isa",
              choice(solver.isa, "NAME", "auto",
                     {{"auto", available_isas().back()},
                      {"avx512", Isa::avx512},
                      {"avx2", Isa::avx2},
                      {"baseline", Isa::baseline}}),
              "instruction set of the vectorised solvers: auto, avx512, avx2 or baseline");
  options.check([&] {
    if (solver.reference && solver.kind != SolverKind::jacobi)
      throw UsageError(fmt::format("--solver-backend reference cannot be combined with --solver {}",
                                   to_string(solver.kind)));
  });
}

void declare_problem_options(Options& options, SolverOptions& solver) {
  declare_walls(options, solver.walls);
  declare_thresholds(options, solver.thresholds);
  declare_rooms(options, solver.door,
                "also compute for each room: cells, bounding box, mean, minimum and maximum "
                "temperature, and the cells above and below the thresholds");
}

void declare_thresholds(Options& options, Thresholds& thresholds) {
  options.add(
      "above",
      value(thresholds.above, "DEGREES", Thresholds{}.above).within(-max_magnitude, max_magnitude),
      "count the cells above this temperature, in °C");
  options.add(
      "below",
      value(thresholds.below, "DEGREES", Thresholds{}.below).within(-max_magnitude, max_magnitude),
      "count the cells below this temperature, in °C");
}

void declare_rooms(Options& options, std::optional<Door>& door, const char* help) {
  struct Asked {
    bool rooms = false;
    Door door;
  };
  const auto asked = std::make_shared<Asked>();
  options.add("rooms", flag(asked->rooms), help);
  declare_door(options, asked->door);
  options.add_dependency("rooms", {"door"});
  options.check([asked, &door] {
    if (asked->rooms) door = asked->door;
  });
}

void declare_door(Options& options, Door& door) {
  const auto take = [&door](const std::string& text) {
    const auto cells = text == "auto" ? Door::automatic : parse_number<std::int64_t>(text);
    if (cells) door.cells = *cells;
    return text == "auto" || (cells && *cells >= 0 && *cells <= max_door_cells);
  };
  options.add(
      "door",
      custom_value("CELLS", fmt::format("auto or a number of cells from 0 to {}", max_door_cells),
                   take, "auto"),
      "door width: openings up to CELLS wide divide rooms; 0: only walls divide them; auto: 1/50 "
      "of the longer side, at least 1");
}

void declare_min_cells(Options& options, std::size_t& min_cells) {
  options.add("min-cells", value(min_cells, "N", 1).at_least(1),
              "ignore rooms with fewer cells, such as corners that walls cut off");
}

void declare_cell_size(Options& options, double& metres) {
  options.add("cell-size", value(metres, "METRES").above(0),
              "width of a cell in metres, to show areas in m²");
}

}  // namespace wallheat
