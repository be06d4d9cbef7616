#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "solve/host_device.hpp"

namespace wallheat {

/// The natural logarithm of a number >= 0 that is not subnormal, within 4e-16 of itself; NaN of
/// NaN. std::log may differ between CPU and GPU in the last digit. This one does not, as it is made
/// of operations that both round alike: with x = m 2^e, log x = e log 2 + 2 artanh s for s = (m -
/// 1) / (m + 1), by artanh's power series.
[[nodiscard]] WALLHEAT_HOST_DEVICE inline double logarithm(double number) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (number == 0) return -infinity;
  if (!(number < infinity)) return number;
  constexpr double log_2 = 0.69314718055994530942;
  constexpr std::uint64_t bits_of_root = 0x3fe6a09e667f3bcd;  // of sqrt(1/2)
  constexpr int mantissa_bits = 52;
  const auto bits = std::bit_cast<std::uint64_t>(number);
  // m is from sqrt(1/2) to sqrt(2), so |s| < 0.172 and s^25 / 25 < 1e-20.
  const auto exponent = static_cast<std::int64_t>(bits - bits_of_root) >> mantissa_bits;
  const double m =
      std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << mantissa_bits));
  const double s = (m - 1) / (m + 1);
  double series = 0;
  for (int power = 23; power > 1; power -= 2) series = (series + 1.0 / power) * (s * s);
  return static_cast<double>(exponent) * log_2 + 2 * (s + s * series);
}

}  // namespace wallheat
