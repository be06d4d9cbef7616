#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "cli/commands.hpp"
#include "cli/question_options.hpp"
#include "cli/wall_options.hpp"
#include "report/field_picture.hpp"
#include "report/what_if.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

struct WhatIfOptions {
  WhatIf asked;
  LinearPlans plans;
  std::optional<Door> door;  ///< what divides rooms, if they are asked for
};

/// All combinations of the walls' temperatures, behind the plans' own.
void choose_settings(const std::vector<std::string>& words, WhatIf& asked) {
  std::vector<std::vector<double>> combinations{{}};
  for (const std::string& word : words) {
    const WallChange change = wall_change_in(word);
    if (change.temperatures.empty())
      throw UsageError(
          fmt::format("--wall {}: say what these walls are to be, as --wall {}=22", word, word));
    if (std::find(asked.walls.begin(), asked.walls.end(), change.kind) != asked.walls.end())
      throw UsageError(fmt::format("--wall names {:.6g} twice", change.kind));
    asked.walls.push_back(change.kind);
    std::vector<std::vector<double>> longer;
    for (const auto& combination : combinations) {
      for (const double temperature : change.temperatures) {
        longer.push_back(combination);
        longer.back().push_back(temperature);
      }
    }
    combinations = std::move(longer);
    constexpr std::size_t most_settings = 1000;
    if (combinations.size() > most_settings)
      throw UsageError(fmt::format("--wall: there are more than {} combinations of temperatures",
                                   most_settings));
  }
  asked.settings.push_back(asked.walls);
  std::move(combinations.begin(), combinations.end(), std::back_inserter(asked.settings));
}

/// Throws UsageError, RunError.
void parse_what_if(Options& options, WhatIfOptions& what_if) {
  std::vector<std::string> walls;
  options.describe(
      "--data PLANS --wall KIND=DEGREES [options] [ID ...]",
      "Says what plans would be with walls of other temperatures. A plan is solved once as it is "
      "and once for each kind of wall; any temperatures follow by superposition, each number with "
      "a proven bound of its error. JSON and CSV have a row for each plan and setting, and with "
      "--rooms one for each room.\nExit status: 0 answered, 1 not, 2 wrong usage, 3 answered "
      "without plans that cannot be used.",
      {"wallheat whatif 00001 --data plans --wall 25=22 --rooms",
       "wallheat whatif --data plans --wall 25=18:30:2 --wall 5=0"});
  options.add("wall,w", value(walls, "KIND=DEGREES"),
              "sets walls, named by the temperature that their cells have in the plans, to another "
              "one, as 25=22; or to each of a range, as 25=18:30:1 (from, to, step). With several "
              "--wall, all combinations");
  QuestionOptions questions;
  questions.declare_thresholds(options);
  bool rooms = false;
  options.add("rooms", flag(rooms), "also tell of rooms");
  questions.declare_door(options, door_help);
  CellSizeOption cell_size;
  cell_size.declare(options);
  what_if.plans.declare(options);
  options.require({"data", "wall"});
  options.check([&] {
    what_if.asked.thresholds = questions.thresholds({});
    what_if.asked.cell_metres = cell_size.metres();
    if (options.was_given("door") && !rooms) throw UsageError("--door goes with --rooms");
    if (rooms) what_if.door = questions.door();
    choose_settings(walls, what_if.asked);
  });
  options.parse();
  what_if.plans.open();
}

/// A plan's figures with each setting.
WhatIfPlan figures_of_plan(const std::string& id, const WhatIf& asked,
                           const Superposition& superposition, const RoomPlaces& rooms) {
  WhatIfPlan plan{id, {}, {}};
  for (const auto& setting : asked.settings) {
    const BoundedCells temperatures = superposition.at(setting);
    plan.figures.push_back(figures_of(temperatures.cells, temperatures.bound, asked.thresholds));
    if (rooms.empty()) continue;
    std::vector<Figures>& of_rooms = plan.rooms.emplace_back();
    std::vector<double> values;
    for (const auto& places : rooms) {
      values.clear();
      for (const std::uint32_t place : places) values.push_back(temperatures.cells[place]);
      of_rooms.push_back(figures_of(values, temperatures.bound, asked.thresholds));
    }
  }
  return plan;
}

/// The fields of one plan, now and with its one setting.
FieldPicture fields_picture(const std::string& id, const WhatIf& asked, const FloorPlan& plan,
                            const Superposition& superposition) {
  FieldPicture picture;
  picture.title = fmt::format("plan {}", id);
  picture.columns = 2;
  std::string setting;
  for (std::size_t wall = 0; wall < asked.walls.size(); ++wall)
    setting += fmt::format("{}walls of {:.6g} °C at {:.6g} °C", wall == 0 ? "" : ", ",
                           asked.walls[wall], asked.settings[1][wall]);
  for (const std::size_t k : {0U, 1U}) {
    WallTemperatures walls;
    for (std::size_t wall = 0; wall < asked.walls.size(); ++wall)
      walls.push_back({asked.walls[wall], asked.settings[k][wall]});
    FloorPlan changed = plan;
    set_wall_temperatures(changed, walls);
    const Grid<double> field = field_of(changed, superposition.at(asked.settings[k]).cells);
    picture.panels.push_back({k == 0 ? "now" : setting, within_building(changed, field)});
  }
  return picture;
}

}  // namespace

Report whatif_command(Options& options) {
  const auto what_if = std::make_shared<WhatIfOptions>();
  parse_what_if(options, *what_if);
  const LinearPlans& plans = what_if->plans;
  const WhatIf& asked = what_if->asked;
  const auto of_plan = [what_if](std::size_t index, const FloorPlan& plan,
                                 const Superposition& superposition) {
    return figures_of_plan(what_if->plans.ids()[index], what_if->asked, superposition,
                           what_if->door ? rooms_of(plan, *what_if->door) : RoomPlaces());
  };
  WhatIfTotals totals(asked, plans.ids().size());
  std::mutex mutex;
  WhatIfPlan only;
  FieldPicture fields;
  const std::size_t unusable = plans.superpose(
      asked.walls, [&](std::size_t index, const FloorPlan& plan, const Superposition& solved) {
        WhatIfPlan one = of_plan(index, plan, solved);
        const std::lock_guard lock(mutex);
        totals.add(index, one, asked.thresholds);
        if (!plans.is_one()) return;
        if (asked.settings.size() == 2) fields = fields_picture(one.id, asked, plan, solved);
        only = std::move(one);
      });
  // The figures of all plans with all settings would not fit in memory: who wants them solves anew.
  const WhatIfPlans each = [what_if, of_plan, only](const auto& take) {
    if (what_if->plans.is_one()) return take(only);
    what_if->plans.for_each<WhatIfPlan>(what_if->asked.walls, of_plan, take);
  };
  Report report = report_of(asked, totals, each, plans.is_one() ? &only : nullptr);
  if (!fields.panels.empty())
    report.add(Figure{.key = "fields",
                      .name = fields.title,
                      .fields = std::make_shared<const FieldPicture>(fields)});
  report.exit_status = unusable > 0 ? exit_some_plans_failed : exit_done;
  return report;
}

}  // namespace wallheat
