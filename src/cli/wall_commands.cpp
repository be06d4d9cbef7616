#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/plan_options.hpp"
#include "core/program.hpp"
#include "core/text.hpp"
#include "io/standard_streams.hpp"
#include "node/placement.hpp"
#include "plans/plan_source.hpp"
#include "report/walls.hpp"
#include "run/plan_selection.hpp"
#include "run/superpositions.hpp"
#include "solve/solver_options.hpp"
#include "view/advice.hpp"
#include "view/spelling.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

// Shared by the commands that compute plans for other wall temperatures.

/// A nominal wall temperature, and the temperatures that replace it.
struct WallChange {
  double kind = 0;
  std::vector<double> temperatures;  ///< °C; empty if only the nominal temperature was given
};

/// The plans for which the commands compute results, and how they are solved.
class LinearPlans {
 public:
  void declare(Options& options);
  /// Declares --cell-size, whose default is that of the drawings of the plans.
  void declare_cell_size(Options& options, double& metres) {
    wallheat::declare_cell_size(options, metres, CellSizeUse::areas_and_doors, data_, [this] {
      open();
      return unique_ids(StringList(ids_));
    });
  }
  /// Opens the plan source, unless it is open. Call this after parsing. Throws RunError.
  void open();
  [[nodiscard]] const std::vector<std::string>& ids() const { return ids_; }
  /// Calls for_each_superposition() for all plans. Reports progress and the plans that cannot be
  /// used on stderr. Returns an ExitStatus, which shows whether all plans could be used.
  [[nodiscard]] int superpose(const std::vector<double>& kinds,
                              const SuperpositionCallback& take) const;

 private:
  std::filesystem::path data_;
  std::vector<std::string> ids_;
  std::filesystem::path ids_file_;
  std::size_t first_ = 0;
  std::size_t threads_ = 0;
  SolverOptions solver_;
  SharedPlanSource source_;
};

constexpr std::size_t max_temperatures = 1000;

/// Returns the numbers from `from` to `to` in steps, including `to` if a step ends there. Returns
/// an empty list if there would be too many numbers, or none.
std::vector<double> steps_of(double from, double to, double step) {
  constexpr double rounding = 1e-9;
  const double count = std::floor((to - from) / step + rounding) + 1;
  std::vector<double> steps;
  if (!(count >= 1 && count <= static_cast<double>(max_temperatures))) return steps;
  for (double i = 0; i < count; ++i) {
    // Makes 18 + 3 * 0.1 equal to 18.3 instead of 18.299999999999997.
    steps.push_back(*parse_number<double>(fmt::format("{:.12g}", from + i * step)));
  }
  return steps;
}

/// Returns nullopt if the text has another form.
std::optional<WallChange> wall_change_in(const std::string& text) {
  const std::size_t sign = std::min(text.find('='), text.size());
  std::string list = text.substr(std::min(sign + 1, text.size()));
  std::ranges::replace(list, ':', ',');
  std::vector<double> numbers;
  bool are_all_valid = text.find(',') == std::string::npos;
  const auto add = [&](const std::string& word) {
    numbers.push_back(parse_number<double>(word).value_or(INFINITY));
    are_all_valid = are_all_valid && std::abs(numbers.back()) <= max_magnitude;
  };
  add(text.substr(0, sign));
  if (sign < text.size())
    for (const std::string& word : split_list(list)) add(word);
  if (are_all_valid) {
    if (numbers.size() == 1) return WallChange{numbers[0], {}};
    if (numbers.size() == 2) return WallChange{numbers[0], {numbers[1]}};
    if (numbers.size() == 4)
      if (const auto steps = steps_of(numbers[1], numbers[2], numbers[3]); !steps.empty())
        return WallChange{numbers[0], steps};
  }
  return std::nullopt;
}

/// Declares --wall, which is given once for each nominal temperature: "25=22", "25=18:30:1" (from,
/// to, step) or "25".
void declare_wall_changes(Options& options, std::vector<WallChange>& changes, const char* name,
                          const char* help) {
  const auto take = [&changes](const std::string& text) {
    const auto change = wall_change_in(text);
    if (!change) return false;
    if (std::ranges::count(changes, change->kind, &WallChange::kind) > 0)
      throw UsageError(fmt::format("--wall: {:.6g} was given more than once", change->kind));
    changes.push_back(*change);
    return true;
  };
  const std::string form = fmt::format(
      "NOMINAL=DEGREES or NOMINAL=FROM:TO:STEP, such as 25=22 or 25=18:30:1, with at most {} "
      "temperatures",
      max_temperatures);
  options.add("wall,w", custom_value(name, form, take).repeated().required(), help);
}

}  // namespace

void LinearPlans::declare(Options& options) {
  options.heading("Plans");
  declare_plans(options, data_, ids_, ids_file_, first_);
  options.add("threads,t", value(threads_, "N", 0), "number of solver threads; 0: one per core");
  declare_setting(options, solver_, "accuracy", "maximum error of a solved field, in °C");
  declare_spacing(options, solver_, data_);
}

void LinearPlans::open() {
  if (source_) return;
  source_ = open_plan_source(data_);
  const PlanIds plans = requested_plans(*source_, ids_, ids_file_, first_);
  if (!plans.origin_note.empty()) print_error("{}", escape_control_chars(plans.origin_note));
  ids_ = {plans.ids.begin(), plans.ids.end()};
}

int LinearPlans::superpose(const std::vector<double>& kinds,
                           const SuperpositionCallback& take) const {
  WallOverrides walls;
  for (const double kind : kinds) walls.push_back({kind, kind});
  require_walls(*source_, StringList(ids_), walls);
  const std::size_t threads = threads_ > 0 ? threads_ : default_thread_count();
  std::atomic_flag warned;
  const auto warn_and_take = [&](std::size_t index, const FloorPlan& plan,
                                 const Superposition& superposition) {
    if (plan.has_heat_source() && !solver_.spacing_is_known && !warned.test_and_set())
      print_error("wallheat: {}", unknown_spacing);
    take(index, plan, superposition);
  };
  auto last_report = std::chrono::steady_clock::now();
  const auto log = [&](std::size_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_report < std::chrono::seconds(5)) return;
    last_report = now;
    print_error("solved {} of {}", done, count_text(ids_.size(), "plan"));
  };
  const auto unusable =
      for_each_superposition(*source_, ids_, kinds, solver_.limits, threads, warn_and_take, log);
  if (ids_.size() == 1 && !unusable.empty()) throw RunError(unusable.front().reason);
  for (const FailedPlan& plan : unusable)
    print_error("wallheat: {}", escape_and_truncate(plan.reason));
  if (unusable.size() == ids_.size()) throw RunError("none of the plans can be used");
  return unusable.empty() ? exit_done : exit_some_plans_failed;
}

namespace {

/// Sets all combinations of the walls' temperatures, preceded by the plans' own.
void choose_settings(const std::vector<WallChange>& changes, WhatIf& asked) {
  std::vector<std::vector<double>> combinations{{}};
  for (const auto& [kind, temperatures] : changes) {
    if (temperatures.empty())
      throw UsageError(fmt::format(
          "--wall {0} requires a new temperature for these walls, such as --wall {0}=22", kind));
    asked.walls.push_back(kind);
    std::vector<std::vector<double>> longer;
    for (const auto& combination : combinations)
      for (const double temperature : temperatures)
        longer.emplace_back(combination).push_back(temperature);
    combinations = std::move(longer);
    constexpr std::size_t max_settings = 1000;
    if (combinations.size() > max_settings)
      throw UsageError(
          fmt::format("--wall: more than {} combinations of temperatures", max_settings));
  }
  asked.settings = std::move(combinations);
  asked.settings.insert(asked.settings.begin(), asked.walls);
}

}  // namespace

Report whatif_command(Options& options) {
  WhatIf asked;
  LinearPlans plans;
  std::vector<WallChange> changes;
  options.describe(
      "--data PLANS --wall NOMINAL=DEGREES [options] [ID ...]",
      "Computes the temperatures of plans with other wall temperatures. Each plan is solved once "
      "as it is and once for each nominal wall temperature; the results for any wall temperatures "
      "follow by superposition, with proven bounds. JSON and CSV contain a row for each plan and "
      "setting, and with --rooms for each room.\nExit status: 0 success, 1 error, 2 usage error, 3 "
      "success without plans that cannot be used.",
      {"wallheat whatif 00001 --data plans --wall 25=22 --rooms",
       "wallheat whatif --data plans --wall 25=18:30:2 --wall 5=0"});
  declare_wall_changes(options, changes, "NOMINAL=DEGREES",
                       "hold the walls with the nominal temperature NOMINAL °C at another "
                       "temperature, such as 25=22, or at each temperature of a range, such as "
                       "25=18:30:1 (from, to, step), where NOMINAL 0 is the outside of plans from "
                       "pictures; repeated: all combinations");
  declare_thresholds(options, asked.thresholds);
  plans.declare_cell_size(options, asked.cell_metres);
  declare_rooms(options, asked.door, asked.cell_metres, "also compute results for rooms", {"door"});
  declare_min_cells(options, asked.min_cells);
  options.check([&] {
    if (asked.min_cells > 1 && !asked.door) throw UsageError("--min-cells requires --rooms");
  });
  plans.declare(options);
  options.check([&] { choose_settings(changes, asked); });
  options.parse();
  plans.open();
  std::vector<WhatIfPlan> answers(plans.ids().size());
  const auto take = [&](std::size_t index, const FloorPlan& plan, const Superposition& solved) {
    const std::string& id = plans.ids()[index];
    answers[index] = answer_of(asked, id, plan, solved);
    if (plans.ids().size() == 1 && asked.door)
      warn_of_default_door(plan, *asked.door, asked.cell_metres);
  };
  const int exit_status = plans.superpose(asked.walls, take);
  Report report = make_report(asked, std::move(answers));
  report.exit_status = exit_status;
  return report;
}

namespace {

/// Moves the queried wall to the front, and sets it to its nominal temperature. Throws UsageError.
void choose_walls(std::vector<WallChange>& changes) {
  for (const auto& [kind, temperatures] : changes)
    if (temperatures.size() > 1)
      throw UsageError(
          fmt::format("--wall {:.6g}: only one temperature is allowed for other walls", kind));
  const auto is_asked = [](const WallChange& change) { return change.temperatures.empty(); };
  if (std::ranges::count_if(changes, is_asked) != 1)
    throw UsageError(
        "--wall NOMINAL, without a new temperature, must be given exactly once: for the walls "
        "whose temperature is computed");
  std::ranges::stable_partition(changes, is_asked);
  changes.front().temperatures = {changes.front().kind};
}

/// Sets the goal, which is one of two. Throws UsageError.
void choose_goal(const Options& options, WallTemperatureQuery& question, double area_above) {
  const bool is_area = options.was_given("area-above");
  if (options.was_given("room-mean") == is_area)
    throw UsageError(
        "exactly one target is required: --room-mean, or --area-above with --area-share");
  if (is_area)
    question.target = area_above;
  else
    question.area_share = 0;
}

/// Returns the superposition of the queried wall only, with the other walls at their temperatures.
Superposition of_asked_wall(const Superposition& all, std::span<const double> temperatures) {
  return {all.at(temperatures), {all.walls.front()}};
}

}  // namespace

Report need_command(Options& options) {
  WallRequirements need;
  WallTemperatureQuery& question = need.question;
  std::vector<WallChange> changes;
  double area_above = 0;
  LinearPlans plans;
  options.describe(
      "--data PLANS --wall NOMINAL --room-mean DEGREES [options] [ID ...]",
      "Computes the temperature that the walls with one nominal temperature need so that rooms "
      "reach a target: for each room, each plan and all plans, with a proven bound. The result is "
      "a temperature up to --max, a higher one with 'requires more than --max', 'already warm "
      "enough' or 'not warmed by these walls'. Text output rounds required temperatures up. Each "
      "plan is solved twice, because the steady state is linear in the wall temperatures. JSON and "
      "CSV contain a row for each room.\nExit status: 0 success, also if no temperature suffices, "
      "1 "
      "error, 2 usage error, 3 success without plans that cannot be used.",
      {"wallheat need 00001 --data plans --wall 25 --room-mean 18",
       "wallheat need --data plans --wall 25 --wall 5=8 --area-above 18 --area-share 0.5"});
  declare_wall_changes(
      options, changes, "NOMINAL",
      "nominal temperature of the walls whose required temperature is computed, such as 25; "
      "NOMINAL=DEGREES, such as 5=8, holds other walls at another temperature, and 0=-10 the "
      "outside of plans from pictures");
  options.add("room-mean", value(question.target, "DEGREES"),
              "target: minimum mean temperature of a room, in °C");
  options.add("area-above", value(area_above, "DEGREES"),
              "target: temperature that --area-share of a room's area must exceed, in °C");
  options.add("area-share", value(question.area_share, "SHARE", 0.9).within(0, 1).above(0),
              "share of the area for --area-above, above 0 to 1");
  options.add("room-share", value(question.room_share, "SHARE", 0.95).within(0, 1).above(0),
              "share of the rooms that must reach the target, above 0 to 1");
  options.add(
      "max", value(question.max, "DEGREES", 100).within(absolute_zero, max_magnitude),
      "maximum wall temperature that is a valid result, in °C; the minimum is absolute zero");
  plans.declare_cell_size(options, question.cell_metres);
  declare_door(options, question.door, question.cell_metres);
  declare_min_cells(options, question.min_cells);
  options.add("whole-plans", flag(question.whole_plans), "treat each plan as one room");
  plans.declare(options);
  options.add_dependency("area-above", {"area-share"});
  options.check([&] {
    choose_goal(options, question, area_above);
    choose_walls(changes);
  });
  options.parse();
  plans.open();
  std::vector<double> kinds;
  std::vector<double> temperatures;
  for (const WallChange& change : changes) {
    kinds.push_back(change.kind);
    temperatures.push_back(change.temperatures.front());
  }
  question.wall = kinds.front();
  need.plans.resize(plans.ids().size());
  const auto take = [&](std::size_t index, const FloorPlan& floor_plan, const Superposition& all) {
    const Superposition linear = of_asked_wall(all, temperatures);
    const std::uint32_t door_cells =
        question.door.of({floor_plan.interior.rows, floor_plan.interior.cols});
    const auto rooms = question.whole_plans ? one_room(linear.now.cells.size())
                                            : room_cells_of(floor_plan, door_cells);
    PlanRequirements& plan = need.plans[index];
    plan = {plans.ids()[index], all.walls.front().cells > 0, linear.now.bound,
            room_requirements(question, linear, rooms), door_cells};
    plan.small_rooms = rooms.size() - plan.rooms.size();
    if (plans.ids().size() == 1 && !question.whole_plans)
      warn_of_default_door(floor_plan, question.door, question.cell_metres);
  };
  const int exit_status = plans.superpose(kinds, take);
  std::erase_if(need.plans, [](const PlanRequirements& plan) { return plan.id.empty(); });
  Report report = make_report(need);
  report.exit_status = exit_status;
  return report;
}

}  // namespace wallheat
