#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wallheat/grid.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {

// Maximum and minimum of two numbers that propagate NaN, unlike std::max and std::min. Always
// inlined, because files that are compiled for different instruction sets include them.

[[gnu::always_inline]] inline constexpr double nan_max(double one, double other) {
  return one >= other || one != one ? one : other;
}

[[gnu::always_inline]] inline constexpr double nan_min(double one, double other) {
  return -nan_max(-one, -other);
}

// Statistics of the interior cells of a field. The temperatures are copied out of the field once,
// and all statistics are computed from the copy.

/// Returns the number of cells of a mask that are not 0.
[[nodiscard]] std::int64_t count_interior(std::span<const std::uint8_t> mask);

/// Returns the values of the cells for which `interior` is not 0, in row-major order. Both grids
/// must have the same shape.
[[nodiscard]] std::vector<double> interior_values(const Grid<double>& field,
                                                  const Grid<std::uint8_t>& interior);

/// Numbers of values above and below the thresholds, if each value may be wrong by a radius.
struct UncertainCounts {
  std::int64_t min_above = 0;  ///< certainly above
  std::int64_t max_above = 0;  ///< possibly above
  std::int64_t min_below = 0;
  std::int64_t max_below = 0;
  std::int64_t cells = 0;  ///< uncertain cells: not farther than the radius from a threshold
  friend bool operator==(const UncertainCounts&, const UncertainCounts&) = default;
};

struct CellSummary {
  Statistics statistics;  ///< as statistics() returns them for the field
  UncertainCounts uncertain;
};
/// Summarizes the values of interior cells. `radius` is the error bound of each value, in °C.
[[nodiscard]] CellSummary summarize_cells(std::span<const double> values,
                                          const Thresholds& thresholds, double radius = 0);

/// Returns `count` as % of `all`, rounded as the reference program does: every share of cells is
/// computed by this function, so that equal counts give equal bits.
[[nodiscard]] constexpr double percent_of(std::int64_t count, std::int64_t all) {
  return static_cast<double>(count) / static_cast<double>(all) * 100;
}

/// Returns the median, as numpy.median does: the mean of the two middle values if their number is
/// even. Returns NaN if there is no value, or if one of them is NaN.
[[nodiscard]] double median(std::vector<double> values);

/// Returns the sum of the values in the order in which numpy.sum adds a contiguous array, so that
/// the last bit equals the reference's: blocks of 8192 values (NumPy's buffer) one after another,
/// each summed pairwise (blocks of at most 128 values in eight running sums, halves split at a
/// multiple of eight).
[[nodiscard]] double numpy_sum(std::span<const double> values);
/// Returns the statistics of interior values in single precision, as NumPy computes them for
/// float32.
[[nodiscard]] Statistics single_precision_statistics(std::span<const float> values);

/// Returns for each cell the distance, in cells, to the nearest cell in its column that is not
/// interior; 0 for a cell that is not interior itself. Distances are limited to `most`, which is at
/// least 1. Cells outside the grid count as not interior.
[[nodiscard]] Grid<std::uint16_t> column_distances(const Grid<std::uint8_t>& interior,
                                                   std::uint16_t most);

}  // namespace wallheat
