#pragma once

#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>

namespace wallheat {

/// Returns the largest absolute difference between the elements of two ranges. Returns infinity if
/// their lengths differ or a difference is NaN, so that such ranges never count as close.
template <class Values, class Others>
[[nodiscard]] double farthest_apart(const Values& values, const Others& others) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (std::size(values) != std::size(others)) return infinite;
  long double farthest = 0;
  for (std::size_t i = 0; i < std::size(values); ++i) {
    const long double value = values[i];
    const long double apart = std::abs(value - others[i]);
    if (std::isnan(apart)) return infinite;
    if (apart > farthest) farthest = apart;
  }
  return static_cast<double>(farthest);
}

}  // namespace wallheat
