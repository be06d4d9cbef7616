#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// A kind of wall, which a plan names by its temperature, and what it is held at instead.
struct WallOverride {
  double nominal = 0;      ///< °C, the value of its cells in the plan
  double temperature = 0;  ///< °C
  friend auto operator<=>(const WallOverride&, const WallOverride&) = default;
};

/// In the order of their kinds, each kind once.
using WallOverrides = std::vector<WallOverride>;

/// Holds the cells that are not interior and whose value is one of the kinds at other temperatures.
/// All at once: a wall that becomes another kind is not changed again.
void apply_wall_overrides(FloorPlan& plan, const WallOverrides& walls);

/// The kinds that a plan has: the values of its cells that are not interior.
[[nodiscard]] std::set<double> nominal_wall_temperatures(const FloorPlan& plan);

/// "0.0, 5.0, 25.0"; of many the first few, and how many more there are.
[[nodiscard]] std::string to_text(const std::set<double>& kinds);

/// "5.0=8.0 25.0=22.0", as result files keep them.
[[nodiscard]] std::string to_text(const WallOverrides& walls);

/// Reads "5=8 25=22", in any order. Nothing if that is no list of finite temperatures up to
/// max_magnitude, or names a kind twice.
[[nodiscard]] std::optional<WallOverrides> parse_wall_overrides(std::string_view text);

}  // namespace wallheat
