#pragma once

#include <cstdint>
#include <string>

#include "wallheat/grid.hpp"

namespace wallheat {

/// The floor plan of one building, as a boundary value problem: find temperatures u with
/// -laplace(u) = f in the interior cells, where the fixed cells (all others) have given
/// temperatures. The cells around the grid are at 0 °C.
struct FloorPlan {
  /// Initial field in °C, shape (rows, cols). Fixed cells keep these temperatures.
  Grid<double> domain;
  /// Interior mask, same shape: 1 for interior cells, which a solver updates, and 0 for fixed
  /// cells.
  Grid<std::uint8_t> interior;
  /// Heat source f in °C per square of the unit of SolveParameters::spacing, same shape. Only the
  /// values in interior cells matter. Empty (0 x 0) if there is no heat source.
  Grid<double> source{};

  [[nodiscard]] bool has_heat_source() const { return !source.cells.empty(); }
};

/// Largest magnitude of the values of an initial field or a heat source. The sum of four neighbours
/// of this magnitude is finite, so no iteration overflows.
inline constexpr double max_magnitude = 1e300;

/// Throws InputError "<where>: the value in row r, column c is ..." if a value is NaN, or if its
/// magnitude exceeds max_magnitude.
void require_finite_values(const Grid<double>& values, const std::string& where);

/// Returns the number of interior cells.
[[nodiscard]] std::int64_t count_interior(const Grid<std::uint8_t>& interior);
[[nodiscard]] std::int64_t count_interior(const FloorPlan& plan);

}  // namespace wallheat
