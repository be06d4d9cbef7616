#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <optional>
#include <ostream>

#include "cli/commands.hpp"
#include "cli/picture_file.hpp"
#include "cli/question_options.hpp"
#include "cli/wall_options.hpp"
#include "report/field_picture.hpp"
#include "report/what_if.hpp"
#include "view/json.hpp"
#include "view/output_file.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

struct WhatIfOptions {
  WhatIf asked;  ///< without plans
  LinearPlans plans;
  std::optional<Door> door;  ///< what divides rooms, if they are asked for
  PictureFile picture;
  std::filesystem::path csv;
  bool json = false;
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

///
void parse_what_if_options(Options& options, WhatIfOptions& what_if) {
  std::vector<std::string> walls;
  options.describe(
      "--data PLANS --wall KIND=DEGREES [options] [ID ...]",
      "Says what plans would be with walls of other temperatures. A plan is solved once as it is "
      "and once for each kind of wall; any temperatures follow by superposition, each number with "
      "a proven bound of its error.\nExit status: 0 answered, 1 not, 2 wrong usage, 3 answered "
      "without plans that cannot be used.",
      {"wallheat whatif 00001 --data plans --wall 25=22 --rooms",
       "wallheat whatif --data plans --wall 25=18:30:2 --wall 5=0"});
  what_if.plans.declare(options);
  options.add("wall,w", value(walls, "KIND=DEGREES"),
              "sets walls, named by the temperature that their cells have in the plans, to another "
              "one, as 25=22; or to each of a range, as 25=18:30:1 (from, to, step). With several "
              "--wall, all combinations");
  QuestionOptions questions;
  questions.declare_thresholds(options);
  bool rooms = false;
  options.add("rooms", flag(rooms), "also tell of rooms");
  questions.declare_door(options,
                         "with --rooms: openings of at most so many cells divide rooms; 0: walls "
                         "alone do; auto: a fiftieth of the grid's longer side, at least 1");
  CellSizeOption cell_size;
  cell_size.declare(options);
  options.add("csv", value(what_if.csv, "FILE"),
              "write a line for each plan and setting, with --rooms also for each room");
  what_if.picture.declare(options, "plot",
                          "draw the means over a range, or the fields of one plan with one "
                          "setting, as PNG, SVG or PDF");
  options.add("json", flag(what_if.json), "print one JSON object");
  options.require({"data", "wall"});
  options.parse();
  what_if.asked.thresholds = questions.thresholds({});
  what_if.asked.cell_metres = cell_size.metres();
  if (options.was_given("door") && !rooms) throw UsageError("--door goes with --rooms");
  if (rooms) what_if.door = questions.door();
  choose_settings(walls, what_if.asked);
  CommandFiles& files = options.files();
  files.makes("--csv", what_if.csv, options.overwrite(), what_if_csv_beginning);
  what_if.plans.open();
  files.check();
  if (what_if.picture.wanted() && !what_if.plans.is_one() && what_if.asked.settings.size() == 2)
    throw UsageError("--plot of several plans needs a range, as --wall 25=18:30:1");
}

/// A plan's figures with each setting.
void add_figures(const WhatIf& asked, const Superposition& superposition, const RoomPlaces& rooms,
                 WhatIfPlan& plan) {
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

int whatif_command(Options& options) {
  WhatIfOptions asked;
  parse_what_if_options(options, asked);
  const LinearPlans& plans = asked.plans;
  const bool fields = asked.picture.wanted() && plans.is_one() && asked.asked.settings.size() == 2;
  FieldPicture drawn;
  WhatIf what_if = asked.asked;
  what_if.plans.resize(plans.ids().size());
  const std::size_t unusable = plans.superpose(
      what_if.walls,
      [&](std::size_t index, const FloorPlan& plan, const Superposition& superposition) {
        WhatIfPlan& one = what_if.plans[index];
        one.id = plans.ids()[index];
        add_figures(asked.asked, superposition,
                    asked.door ? rooms_of(plan, *asked.door) : RoomPlaces(), one);
        if (fields) drawn = fields_picture(one.id, asked.asked, plan, superposition);
      });
  std::erase_if(what_if.plans, [](const WhatIfPlan& plan) { return plan.id.empty(); });
  if (fields) {
    drawn.title = asked.picture.title().value_or(drawn.title);
    drawn.size = asked.picture.size();
    asked.picture.write_bytes(
        [&](PlotFormat format) { return drawn.draw(format, asked.picture.dpi()); });
  } else {
    asked.picture.write([&] { return what_if_plot(what_if); });
  }
  if (!asked.csv.empty())
    write_output(asked.csv, [&](std::ostream& out) { write_csv(out, what_if); });
  if (asked.json) {
    fmt::print("{}", json_text(to_json(what_if)));
  } else {
    print_what_if(what_if);
  }
  return unusable > 0 ? exit_some_plans_failed : exit_done;
}

}  // namespace wallheat
