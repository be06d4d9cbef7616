#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/plan_options.hpp"
#include "cli/wall_options.hpp"
#include "report/wall_need.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// What is asked for, from words of the command line.
struct NeedOptions {
  NeedQuestion question;
  std::vector<double> kinds;         ///< of walls: the one that is asked for first
  std::vector<double> temperatures;  ///< of these
  LinearPlans plans;
  Door door;
};

void choose_walls(const std::vector<WallChange>& changes, NeedOptions& need) {
  for (const auto& [kind, temperatures] : changes) {
    if (temperatures.size() > 1)
      throw UsageError(
          fmt::format("--wall {:.6g}: need takes one temperature of another wall", kind));
    const bool is_asked = temperatures.empty();
    need.kinds.insert(is_asked ? need.kinds.begin() : need.kinds.end(), kind);
    need.temperatures.insert(is_asked ? need.temperatures.begin() : need.temperatures.end(),
                             is_asked ? kind : temperatures.front());
    if (is_asked) need.question.wall = kind;
  }
  if (std::ranges::count_if(changes, &std::vector<double>::empty, &WallChange::temperatures) != 1)
    throw UsageError(
        "--wall KIND, without a temperature, must name the one kind of wall that is asked for");
}

/// The goal is one of two.
void choose_goal(const Options& options, NeedQuestion& question, double area_above) {
  const bool is_area = options.was_given("area-above");
  if (options.was_given("room-mean") == is_area)
    throw UsageError("give --room-mean, or --area-above with --area-share, as the goal");
  if (is_area)
    question.target = area_above;
  else
    question.area_share = 0;
}

/// Throws UsageError, RunError.
void parse_need(Options& options, NeedOptions& need) {
  std::vector<WallChange> changes;
  double area_above = 0;
  NeedQuestion& question = need.question;
  options.describe(
      "--data PLANS --wall KIND --room-mean DEGREES [options] [ID ...]",
      "Says how warm one kind of wall must be so that rooms reach a temperature: for each room, "
      "each plan and all plans, with a proven bound. A plan is solved twice, as the steady state "
      "is linear in the walls' temperatures. JSON and CSV have a row for each room.\nExit status: "
      "0 answered, also if no temperature suffices, 1 not, 2 wrong usage, 3 answered without plans "
      "that cannot be used.",
      {"wallheat need 00001 --data plans --wall 25 --room-mean 18",
       "wallheat need --data plans --wall 25 --wall 5=8 --area-above 18 --area-share 0.5"});
  declare_wall_changes(options, changes, "KIND",
                       "the kind of wall that is asked for, by its temperature in the plans, as "
                       "25; KIND=DEGREES, as 5=8, holds others at another temperature");
  options.add("room-mean", value(question.target, "DEGREES"),
              "the goal: a room's mean is to be at least this, in °C");
  options.add("area-above", value(area_above, "DEGREES"),
              "the goal: --area-share of a room's area is to be above this, in °C");
  options.add("area-share", value(question.area_share, "SHARE", 0.9).within(0, 1).above(0),
              "of the area, above 0 to 1");
  options.add("share", value(question.room_share, "SHARE", 0.95).within(0, 1).above(0),
              "of the rooms that are to reach the goal, above 0 to 1");
  options.add("limit", value(question.limit, "DEGREES", 100),
              "a wall above this, in °C, is no answer");
  declare_door(options, need.door);
  options.add("min-cells", value(question.min_cells, "N", 1).at_least(1),
              "rooms of fewer cells do not count, such as corners that walls cut off");
  options.add("whole-plans", flag(question.whole_plans), "take each plan as one room");
  declare_cell_size(options, question.cell_metres);
  need.plans.declare(options);
  options.require({"data", "wall"});
  options.need("area-above", {"area-share"});
  options.check([&] {
    choose_goal(options, question, area_above);
    choose_walls(changes, need);
  });
  options.parse();
  need.plans.open();
}

/// The superposition of the wall that is asked for alone, with the others at their temperatures.
Superposition of_asked_wall(const Superposition& all, std::span<const double> temperatures) {
  return {all.at(temperatures), {all.walls.front()}};
}

}  // namespace

Report need_command(Options& options) {
  NeedOptions asked;
  parse_need(options, asked);
  WallNeed need{asked.question, std::vector<PlanNeed>(asked.plans.ids().size())};
  const auto take = [&](std::size_t index, const FloorPlan& floor_plan, const Superposition& all) {
    const Superposition linear = of_asked_wall(all, asked.temperatures);
    const auto rooms = asked.question.whole_plans ? one_room(linear.now.cells.size())
                                                  : room_cells_of(floor_plan, asked.door);
    need.plans[index] = {asked.plans.ids()[index], all.walls.front().cells > 0, linear.now.bound,
                         needs_of_rooms(asked.question, linear, rooms)};
  };
  const int exit_status = asked.plans.superpose(asked.kinds, take);
  std::erase_if(need.plans, [](const PlanNeed& plan) { return plan.id.empty(); });
  Report report = report_of(std::move(need));
  report.exit_status = exit_status;
  return report;
}

}  // namespace wallheat
