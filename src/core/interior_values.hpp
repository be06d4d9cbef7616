#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wallheat/statistics.hpp"

// The temperatures that are summarised: taken out of the field once, for all that is asked of them.
namespace wallheat {

/// How many of a mask's cells are not 0.
[[nodiscard]] std::int64_t count_interior(std::span<const std::uint8_t> mask);

/// Those of the cells where interior is not 0, in row-major order. Both have one shape.
[[nodiscard]] std::vector<double> interior_values(const Grid<double>& field,
                                                  const Grid<std::uint8_t>& interior);

/// How many values are on which side of the thresholds, if each may be wrong by a radius.
struct Doubt {
  std::int64_t above_least = 0;  ///< certainly above
  std::int64_t above_most = 0;   ///< possibly above
  std::int64_t below_least = 0;
  std::int64_t below_most = 0;
  std::int64_t cells = 0;  ///< not farther than the radius from a threshold
  friend bool operator==(const Doubt&, const Doubt&) = default;
};

struct CellSummary {
  Statistics statistics;  ///< what statistics() of their field returns
  Doubt doubt;
};
/// `radius` in °C.
[[nodiscard]] CellSummary summary_of(std::span<const double> values, const Thresholds& thresholds,
                                     double radius = 0);

/// Sum in the order of numpy.sum on a contiguous array, so that the last bit is the reference's:
/// stretches of 8192 values (NumPy's buffer) one after another, each summed pairwise (blocks of at
/// most 128 values in eight running sums, halves split at a multiple of eight).
[[nodiscard]] double numpy_sum(std::span<const double> values);
/// The statistics of the interior's values in single precision, as NumPy returns them for float32.
[[nodiscard]] Statistics single_precision_statistics(std::span<const float> values);

}  // namespace wallheat
