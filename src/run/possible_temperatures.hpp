#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "wallheat/plan_result.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// The range that a plan's temperatures cannot leave, as each is an average of four others.
struct TemperatureRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  [[nodiscard]] bool holds(double value) const { return value >= low && value <= high; }
  [[nodiscard]] double largest() const { return std::max(std::abs(low), std::abs(high)); }
};

/// From the smallest to the largest fixed or start value, and the ring of 0 °C where a room touches
/// it; wider by what a source can make, and a little, by what rounding can add.
[[nodiscard]] TemperatureRange possible_temperatures(const FloorPlan& plan,
                                                     const PlanResult& answer,
                                                     const Limits& limits);

}  // namespace wallheat
