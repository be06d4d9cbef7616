#pragma once

// The update and the stopping rule, once, for every back end on host and device.

namespace wallheat {

/// The new value of a cell from its neighbours' old values, added in the reference's order. The
/// multiplication by 0.25 is exact.
constexpr double updated(double left, double right, double up, double down) {
  return 0.25 * (((left + right) + up) + down);
}

/// True where an iteration with this largest change is the last.
constexpr bool has_converged(double delta, double tolerance) { return delta < tolerance; }

}  // namespace wallheat
