#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

// What PTX's instructions do to values where C++ has no operator that does the same, as its manual
// says. Rounding is that of the host: to nearest.

namespace wallheat::ptx {

/// The bits of a register as a value of a type; of a wider register, its low bits.
template <class To, class From>
To as(From value) {
  if constexpr (sizeof(To) == sizeof(From)) {
    return std::bit_cast<To>(value);
  } else {
    static_assert(std::is_integral_v<To> && std::is_integral_v<From>);
    return static_cast<To>(value);
  }
}
/// The other way round: a wider register takes a value with its sign.
template <class Register, class Value>
void set(Register& to, Value value) {
  to = as<Register>(value);
}

template <class T>
T load(const std::byte* memory, std::size_t index) {
  T value;
  std::memcpy(&value, memory + index * sizeof(T), sizeof(T));
  return value;
}
template <class T>
void store(std::byte* memory, std::size_t index, T value) {
  std::memcpy(memory + index * sizeof(T), &value, sizeof(T));
}

template <class T>
T max(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::fmax(a, b);
  return std::max(a, b);
}
template <class T>
T min(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::fmin(a, b);
  return std::min(a, b);
}
/// A shift by as many bits as there are, or more, leaves none.
template <class T>
T shl(T a, std::uint32_t bits) {
  return bits >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << bits);
}
template <class T>
T shr(T a, std::uint32_t bits) {
  if (bits >= 8 * sizeof(T)) return a < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> bits);
}

/// Numbers that are out of range become the nearest there is; NaN becomes 0.
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if (std::isnan(value)) return 0;
    using Range = std::numeric_limits<To>;
    if (value >= std::ldexp(From{1}, Range::digits)) return Range::max();
    if (value <= static_cast<From>(Range::min())) return Range::min();
  }
  return static_cast<To>(value);
}

}  // namespace wallheat::ptx
