#include "cli/wall_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "core/exit_status.hpp"
#include "core/number_of.hpp"
#include "core/plural.hpp"
#include "core/printable.hpp"
#include "io/print_error.hpp"
#include "node/local_machine.hpp"
#include "plans/plan_source.hpp"
#include "run/catalogue.hpp"
#include "view/advice.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr std::size_t most_temperatures = 1000;

/// What stands between the letters of a text.
std::vector<std::string_view> parts_of(std::string_view text, char letter) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = std::min(text.find(letter), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

/// From, to and step, with the end if a step meets it. Empty where there are none, or too many.
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

WallChange wall_change_in(const std::string& text) {
  const UsageError refusal(
      fmt::format("--wall must be KIND=DEGREES or KIND=FROM:TO:STEP, as 25=22 or "
                  "25=18:30:1, at most {} temperatures, not '{}'",
                  most_temperatures, printable(text)));
  const auto number = [&](std::string_view word) {
    const auto found = number_of<double>(word);
    if (!found || !(std::abs(*found) <= largest_value)) throw refusal;
    return *found;
  };
  const auto sides = parts_of(text, '=');
  WallChange change{number(sides.front()), {}};
  if (sides.size() == 1) return change;
  std::vector<double> numbers;
  for (const std::string_view word : parts_of(sides.back(), ':')) numbers.push_back(number(word));
  if (numbers.size() == 1) change.temperatures = numbers;
  if (numbers.size() == 3) change.temperatures = steps_of(numbers[0], numbers[1], numbers[2]);
  if (sides.size() > 2 || change.temperatures.empty()) throw refusal;
  return change;
}

}  // namespace

std::vector<WallChange> wall_changes_in(const std::vector<std::string>& words) {
  std::vector<WallChange> changes;
  for (const std::string& word : words) {
    changes.push_back(wall_change_in(word));
    const double kind = changes.back().kind;
    if (std::ranges::count(changes, kind, &WallChange::kind) > 1)
      throw UsageError(fmt::format("--wall names {:.6g} twice", kind));
  }
  return changes;
}

void LinearPlans::declare(Options& options) {
  options.heading("Plans");
  options.add("data,d", file(data_, FileRole::plans, "PLANS"),
              "the floor plans: a directory or a zip archive, as for 'wallheat run'");
  options.add("id", value(ids_, "ID"), "a plan (also as an argument); default: all of --ids");
  options.add("ids", file(ids_file_, FileRole::read),
              "file with one id a line, # begins a comment (default: building_ids.txt of a "
              "directory or zip archive; all its plans if it has none)");
  options.add("first,n", value(first_, "N", 0), "only the first N ids; 0: all");
  options.add("threads,t", value(threads_, "N", 0), "threads that solve; 0: one for each core");
  options.add("accuracy", value(limits_.accuracy, "DEGREES", 1e-8, "1e-8"),
              "of a solved field, in °C; what is computed from it comes with a bound of its own");
  options.add("spacing", value(spacing_, "LENGTH"),
              "distance between neighbouring cells, as for 'wallheat solve'; matters to plans with "
              "ID_source.npy only");
  options.positional("id", -1);
  options.check([this] { check(); });
}

void LinearPlans::check() const {
  if (!ids_.empty() && !ids_file_.empty())
    throw UsageError("give ids as arguments or in --ids, not both");
  if (first_ < 0) throw UsageError("--first must be at least 0");
  if (threads_ < 0) throw UsageError("--threads must be at least 0");
  if (!std::isfinite(limits_.accuracy) || limits_.accuracy <= 0)
    throw UsageError("--accuracy must be a number above 0 (°C)");
  if (!std::isfinite(spacing_) || spacing_ < 0)
    throw UsageError("--spacing must be a number above 0");
}

void LinearPlans::open() {
  source_ = open_plan_source(data_);
  const PlanIds plans =
      requested_plans(*source_, ids_, ids_file_, static_cast<std::size_t>(first_));
  if (!plans.note.empty()) print_error("{}", printable(plans.note));
  ids_ = {plans.ids.begin(), plans.ids.end()};
  if (spacing_ == 0) spacing_ = spacing_of_plans(data_).value_or(0);
}

int LinearPlans::superpose(const std::vector<double>& kinds, const TakeSuperposition& take) const {
  WallTemperatures walls;
  for (const double kind : kinds) walls.push_back({kind, kind});
  require_wall_kinds(*source_, TextList(ids_), walls, [] { return false; });
  Limits limits = limits_;
  limits.spacing = spacing_ > 0 ? spacing_ : 1;
  const std::size_t threads = threads_ > 0 ? static_cast<std::size_t>(threads_)
                                           : std::max<std::size_t>(local_machine().cores.size(), 1);
  std::atomic_flag warned;
  const auto warn_and_take = [&](std::size_t index, const FloorPlan& plan,
                                 const Superposition& superposition) {
    if (plan.has_source() && spacing_ == 0 && !warned.test_and_set())
      print_error("wallheat: {}", unknown_spacing);
    take(index, plan, superposition);
  };
  auto told = std::chrono::steady_clock::now();
  const auto tell = [&](std::size_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (now - told < std::chrono::seconds(5)) return;
    told = now;
    print_error("solved {} of {}", done, counted(ids_.size(), "plan"));
  };
  const auto unusable =
      superpose_plans(*source_, ids_, kinds, limits, threads, warn_and_take, tell);
  if (ids_.size() == 1 && !unusable.empty()) throw RunError(unusable.front().reason);
  for (const UnusablePlan& plan : unusable)
    print_error("wallheat: {}", printable_message(plan.reason));
  if (unusable.size() == ids_.size()) throw RunError("none of the plans can be used");
  return unusable.empty() ? exit_done : exit_some_plans_failed;
}

}  // namespace wallheat
