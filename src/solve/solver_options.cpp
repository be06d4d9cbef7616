#include "solve/solver_options.hpp"

#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "core/number_of.hpp"
#include "core/printable.hpp"
#include "core/python_float.hpp"
#include "core/version.hpp"
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

/// Calls visit(name, value) for everything that decides the answers, as result files keep it, or
/// visit(name, value, unsaid) where files do not name that value. Back ends are not part of it: all
/// give the same bits.
template <class Options, class Visit>
void visit_settings(Options& options, const Visit& visit) {
  auto& limits = options.limits;
  visit("solver", options.kind);
  visit("max_iterations", limits.max_iterations);
  if (options.kind == SolverKind::steady) {
    visit("accuracy", limits.accuracy);
  } else {
    visit("tolerance", limits.tolerance);
    visit("norm", limits.norm, Norm::max);
  }
  visit("spacing", limits.spacing, 1.0);
  visit("wall", options.walls, WallTemperatures{});
  visit("above", options.thresholds.above, Thresholds{}.above);
  visit("below", options.thresholds.below, Thresholds{}.below);
  visit("rooms_door", options.door, std::optional<Door>());
}

std::string setting_text(const WallTemperatures& walls) { return to_text(walls); }
std::string setting_text(const std::optional<Door>& door) {
  return door->cells == Door::automatic ? "auto" : std::to_string(door->cells);
}

template <class Value>
std::string setting_text(const Value& value) {
  if constexpr (std::is_same_v<Value, double>) return python_float(value);
  if constexpr (std::is_same_v<Value, std::int64_t>) return std::to_string(value);
  if constexpr (std::is_enum_v<Value>) return std::string(to_string(value));
}

// Each returns false where no run can have written that.

bool read_setting(const std::string& text, WallTemperatures& walls, double) {
  const auto read = wall_temperatures_in(text);
  walls = read.value_or(WallTemperatures());
  return !walls.empty();
}

bool read_setting(const std::string& text, std::optional<Door>& door, double) {
  const auto cells = number_of<std::int64_t>(text);
  door = Door{cells.value_or(Door::automatic)};
  return text == "auto" || (cells && *cells >= 0 && *cells <= largest_door);
}

template <class Value>
bool read_setting(const std::string& text, Value& value, double least) {
  if constexpr (std::is_enum_v<Value>) {
    for (const int number : {0, 1, 2}) {
      value = static_cast<Value>(number);
      if (text == to_string(value)) return true;
    }
    return false;
  } else {
    const auto number = number_of<Value>(text);
    value = number.value_or(-1);
    return number && static_cast<double>(value) >= least &&
           value <= std::numeric_limits<Value>::max();
  }
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
  std::map<std::string, std::string> settings{{"solver_version", std::string(version_of(kind))}};
  visit_settings(*this, [&](const char* name, const auto& value, const auto&... unsaid) {
    if (((value != unsaid) && ...)) settings[name] = setting_text(value);
  });
  return settings;
}

SolverOptions recorded_solver(const std::string& file,
                              const std::map<std::string, std::string>& settings) {
  const auto text_of = [&](const char* name) {
    const auto found = settings.find(name);
    if (found == settings.end()) throw RunError(file + " does not say its " + name);
    return found->second;
  };
  SolverOptions options;
  options.isa = available_isas().back();
  visit_settings(options, [&](const char* name, auto& value, const auto&... unsaid) {
    if (sizeof...(unsaid) > 0 && !settings.contains(name)) return;
    const std::string text = text_of(name);
    const bool threshold = name == std::string_view("above") || name == std::string_view("below");
    if (!read_setting(text, value, threshold ? -largest_value : 0))
      throw RunError(file + ": its " + name + " is '" + printable(text) + "'");
  });
  (void)text_of("solver_version");
  return options;
}

}  // namespace wallheat
