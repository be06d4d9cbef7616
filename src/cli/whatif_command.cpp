#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/plan_options.hpp"
#include "cli/wall_options.hpp"
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
void choose_settings(const std::vector<WallChange>& changes, WhatIf& asked) {
  std::vector<std::vector<double>> combinations{{}};
  for (const auto& [kind, temperatures] : changes) {
    if (temperatures.empty())
      throw UsageError(
          fmt::format("--wall {0}: say what these walls are to be, as --wall {0}=22", kind));
    asked.walls.push_back(kind);
    std::vector<std::vector<double>> longer;
    for (const auto& combination : combinations)
      for (const double temperature : temperatures)
        longer.emplace_back(combination).push_back(temperature);
    combinations = std::move(longer);
    constexpr std::size_t most_settings = 1000;
    if (combinations.size() > most_settings)
      throw UsageError(fmt::format("--wall: there are more than {} combinations of temperatures",
                                   most_settings));
  }
  asked.settings = std::move(combinations);
  asked.settings.insert(asked.settings.begin(), asked.walls);
}

/// Throws UsageError, RunError.
void parse_what_if(Options& options, WhatIfOptions& what_if) {
  options.describe(
      "--data PLANS --wall KIND=DEGREES [options] [ID ...]",
      "Says how warm plans would be with walls of other temperatures. A plan is solved once as it "
      "is and once for each kind of wall; any temperatures follow by superposition, with proven "
      "bounds. JSON and CSV have a row for each plan and setting, and with --rooms for each "
      "room.\nExit status: 0 answered, 1 not, 2 wrong usage, 3 answered without plans that cannot "
      "be used.",
      {"wallheat whatif 00001 --data plans --wall 25=22 --rooms",
       "wallheat whatif --data plans --wall 25=18:30:2 --wall 5=0"});
  std::vector<WallChange> changes;
  declare_wall_changes(
      options, changes, "KIND=DEGREES",
      "holds walls, named by their temperature in the plans, at another one, as 25=22; or at each "
      "of a range, as 25=18:30:1 (from, to, step). With several --wall: all combinations");
  declare_thresholds(options, what_if.asked.thresholds);
  declare_rooms(options, what_if.door, "also describe rooms");
  declare_cell_size(options, what_if.asked.cell_metres);
  what_if.plans.declare(options);
  options.require({"data", "wall"});
  options.check([&] { choose_settings(changes, what_if.asked); });
  options.parse();
  what_if.plans.open();
}

}  // namespace

Report whatif_command(Options& options) {
  WhatIfOptions what_if;
  parse_what_if(options, what_if);
  const WhatIf& asked = what_if.asked;
  const LinearPlans& plans = what_if.plans;
  std::vector<WhatIfPlan> answers(plans.ids().size());
  const auto take = [&](std::size_t index, const FloorPlan& plan, const Superposition& solved) {
    const std::string& id = plans.ids()[index];
    const auto rooms = what_if.door ? room_cells_of(plan, *what_if.door) : RoomCells();
    answers[index] = answer_of(asked, id, solved, rooms);
  };
  const int exit_status = plans.superpose(asked.walls, take);
  Report report = report_of(asked, std::move(answers));
  report.exit_status = exit_status;
  return report;
}

}  // namespace wallheat
