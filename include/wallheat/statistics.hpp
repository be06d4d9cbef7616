#pragma once

#include <limits>
#include <span>

#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// The reference's summary of a field over the interior cells; NaN where there are none.
struct Statistics {
  double mean_temp = std::numeric_limits<double>::quiet_NaN();     ///< °C
  double std_temp = std::numeric_limits<double>::quiet_NaN();      ///< °C, population
  double pct_above_18 = std::numeric_limits<double>::quiet_NaN();  ///< % of cells above 18 °C
  double pct_below_15 = std::numeric_limits<double>::quiet_NaN();  ///< % of cells below 15 °C
};

/// Sum in NumPy's order (pairwise: blocks of at most 128 values in eight running sums), so that the
/// last bit is the reference's.
[[nodiscard]] double pairwise_sum(std::span<const double> values);

/// Statistics of a field (shape of the mask, °C) over the cells where interior is not 0, in row-major
/// order, bit for bit what the reference's NumPy calls return.
[[nodiscard]] Statistics statistics(const Grid<double>& field, const Grid<std::uint8_t>& interior);

}  // namespace wallheat
