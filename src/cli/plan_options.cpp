#include "cli/plan_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/drawing_record.hpp"
#include "core/text.hpp"
#include "io/standard_streams.hpp"
#include "plans/plan_source.hpp"
#include "report/room_text.hpp"
#include "solve/solver_settings.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns the value of the option of a setting. The default is the initial value of the variable.
template <class T>
OptionValue setting_value(const SolverSetting& setting, T& variable) {
  if constexpr (std::is_enum_v<T>) {
    std::vector<std::pair<std::string, T>> words;
    for (const T each : values_of(variable)) words.emplace_back(to_string(each), each);
    return choice(variable, setting.value_name, words.front().first.c_str(), words);
  } else {
    OptionValue number{&variable, setting.value_name, setting.has_default, setting.default_text};
    number.range = setting.range;
    return number;
  }
}
OptionValue setting_value(const SolverSetting& setting, Isa& isa) {
  const std::vector<std::pair<std::string, Isa>> words{{"auto", available_isas().back()},
                                                       {"avx512", Isa::avx512},
                                                       {"avx2", Isa::avx2},
                                                       {"baseline", Isa::baseline}};
  return choice(isa, setting.value_name, "auto", words).of(OptionScope::rank);
}
OptionValue setting_value(const SolverSetting& setting, WallOverrides& walls) {
  const auto add = [words = std::string(), &walls](const std::string& word) mutable {
    words += (words.empty() ? "" : " ") + word;
    const auto found = parse_wall_overrides(words);
    if (found) walls = *found;
    return found.has_value();
  };
  return custom_value(setting.value_name,
                      "NOMINAL=DEGREES with two temperatures in °C, such as 5=8, and each NOMINAL "
                      "at most once",
                      add)
      .repeated();
}

constexpr double unknown_cell_size = 0;

/// Declares the option of each setting that it visits. The other members are as for
/// declare_rooms().
struct SettingDeclaration {
  Options& options;
  const double& cell_metres = unknown_cell_size;
  std::vector<std::string> implied_by = {};
  void operator()(const SolverSetting& setting, auto& variable) const {
    options.add(setting.option(), setting_value(setting, variable), setting.help);
  }
  void operator()(const SolverSetting& setting, std::optional<Door>& door) const {
    declare_rooms(options, door, cell_metres, setting.help, implied_by);
  }
};

constexpr const char* areas_help = "width of a cell in metres, to show areas in m²";

/// The width of a cell in the drawing records of plans.
struct CommonCellSize {
  double metres = 0;         ///< 0: the plans have none, or different ones
  std::string difference{};  ///< a plan without a width, or with another one; or empty
};

/// Reads the drawing records up to the first plan without a width, or with another one.
CommonCellSize recorded_cell_size(const std::filesystem::path& data,
                                  const std::function<PlanIds()>& requested) {
  // Throws if there is no such directory or archive.
  (void)open_plan_source(data, ListingMode::lazy);
  const PlanIds plans = requested();
  std::optional<double> common;
  for (const std::string_view each : plans.ids) {
    const std::string id(each);
    const std::string plan = "plan " + escape_control_chars(id);
    const auto record = read_drawing_record(data, id);
    const auto recorded = record ? record->cell_metres : std::nullopt;
    if (!recorded) return {0, plan + " has no recorded width of a cell"};
    if (common.value_or(*recorded) != *recorded)
      return {0, fmt::format("the cells of {} are {} m wide, and those of plan {} {} m", plan,
                             format_repr(*recorded), escape_control_chars(plans.ids[0]),
                             format_repr(*common))};
    common = recorded;
  }
  return {common.value_or(0)};
}

void take_spacing_of_plans(Options& options, SolverOptions& solver,
                           const std::filesystem::path& plans) {
  options.check([&] {
    if (options.was_given("spacing")) return;
    const auto spacing = read_spacing(plans);
    solver.limits.spacing = spacing.value_or(1);
    solver.spacing_is_known = spacing.has_value();
  });
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

void declare_setting(Options& options, SolverOptions& solver, const std::string& name,
                     const char* help) {
  for_each_setting(
      [&](SolverSetting setting, auto& variable) {
        if (setting.name != name) return;
        if (help != nullptr) setting.help = help;
        SettingDeclaration{options}(setting, variable);
      },
      solver);
}

void declare_spacing(Options& options, SolverOptions& solver, const std::filesystem::path& plans) {
  declare_setting(options, solver, "spacing");
  take_spacing_of_plans(options, solver, plans);
}

void declare_solver(Options& options, SolverOptions& solver, const std::filesystem::path& plans) {
  for_each_method_setting(SettingDeclaration{options}, solver);
  take_spacing_of_plans(options, solver, plans);
  options.check([&] {
    if (solver.backend == SolverBackend::reference && solver.kind != SolverKind::jacobi)
      throw UsageError(fmt::format("--solver-backend reference cannot be combined with --solver {}",
                                   to_string(solver.kind)));
  });
}

void declare_problem_options(Options& options, SolverOptions& solver, const double& cell_metres,
                             const std::vector<std::string>& implied_by) {
  for_each_problem_setting(SettingDeclaration{options, cell_metres, implied_by}, solver);
}

void declare_thresholds(Options& options, Thresholds& thresholds) {
  for_each_threshold(SettingDeclaration{options}, thresholds);
}

void declare_rooms(Options& options, std::optional<Door>& door, const double& cell_metres,
                   const std::string& help, const std::vector<std::string>& implied_by) {
  struct Asked {
    bool rooms = false;
    Door door;
  };
  const auto asked = std::make_shared<Asked>();
  std::string implying;
  for (const std::string& name : implied_by)
    implying += (implying.empty()              ? "; implied by --"
                 : &name == &implied_by.back() ? " and --"
                                               : ", --") +
                name;
  options.add("rooms", flag(asked->rooms), help + implying);
  declare_door(options, asked->door, cell_metres);
  options.check([&options, asked, &door, implied_by] {
    const auto was_given = [&](const std::string& name) { return options.was_given(name); };
    if (asked->rooms || std::ranges::any_of(implied_by, was_given))
      door = asked->door;
    else if (asked->door != Door())
      throw UsageError("--door requires --rooms");
  });
}

void declare_door(Options& options, Door& door, const double& cell_metres) {
  struct Width {
    std::string text;
    std::optional<double> metres;
  };
  const auto width = std::make_shared<Width>();
  const auto take = [&door, width](const std::string& text) {
    *width = {text, std::nullopt};
    door = Door();
    if (text == "auto") return true;
    if (text.ends_with('m')) {
      width->metres = parse_number<double>(std::string_view(text).substr(0, text.size() - 1));
      return width->metres.has_value() && *width->metres > 0 && std::isfinite(*width->metres);
    }
    const auto cells = parse_number<std::int64_t>(text);
    if (cells) door.cells = *cells;
    return cells && *cells >= 0 && *cells <= max_door_cells;
  };
  options.add(
      "door",
      custom_value("WIDTH",
                   fmt::format("auto, a number of cells from 0 to {}, or a width in metres such as "
                               "0.9m",
                               max_door_cells),
                   take, "auto"),
      "door width: openings up to WIDTH divide rooms, in cells or, if the width of a cell is "
      "known, in metres such as 0.9m; 0: only walls divide them; auto: 1/50 of the longer side, at "
      "least 1 cell. Specify the width of the widest door, not more, because a larger width also "
      "divides corridors");
  options.check([&door, &cell_metres, width] {
    if (!width->metres) return;
    // Rounded up, so that a door of this width divides rooms. The subtrahend is for rounding
    // errors: 0.9 m are 18 cells of 0.05 m.
    const double cells = std::ceil(*width->metres / cell_metres - 1e-6);
    if (!(cells <= max_door_cells))
      throw UsageError(fmt::format("--door {} is wider than {} cells of {} m", width->text,
                                   max_door_cells, format_repr(cell_metres)));
    door.cells = static_cast<std::int64_t>(cells);
  });
}

void warn_of_default_door(const FloorPlan& plan, const Door& door, double cell_metres) {
  constexpr double min_door_m = 0.6;
  constexpr double max_door_m = 1.5;
  const std::uint32_t cells = door.of({plan.interior.rows, plan.interior.cols});
  const double metres = cells * cell_metres;
  if (door != Door() || metres == 0) return;
  if (metres > max_door_m)
    print_error(
        "wallheat: warning: the default door width of {} is wider than most doors, so that it may "
        "divide rooms and corridors; set --door, such as --door 0.9m",
        door_text(cells, cell_metres));
  if (metres >= min_door_m || count_rooms(plan.interior, cells).counted != 1) return;
  if (const auto division = find_division(plan.interior, cells))
    print_error("wallheat: warning: {}", division_text(*division, cells, cell_metres));
}

void declare_min_cells(Options& options, std::size_t& min_cells) {
  options.add("min-cells", value(min_cells, "N", 1).at_least(1),
              "ignore rooms with fewer cells, such as corners that walls cut off");
}

void declare_cell_size(Options& options, double& metres) {
  options.add("cell-size", value(metres, "METRES").above(0),
              std::string(areas_help) + " (default: that of the run)");
}

void declare_cell_size(Options& options, double& metres, CellSizeUse use,
                       const std::filesystem::path& data,
                       const std::function<PlanIds()>& requested) {
  options.add("cell-size", value(metres, "METRES").above(0),
              std::string(use == CellSizeUse::rooms ? "width of a cell in metres, for --door in "
                                                      "metres, and to show the areas of rooms in m²"
                                                    : areas_help) +
                  "; default for plans from pictures: that of 'wallheat generate --cell-size', if "
                  "all plans have the same");
  options.check([&options, &metres, use, &data, requested] {
    if (options.was_given("cell-size")) return;
    const std::string door = options.shared_values()["door"];
    const bool is_required = door.ends_with('m');
    if (use == CellSizeUse::rooms && !is_required) return;
    const CommonCellSize common = recorded_cell_size(data, requested);
    if (is_required && !common.difference.empty())
      throw UsageError(
          fmt::format("--door {} requires --cell-size, because {}; or use a number of cells", door,
                      common.difference));
    metres = common.metres;
  });
}

}  // namespace wallheat
