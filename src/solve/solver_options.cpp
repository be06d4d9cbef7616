#include "solve/solver_options.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "core/text.hpp"
#include "solve/solver_settings.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

struct SolverName {
  std::string_view name;
  std::string_view version;  ///< changes whenever the results of the solver might change
};
/// In the order of SolverKind.
constexpr std::array<SolverName, solver_kinds.size()> solver_names{
    {{"jacobi", "1"}, {"fastforward", "4"}, {"steady", "4"}}};
constexpr const SolverName& name_of(SolverKind kind) {
  return solver_names.at(static_cast<std::size_t>(kind));
}

std::string solver_version_text(const SolverOptions& solver) {
  return solver.kind == SolverKind::command ? solver.command.version
                                            : std::string(name_of(solver.kind).version);
}

using Settings = std::map<std::string, std::string>;

// Texts of settings, as result files contain them.
std::string setting_text(double number) { return format_repr(number); }
std::string setting_text(std::int64_t number) { return std::to_string(number); }
std::string setting_text(const WallOverrides& walls) { return to_text(walls); }
std::string setting_text(const std::optional<Door>& door) {
  return !door ? "" : door->cells == Door::automatic ? "auto" : std::to_string(door->cells);
}
template <class Word>
requires std::is_enum_v<Word> std::string setting_text(Word word) {
  return std::string(to_string(word));
}

// Each overload returns a description of the valid texts, such as "a number above 0", if the text
// is invalid, and otherwise sets the value and returns an empty string.
template <class Number>
requires std::is_arithmetic_v<Number>
[[nodiscard]] std::string set_value(Number& number, const std::string& text,
                                    const NumberRange& range) {
  const auto parsed = parse_number<Number>(text, range);
  number = parsed.value_or(number);
  return parsed ? "" : range_text<Number>(range);
}
template <class Word>
requires std::is_enum_v<Word>
[[nodiscard]] std::string set_value(Word& word, const std::string& text, const NumberRange&) {
  std::string words;
  for (const Word each : values_of(Word())) {
    if (setting_text(each) == text) {
      word = each;
      return "";
    }
    words += (words.empty() ? "one of " : ", ") + setting_text(each);
  }
  return words;
}
[[nodiscard]] std::string set_value(WallOverrides& walls, const std::string& text,
                                    const NumberRange&) {
  walls = parse_wall_overrides(text).value_or(WallOverrides());
  return walls.empty() ? "temperatures such as 5.0=8.0" : "";
}
[[nodiscard]] std::string set_value(std::optional<Door>& door, const std::string& text,
                                    const NumberRange&) {
  door = Door();
  return text == "auto" ? "" : set_value(door->cells, text, {0, max_door_cells});
}

/// Returns a visitor that reads the settings that `settings` contains. If a text is invalid, it
/// throws Error with a message that begins with `owner`.
template <class Error>
auto settings_reader(const std::string& owner, const Settings& settings) {
  return [owner, &settings](const SolverSetting& setting, auto& value) {
    const auto found = settings.find(setting.name);
    if (found == settings.end()) return;
    if (const auto valid = set_value(value, found->second, setting.range); !valid.empty())
      throw Error(owner + setting.name + " must be " + valid + ", not '" +
                  escape_control_chars(found->second) + "'");
  };
}

void require_recorded(const std::string& file, const Settings& settings, const std::string& name) {
  if (!settings.contains(name)) throw RunError(file + ": setting " + name + " not found");
}

}  // namespace

std::string_view to_string(SolverKind kind) {
  return kind == SolverKind::command ? "command" : name_of(kind).name;
}

std::string_view to_string(Norm norm) { return norm == Norm::max ? "max" : "l2"; }

std::string_view to_string(SolverBackend backend) {
  return backend == SolverBackend::vector ? "vector" : "reference";
}

std::unique_ptr<Solver> SolverOptions::make() const {
  switch (kind) {
    case SolverKind::fastforward:
      return make_fastforward_solver(isa);
    case SolverKind::steady:
      return make_steady_solver(isa);
    case SolverKind::command:
      throw RunError(
          "the plans are solved by a program of the user (--solver-command), which only run and "
          "verify start; store the fields with --save-fields");
    case SolverKind::jacobi:
      break;
  }
  return backend == SolverBackend::reference ? make_reference_solver() : make_jacobi_solver(isa);
}

std::string SolverOptions::device_text() const {
  if (kind == SolverKind::command) return std::string(command_device);
  return "cpu " +
         std::string(backend == SolverBackend::reference ? to_string(backend) : to_string(isa));
}

std::string SolverOptions::cpu_only_option() const {
  if (kind == SolverKind::command) return "";
  if (backend == SolverBackend::reference) return "--solver-backend reference";
  if (kind != SolverKind::jacobi) return "--solver " + std::string(to_string(kind));
  return limits.norm == Norm::max ? "" : "--norm l2";
}

std::string SolverOptions::solver_text() const {
  return std::string(to_string(kind)) + " " + solver_version_text(*this);
}

Settings SolverOptions::settings() const {
  Settings settings{{"solver_version", solver_version_text(*this)}};
  for_each_setting(
      [&](const SolverSetting& setting, const auto& value, const auto& usual) {
        if (setting.is_recorded(kind, value == usual)) settings[setting.name] = setting_text(value);
      },
      *this, SolverOptions());
  if (kind == SolverKind::command) {
    settings["solver_command"] = command.line;
    settings["solver_files"] = command.files;
    if (command.is_deterministic) settings["solver_deterministic"] = "yes";
  }
  return settings;
}

Thresholds recorded_thresholds(const std::string& file, const Settings& settings) {
  Thresholds thresholds;
  for (const char* const name : {"above", "below"}) require_recorded(file, settings, name);
  for_each_threshold(settings_reader<RunError>(file + ": its ", settings), thresholds);
  return thresholds;
}

SolverOptions recorded_solver(const std::string& file, const Settings& settings) {
  SolverOptions options;
  options.isa = available_isas().back();
  Settings built_in = settings;
  const auto text_of = [&](const char* name) {
    const auto found = settings.find(name);
    return found == settings.end() ? "" : found->second;
  };
  if (text_of("solver") == to_string(SolverKind::command)) {
    built_in.erase("solver");
    options.kind = SolverKind::command;
    options.command.line = text_of("solver_command");  // that it exists is required below
    options.command.files = text_of("solver_files");
    options.command.version = text_of("solver_version");
    options.command.is_deterministic = settings.contains("solver_deterministic");
  }
  for_each_setting(settings_reader<RunError>(file + ": its ", built_in), options);
  for (const auto& [name, text] : options.settings()) require_recorded(file, settings, name);
  return options;
}

SolverOptions make_solver_options(const Settings& settings) {
  SolverOptions options;
  options.isa = available_isas().back();
  for_each_setting(settings_reader<UsageError>("", settings), options);
  return options;
}

}  // namespace wallheat
