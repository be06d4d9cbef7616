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

/// Returns the version of a solver, which changes whenever its results might change.
std::string_view version_of(SolverKind kind) {
  switch (kind) {
    case SolverKind::jacobi:
      return "1";
    case SolverKind::fastforward:
      return "4";
    case SolverKind::steady:
      return "4";
  }
  return "unknown";
}

/// Settings that were recorded in a result file.
struct RecordedSettings {
  const std::string& file;
  const std::map<std::string, std::string>& settings;

  [[nodiscard]] bool contains(const char* name) const { return settings.contains(name); }
  [[nodiscard]] const std::string& text(const char* name) const {
    if (!contains(name)) throw RunError(file + " has no attribute " + name);
    return settings.at(name);
  }
  /// Throws RunError unless `is_valid`. No run can have written an invalid setting.
  void require(bool is_valid, const char* name) const {
    if (!is_valid)
      throw RunError(file + ": invalid " + name + " '" + escape_control_chars(text(name)) + "'");
  }
  template <class Number>
  void read(const char* name, double min, Number& to) const {
    const auto number = parse_number<Number>(text(name));
    require(number && static_cast<double>(*number) >= min &&
                *number <= std::numeric_limits<Number>::max(),
            name);
    to = *number;
  }
};

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

std::string SolverOptions::cpu_only_option() const {
  if (reference) return "--solver-backend reference";
  if (kind != SolverKind::jacobi) return "--solver " + std::string(to_string(kind));
  return limits.norm == Norm::max ? "" : "--norm l2";
}

std::string SolverOptions::solver_text() const {
  return std::string(to_string(kind)) + " " + std::string(version_of(kind));
}

std::map<std::string, std::string> SolverOptions::settings() const {
  std::map<std::string, std::string> settings{
      {"solver", std::string(to_string(kind))},
      {"solver_version", std::string(version_of(kind))},
      {"max_iterations", std::to_string(limits.max_iterations)},
      {"above", format_repr(thresholds.above)},
      {"below", format_repr(thresholds.below)}};
  if (kind == SolverKind::steady) {
    settings["accuracy"] = format_repr(limits.accuracy);
  } else {
    settings["tolerance"] = format_repr(limits.tolerance);
    if (limits.norm != Norm::max) settings["norm"] = to_string(limits.norm);
  }
  if (limits.spacing != SolveParameters{}.spacing)
    settings["spacing"] = format_repr(limits.spacing);
  if (!walls.empty()) settings["wall"] = to_text(walls);
  if (door)
    settings["rooms_door"] = door->cells == Door::automatic ? "auto" : std::to_string(door->cells);
  return settings;
}

Thresholds recorded_thresholds(const std::string& file,
                               const std::map<std::string, std::string>& settings) {
  const RecordedSettings recorded{file, settings};
  Thresholds thresholds;
  recorded.read("above", -max_magnitude, thresholds.above);
  recorded.read("below", -max_magnitude, thresholds.below);
  return thresholds;
}

SolverOptions recorded_solver(const std::string& file,
                              const std::map<std::string, std::string>& settings) {
  const RecordedSettings recorded{file, settings};
  SolverOptions options;
  options.isa = available_isas().back();
  constexpr std::array kinds{SolverKind::jacobi, SolverKind::fastforward, SolverKind::steady};
  const auto* const kind = std::ranges::find(
      kinds, recorded.text("solver"), [](SolverKind each) { return std::string(to_string(each)); });
  recorded.require(kind != kinds.end(), "solver");
  options.kind = *kind;
  (void)recorded.text("solver_version");
  recorded.read("max_iterations", 0, options.limits.max_iterations);
  if (options.kind == SolverKind::steady) {
    recorded.read("accuracy", 0, options.limits.accuracy);
  } else {
    recorded.read("tolerance", 0, options.limits.tolerance);
    if (recorded.contains("norm")) {
      options.limits.norm = recorded.text("norm") == "l2" ? Norm::l2 : Norm::max;
      recorded.require(recorded.text("norm") == to_string(options.limits.norm), "norm");
    }
  }
  if (recorded.contains("spacing")) recorded.read("spacing", 0, options.limits.spacing);
  options.thresholds = recorded_thresholds(file, settings);
  if (recorded.contains("wall")) {
    options.walls = parse_wall_overrides(recorded.text("wall")).value_or(WallOverrides());
    recorded.require(!options.walls.empty(), "wall");
  }
  if (recorded.contains("rooms_door")) {
    options.door = Door();
    if (recorded.text("rooms_door") != "auto") recorded.read("rooms_door", 0, options.door->cells);
    recorded.require(options.door->cells <= max_door_cells, "rooms_door");
  }
  return options;
}

}  // namespace wallheat
