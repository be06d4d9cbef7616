#pragma once

#include <limits>

#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// Which temperatures are asked for; the reference's are the defaults.
struct Thresholds {
  double above = 18;  ///< °C: cells above it are counted
  double below = 15;  ///< °C: cells below it are counted
  friend bool operator==(const Thresholds&, const Thresholds&) = default;
};

/// Stands for a number that is not known or does not exist.
inline constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// The reference's summary of a field over the interior cells; NaN if there are none.
struct Statistics {
  double mean_temp = nan_value;  ///< °C
  double std_temp = nan_value;   ///< °C, population
  double pct_above = nan_value;  ///< % of cells above Thresholds::above
  double pct_below = nan_value;  ///< % of cells below Thresholds::below
};

/// Statistics of a field (shape of the mask, °C) over the cells where interior is not 0, in
/// row-major order, bit for bit what the reference's NumPy calls return.
[[nodiscard]] Statistics statistics(const Grid<double>& field, const Grid<std::uint8_t>& interior,
                                    const Thresholds& thresholds = {});

}  // namespace wallheat
