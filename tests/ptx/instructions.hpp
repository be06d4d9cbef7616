#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

// What PTX's instructions do to values, one function each, as its manual says. Rounding is that of
// the host: to nearest.

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

/// Signed numbers wrap around, too.
template <class T, class Operation>
T wrapped(T a, T b, const Operation& operation) {
  if constexpr (std::is_integral_v<T>) {
    using Bits = std::make_unsigned_t<T>;
    return static_cast<T>(operation(static_cast<Bits>(a), static_cast<Bits>(b)));
  } else {
    return operation(a, b);
  }
}
template <class T>
T add(T a, T b) {
  return wrapped(a, b, [](auto x, auto y) { return x + y; });
}
template <class T>
T sub(T a, T b) {
  return wrapped(a, b, [](auto x, auto y) { return x - y; });
}
template <class T>
T mul(T a, T b) {
  return wrapped(a, b, [](auto x, auto y) { return x * y; });
}
template <class T>
T mad(T a, T b, T c) {
  return add(mul(a, b), c);
}
template <class T>
T fma(T a, T b, T c) {
  return std::fma(a, b, c);
}
template <class T>
T div(T a, T b) {
  return a / b;
}
template <class T>
T rem(T a, T b) {
  return a % b;
}
/// A GPU's is less exact. Only the guess of how many sweeps are left uses it.
template <class T>
T rcp(T a) {
  return 1 / a;
}
template <class T>
T neg(T a) {
  if constexpr (std::is_integral_v<T>) return sub(T{0}, a);
  return -a;
}
template <class T>
T abs(T a) {
  return std::abs(a);
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
template <class T>
T bitwise_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
T bitwise_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
T bitwise_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
T bitwise_not(T a) {
  if constexpr (std::is_same_v<T, bool>) return !a;
  return static_cast<T>(~a);
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
/// `field` in place of so many bits of `into` from `first` on.
template <class T>
T bfi(T field, T into, std::uint32_t first, std::uint32_t bits) {
  const T mask = shl<T>(
      bits >= 8 * sizeof(T) ? static_cast<T>(-1) : static_cast<T>(shl<T>(T{1}, bits) - 1), first);
  return (into & ~mask) | (shl<T>(field, first) & mask);
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

template <class T>
bool is_eq(T a, T b) {
  return a == b;
}
template <class T>
bool is_lt(T a, T b) {
  return a < b;
}
template <class T>
bool is_le(T a, T b) {
  return a <= b;
}
template <class T>
bool is_gt(T a, T b) {
  return a > b;
}
template <class T>
bool is_ge(T a, T b) {
  return a >= b;
}
/// NaN is unequal to nothing here; below, each comparison with it is true.
template <class T>
bool is_ne(T a, T b) {
  return a < b || a > b;
}
template <class T>
bool is_equ(T a, T b) {
  return !is_ne(a, b);
}
template <class T>
bool is_neu(T a, T b) {
  return !(a == b);
}
template <class T>
bool is_ltu(T a, T b) {
  return !(a >= b);
}
template <class T>
bool is_leu(T a, T b) {
  return !(a > b);
}
template <class T>
bool is_gtu(T a, T b) {
  return !(a <= b);
}
template <class T>
bool is_geu(T a, T b) {
  return !(a < b);
}

}  // namespace wallheat::ptx
