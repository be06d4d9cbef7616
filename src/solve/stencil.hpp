#pragma once

// The update and the stopping rule, once, for every back end on host and device.

namespace wallheat {

/// The sum of a cell's neighbours, added in the reference's order.
constexpr double neighbour_sum(double left, double right, double up, double down) {
  return ((left + right) + up) + down;
}

/// A quarter of a sum of four neighbours, and maybe a source's term. It is exact.
constexpr double quarter(double sum) { return 0.25 * sum; }

/// The new value of a cell from its neighbours' old values.
constexpr double updated(double left, double right, double up, double down) {
  return quarter(neighbour_sum(left, right, up, down));
}

/// The same with a source, whose term (spacing^2 f) is added in the order of the program for
/// Poisson's equation that it reproduces: rows before columns.
constexpr double updated_with_source(double left, double right, double up, double down,
                                     double term) {
  return quarter(neighbour_sum(up, down, left, right) + term);
}

/// True if an iteration with this largest change is the last.
constexpr bool has_converged(double delta, double tolerance) { return delta < tolerance; }

}  // namespace wallheat
