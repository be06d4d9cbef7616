#include "solve/solver_options.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "core/program.hpp"
#include "core/text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// The solver's own version: changes when its answers could.
std::string_view version_of(SolverKind kind) {
  switch (kind) {
    case SolverKind::jacobi:
      return "1";
    case SolverKind::fastforward:
      return "3";
    case SolverKind::steady:
      return "3";
  }
  return "unknown";
}

}  // namespace

std::string_view to_string(SolverKind kind) {
  switch (kind) {
    case SolverKind::jacobi:
      return "jacobi";
    case SolverKind::fastforward:
      return "fastforward";
    case SolverKind::steady:
      return "steady";
  }
  return "unknown";
}

std::string_view to_string(Norm norm) { return norm == Norm::max ? "max" : "l2"; }

std::unique_ptr<Solver> SolverOptions::make() const {
  switch (kind) {
    case SolverKind::fastforward:
      return make_fastforward_solver(isa);
    case SolverKind::steady:
      return make_steady_solver(isa);
    case SolverKind::jacobi:
      break;
  }
  return reference ? make_reference_solver() : make_jacobi_solver(isa);
}

std::string SolverOptions::device_text() const {
  return reference ? "cpu reference" : "cpu " + std::string(to_string(isa));
}

std::string SolverOptions::solver_text() const {
  return std::string(to_string(kind)) + " " + std::string(version_of(kind));
}

std::map<std::string, std::string> SolverOptions::settings() const {
  std::map<std::string, std::string> settings{
      {"solver", std::string(to_string(kind))},
      {"solver_version", std::string(version_of(kind))},
      {"max_iterations", std::to_string(limits.max_iterations)}};
  if (kind == SolverKind::steady) {
    settings["accuracy"] = format_repr(limits.accuracy);
  } else {
    settings["tolerance"] = format_repr(limits.tolerance);
    if (limits.norm != Norm::max) settings["norm"] = to_string(limits.norm);
  }
  if (limits.spacing != SolveParameters{}.spacing)
    settings["spacing"] = format_repr(limits.spacing);
  if (!walls.empty()) settings["wall"] = to_text(walls);
  constexpr Thresholds defaults;
  if (thresholds.above != defaults.above) settings["above"] = format_repr(thresholds.above);
  if (thresholds.below != defaults.below) settings["below"] = format_repr(thresholds.below);
  if (door)
    settings["rooms_door"] = door->cells == Door::automatic ? "auto" : std::to_string(door->cells);
  return settings;
}

SolverOptions recorded_solver(const std::string& file,
                              const std::map<std::string, std::string>& settings) {
  const auto is_there = [&](const char* name) { return settings.contains(name); };
  const auto setting = [&](const char* name) {
    if (!is_there(name)) throw RunError(file + " does not say its " + name);
    return settings.at(name);
  };
  // If not, no run can have written that.
  const auto require = [&](bool is_right, const char* name) {
    if (!is_right)
      throw RunError(file + ": its " + name + " is '" + escape_control_chars(setting(name)) + "'");
  };
  const auto read = [&]<class Number>(const char* name, Number& to, double least) {
    const auto number = parse_number<Number>(setting(name));
    require(number && static_cast<double>(*number) >= least &&
                *number <= std::numeric_limits<Number>::max(),
            name);
    to = *number;
  };
  SolverOptions options;
  options.isa = available_isas().back();
  constexpr std::array kinds{SolverKind::jacobi, SolverKind::fastforward, SolverKind::steady};
  const auto* const kind = std::ranges::find(
      kinds, setting("solver"), [](SolverKind each) { return std::string(to_string(each)); });
  require(kind != kinds.end(), "solver");
  options.kind = *kind;
  (void)setting("solver_version");
  read("max_iterations", options.limits.max_iterations, 0);
  if (options.kind == SolverKind::steady) {
    read("accuracy", options.limits.accuracy, 0);
  } else {
    read("tolerance", options.limits.tolerance, 0);
    if (is_there("norm")) {
      options.limits.norm = setting("norm") == "l2" ? Norm::l2 : Norm::max;
      require(setting("norm") == to_string(options.limits.norm), "norm");
    }
  }
  if (is_there("spacing")) read("spacing", options.limits.spacing, 0);
  if (is_there("above")) read("above", options.thresholds.above, -max_magnitude);
  if (is_there("below")) read("below", options.thresholds.below, -max_magnitude);
  if (is_there("wall")) {
    options.walls = parse_wall_overrides(setting("wall")).value_or(WallOverrides());
    require(!options.walls.empty(), "wall");
  }
  if (is_there("rooms_door")) {
    options.door = Door();
    if (setting("rooms_door") != "auto") read("rooms_door", options.door->cells, 0);
    require(options.door->cells <= max_door_cells, "rooms_door");
  }
  return options;
}

}  // namespace wallheat
