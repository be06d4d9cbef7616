#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "core/text.hpp"
#include "solve/solver_options.hpp"

// The table of solver settings. The options of the command line, configuration files, the
// configuration of solver processes, the settings in result files and the parameters of the Python
// module are derived from it. To add a setting, add a member to SolverOptions and a line here.

namespace wallheat {

/// Description of a setting. The type of its member determines how its text is parsed.
struct SolverSetting {
  /// Solvers whose results depend on the setting.
  enum class Affects { all_solvers, iterates, steady };
  /// Whether result files contain the setting.
  enum class Recorded {
    always,
    unless_default,  ///< for settings that are younger than the file format, so that old files
                     ///< agree
    never            ///< for settings that influence no bit of a result
  };

  const char* name;        ///< in result files and in Python; the option has '-' in place of '_'
  const char* value_name;  ///< placeholder of the value in the help
  Affects affects;
  Recorded recorded;
  const char* help;
  NumberRange range{};            ///< valid values, if the setting is a number
  const char* default_text = "";  ///< the default as the help prints it; empty: that of the member
  bool has_default = true;        ///< false: the plans determine the value if it is not given

  /// Returns true if the result files of a solver contain the setting with this value.
  [[nodiscard]] bool is_recorded(SolverKind kind, bool is_default) const {
    const auto others = kind == SolverKind::steady ? Affects::iterates : Affects::steady;
    return affects != others &&
           (recorded == Recorded::always || (recorded == Recorded::unless_default && !is_default));
  }
  /// Returns the name of its option, without dashes in front.
  [[nodiscard]] std::string option() const {
    std::string option = name;
    std::ranges::replace(option, '_', '-');
    return option;
  }
};

// The values of a setting whose texts are words, which to_string() returns.
constexpr auto values_of(SolverKind) { return solver_kinds; }
constexpr auto values_of(Norm) { return std::array{Norm::max, Norm::l2}; }
constexpr auto values_of(SolverBackend) {
  return std::array{SolverBackend::vector, SolverBackend::reference};
}
constexpr auto values_of(Isa) { return std::array{Isa::baseline, Isa::avx2, Isa::avx512}; }

// Each of these functions calls visit(setting, members...) for each of its settings, in the order
// of the help. Pass one SolverOptions to visit each setting with its value, or two to compare them:
// visit(setting, member of the first, member of the second).

template <class... Options>
void for_each_threshold(auto&& visit, Options&&... thresholds) {
  using enum SolverSetting::Affects;
  using enum SolverSetting::Recorded;
  constexpr NumberRange range{-max_magnitude, max_magnitude};
  visit(SolverSetting{"above", "DEGREES", all_solvers, always,
                      "count the cells above this temperature, in °C", range},
        thresholds.above...);
  visit(SolverSetting{"below", "DEGREES", all_solvers, always,
                      "count the cells below this temperature, in °C", range},
        thresholds.below...);
}

template <class... Options>
void for_each_problem_setting(auto&& visit, Options&&... options) {
  using enum SolverSetting::Affects;
  using enum SolverSetting::Recorded;
  visit(SolverSetting{"wall", "NOMINAL=DEGREES", all_solvers, unless_default,
                      "hold the walls with the nominal temperature NOMINAL °C at DEGREES °C, where "
                      "0 is the outside of plans from pictures; repeat for more walls, such as "
                      "--wall 5=8 --wall 25=22"},
        options.walls...);
  for_each_threshold(visit, options.thresholds...);
  visit(SolverSetting{"rooms_door", "CELLS", all_solvers, unless_default,
                      "also compute for each room: cells, bounding box, mean, minimum and maximum "
                      "temperature, and the cells above and below the thresholds"},
        options.door...);
}

template <class... Options>
void for_each_method_setting(auto&& visit, Options&&... options) {
  using enum SolverSetting::Affects;
  using enum SolverSetting::Recorded;
  constexpr NumberRange not_negative{.min = 0}, positive{.min = 0, .is_above = true};
  constexpr NumberRange at_least_one{.min = 1};
  visit(SolverSetting{"solver", "NAME", all_solvers, always,
                      "jacobi (bit-identical to the reference program), fastforward (the same "
                      "iterate to within 1e-11 of the largest temperature, several times faster) "
                      "or steady (the steady state with a proven error bound, faster still); only "
                      "jacobi runs on GPUs"},
        options.kind...);
  visit(SolverSetting{"tolerance", "DEGREES", iterates, always,
                      "stop when delta, the norm of the change in one iteration, is less than "
                      "this, in °C (not for steady)",
                      not_negative, "1e-4"},
        options.limits.tolerance...);
  visit(SolverSetting{"norm", "NAME", iterates, unless_default,
                      "norm of delta: max (largest change of a cell) or l2 (root of the sum of "
                      "squares; CPU only)"},
        options.limits.norm...);
  visit(SolverSetting{"spacing", "LENGTH", all_solvers, unless_default,
                      "grid spacing, in the unit of length of the heat sources; not needed for "
                      "plans without heat sources (default: spacing.txt of PLANS, otherwise 1)",
                      positive, "", false},
        options.limits.spacing...);
  visit(SolverSetting{"accuracy", "DEGREES", steady, always,
                      "maximum distance of any cell from the steady state, in °C (steady only)",
                      positive, "1e-8"},
        options.limits.accuracy...);
  visit(SolverSetting{"max_iterations", "N", all_solvers, always, "stop after N iterations",
                      at_least_one},
        options.limits.max_iterations...);
  visit(SolverSetting{"solver_backend", "NAME", iterates, never,
                      "implementation of jacobi: vector (fast) or reference (plain, for "
                      "comparison); the results are bit-identical"},
        options.backend...);
  visit(SolverSetting{"isa", "NAME", all_solvers, never,
                      "instruction set of the vectorised solvers: auto, avx512, avx2 or baseline"},
        options.isa...);
}

void for_each_setting(auto&& visit, auto&&... options) {
  for_each_method_setting(visit, options...);
  for_each_problem_setting(visit, options...);
}

}  // namespace wallheat
