#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wallheat/grid.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {

// The larger and the smaller of two numbers; NaN if one of them is NaN, which std::max and std::min
// may drop. Always inlined, as files that are compiled for different processors use them.

[[gnu::always_inline]] inline constexpr double nan_max(double one, double other) {
  return one >= other || one != one ? one : other;
}

[[gnu::always_inline]] inline constexpr double nan_min(double one, double other) {
  return -nan_max(-one, -other);
}

// The temperatures that are summarised: taken out of the field once, for all that is asked of them.

/// How many of a mask's cells are not 0.
[[nodiscard]] std::int64_t count_interior(std::span<const std::uint8_t> mask);

/// Those of the cells where interior is not 0, in row-major order. Both have one shape.
[[nodiscard]] std::vector<double> interior_values(const Grid<double>& field,
                                                  const Grid<std::uint8_t>& interior);

/// How many values are on which side of the thresholds, if each may be wrong by a radius.
struct UncertainCounts {
  std::int64_t min_above = 0;  ///< certainly above
  std::int64_t max_above = 0;  ///< possibly above
  std::int64_t min_below = 0;
  std::int64_t max_below = 0;
  std::int64_t cells = 0;  ///< not farther than the radius from a threshold
  friend bool operator==(const UncertainCounts&, const UncertainCounts&) = default;
};

struct CellSummary {
  Statistics statistics;  ///< what statistics() of their field returns
  UncertainCounts uncertain;
};
/// `radius` in °C.
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

/// Sum in the order of numpy.sum on a contiguous array, so that the last bit is the reference's:
/// stretches of 8192 values (NumPy's buffer) one after another, each summed pairwise (blocks of at
/// most 128 values in eight running sums, halves split at a multiple of eight).
[[nodiscard]] double numpy_sum(std::span<const double> values);
/// The statistics of the interior's values in single precision, as NumPy returns them for float32.
[[nodiscard]] Statistics single_precision_statistics(std::span<const float> values);

/// How many cells down or up the next cell of its column is that is not interior, `most` (1 or
/// more) if that is farther; 0 for such a cell itself. What is around the grid is not interior.
[[nodiscard]] Grid<std::uint16_t> column_distances(const Grid<std::uint8_t>& interior,
                                                   std::uint16_t most);

}  // namespace wallheat
