#pragma once

namespace wallheat {

// The larger and the smaller of two numbers; NaN if one of them is NaN, which std::max and std::min
// may drop. Always inlined, as files that are compiled for different processors use them.

[[gnu::always_inline]] inline constexpr double larger(double one, double other) {
  return one >= other || one != one ? one : other;
}

[[gnu::always_inline]] inline constexpr double smaller(double one, double other) {
  return -larger(-one, -other);
}

}  // namespace wallheat
