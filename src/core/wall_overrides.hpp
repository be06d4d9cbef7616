#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// A nominal wall temperature, which identifies a group of fixed cells in a plan, and the
/// temperature that replaces it.
struct WallOverride {
  double nominal = 0;      ///< °C, value of the cells in the plan
  double temperature = 0;  ///< °C
  friend auto operator<=>(const WallOverride&, const WallOverride&) = default;
};

/// In the order of the nominal temperatures, each of which occurs once.
using WallOverrides = std::vector<WallOverride>;

/// Sets the fixed cells whose value is a nominal temperature of `walls` to the temperature that
/// replaces it. All overrides are applied at once: a cell that gets the nominal temperature of
/// another override is not changed again.
void apply_wall_overrides(FloorPlan& plan, const WallOverrides& walls);

/// Returns the nominal wall temperatures of a plan: the values of its fixed cells.
[[nodiscard]] std::set<double> nominal_wall_temperatures(const FloorPlan& plan);

/// Returns text such as "0.0, 5.0, 25.0"; if there are many, the first few and the number of the
/// others.
[[nodiscard]] std::string to_text(const std::set<double>& kinds);

/// Returns text such as "5.0=8.0 25.0=22.0", which is the form in result files.
[[nodiscard]] std::string to_text(const WallOverrides& walls);

/// Parses text such as "5=8 25=22", in any order. Returns nullopt if the text is not a list of
/// finite temperatures up to max_magnitude, or if it contains a nominal temperature twice.
[[nodiscard]] std::optional<WallOverrides> parse_wall_overrides(std::string_view text);

}  // namespace wallheat
