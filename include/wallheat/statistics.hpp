#pragma once

#include <limits>

#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// Temperatures at which cells are counted. The defaults are those of the reference program.
struct Thresholds {
  double above = 18;  ///< °C; counts cells that are warmer
  double below = 15;  ///< °C; counts cells that are colder
  friend bool operator==(const Thresholds&, const Thresholds&) = default;
};

/// Value of a number that is unknown or does not exist.
inline constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// The statistics that the reference program prints, over the interior cells; NaN if there are
/// none.
struct Statistics {
  double mean_temp = nan_value;  ///< °C
  double std_temp = nan_value;   ///< °C; population standard deviation
  double pct_above = nan_value;  ///< % of cells above Thresholds::above
  double pct_below = nan_value;  ///< % of cells below Thresholds::below
};

/// Returns the statistics of a field in °C, with the shape of the mask, over the cells whose mask
/// is not 0. The values are bit-identical to those of the NumPy functions that the reference
/// program calls.
[[nodiscard]] Statistics statistics(const Grid<double>& field, const Grid<std::uint8_t>& interior,
                                    const Thresholds& thresholds = {});

}  // namespace wallheat
