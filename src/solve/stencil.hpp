#pragma once

// The update and the stopping rule, once, for every back end on host and device.

namespace wallheat {

/// The sum of a cell's neighbours, added in the reference's order.
constexpr double neighbour_sum(double left, double right, double up, double down) {
  return ((left + right) + up) + down;
}

/// The new value of a cell from its neighbours' old values. The multiplication by 0.25 is exact.
constexpr double updated(double left, double right, double up, double down) {
  return 0.25 * neighbour_sum(left, right, up, down);
}

/// True where an iteration with this largest change is the last.
constexpr bool has_converged(double delta, double tolerance) { return delta < tolerance; }

}  // namespace wallheat
