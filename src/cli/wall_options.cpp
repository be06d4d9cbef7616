#include "cli/wall_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "cli/plan_options.hpp"
#include "core/exit_status.hpp"
#include "core/number_of.hpp"
#include "core/plural.hpp"
#include "core/printable.hpp"
#include "io/print_error.hpp"
#include "node/local_machine.hpp"
#include "plans/plan_source.hpp"
#include "run/catalogue.hpp"
#include "view/advice.hpp"
#include "view/spelling.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr std::size_t most_temperatures = 1000;

/// From, to and step, with the end if a step meets it. Empty if they are too many, or none.
std::vector<double> steps_of(double from, double to, double step) {
  constexpr double rounding = 1e-9;
  const double count = std::floor((to - from) / step + rounding) + 1;
  std::vector<double> steps;
  if (!(count >= 1 && count <= static_cast<double>(most_temperatures))) return steps;
  for (double i = 0; i < count; ++i) {
    // 18 + 3 * 0.1 is 18.3, not 18.299999999999997.
    steps.push_back(*number_of<double>(fmt::format("{:.12g}", from + i * step)));
  }
  return steps;
}

/// Nothing for another form.
std::optional<WallChange> wall_change_in(const std::string& text) {
  const std::size_t sign = std::min(text.find('='), text.size());
  std::string list = text.substr(std::min(sign + 1, text.size()));
  std::ranges::replace(list, ':', ',');
  std::vector<double> numbers;
  bool are_all_valid = text.find(',') == std::string::npos;
  const auto add = [&](const std::string& word) {
    numbers.push_back(number_of<double>(word).value_or(INFINITY));
    are_all_valid = are_all_valid && std::abs(numbers.back()) <= largest_value;
  };
  add(text.substr(0, sign));
  if (sign < text.size())
    for (const std::string& word : words_of(list)) add(word);
  if (are_all_valid) {
    if (numbers.size() == 1) return WallChange{numbers[0], {}};
    if (numbers.size() == 2) return WallChange{numbers[0], {numbers[1]}};
    if (numbers.size() == 4)
      if (const auto steps = steps_of(numbers[1], numbers[2], numbers[3]); !steps.empty())
        return WallChange{numbers[0], steps};
  }
  return std::nullopt;
}

}  // namespace

void declare_wall_changes(Options& options, std::vector<WallChange>& changes, const char* name,
                          const char* help) {
  const auto take = [&changes](const std::string& text) {
    const auto change = wall_change_in(text);
    if (!change) return false;
    if (std::ranges::count(changes, change->kind, &WallChange::kind) > 0)
      throw UsageError(fmt::format("--wall names {:.6g} twice", change->kind));
    changes.push_back(*change);
    return true;
  };
  const std::string form = fmt::format(
      "KIND=DEGREES or KIND=FROM:TO:STEP, as 25=22 or 25=18:30:1, at most {} temperatures",
      most_temperatures);
  options.add("wall,w", word(name, form, take).repeated(), help);
}

void LinearPlans::declare(Options& options) {
  options.heading("Plans");
  declare_plans(options, data_, ids_, ids_file_, first_);
  options.add("threads,t", value(threads_, "N", 0), "threads that solve; 0: one for each core");
  options.add("accuracy", value(solver_.limits.accuracy, "DEGREES", 1e-8, "1e-8").above(0),
              "of a solved field, in °C");
  declare_spacing(options, solver_, data_);
}

void LinearPlans::open() {
  source_ = open_plan_source(data_);
  const PlanIds plans = requested_plans(*source_, ids_, ids_file_, first_);
  if (!plans.note.empty()) print_error("{}", printable(plans.note));
  ids_ = {plans.ids.begin(), plans.ids.end()};
}

int LinearPlans::superpose(const std::vector<double>& kinds, const TakeSuperposition& take) const {
  WallTemperatures walls;
  for (const double kind : kinds) walls.push_back({kind, kind});
  require_wall_kinds(*source_, TextList(ids_), walls, [] { return false; });
  const std::size_t threads =
      threads_ > 0 ? threads_ : std::max<std::size_t>(local_machine().cores.size(), 1);
  std::atomic_flag warned;
  const auto warn_and_take = [&](std::size_t index, const FloorPlan& plan,
                                 const Superposition& superposition) {
    if (plan.has_source() && !solver_.spacing_is_known && !warned.test_and_set())
      print_error("wallheat: {}", unknown_spacing);
    take(index, plan, superposition);
  };
  auto last_report = std::chrono::steady_clock::now();
  const auto tell = [&](std::size_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_report < std::chrono::seconds(5)) return;
    last_report = now;
    print_error("solved {} of {}", done, counted(ids_.size(), "plan"));
  };
  const auto unusable =
      superpose_plans(*source_, ids_, kinds, solver_.limits, threads, warn_and_take, tell);
  if (ids_.size() == 1 && !unusable.empty()) throw RunError(unusable.front().reason);
  for (const UnusablePlan& plan : unusable)
    print_error("wallheat: {}", printable_message(plan.reason));
  if (unusable.size() == ids_.size()) throw RunError("none of the plans can be used");
  return unusable.empty() ? exit_done : exit_some_plans_failed;
}

}  // namespace wallheat
