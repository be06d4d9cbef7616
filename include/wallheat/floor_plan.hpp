#pragma once

#include <cstdint>
#include <string>

#include "wallheat/grid.hpp"

namespace wallheat {

/// One building's floor plan: the boundary value problem that a solver gets.
struct FloorPlan {
  Grid<double> domain;  ///< start field in °C; cells that are not interior keep it for ever
  Grid<std::uint8_t> interior;  ///< 1 where the cell is room and is updated, else 0; same shape
  /// f of Poisson's equation -laplace(u) = f, in °C per square of the unit of
  /// SolveParameters::spacing, same shape; counts at interior cells. Empty (0 x 0) if there is no
  /// source.
  Grid<double> source{};

  [[nodiscard]] bool has_heat_source() const { return !source.cells.empty(); }
};

/// The largest value, either way, that a start field or a source may have: four neighbours of this
/// size still have a finite sum, so no iteration can make an infinity.
inline constexpr double max_magnitude = 1e300;

/// Throws InputError "<where>: the value in row r, column c is ..." if one is NaN, infinite or
/// beyond max_magnitude.
void require_finite_values(const Grid<double>& values, const std::string& where);

/// Number of interior cells.
[[nodiscard]] std::int64_t count_interior(const Grid<std::uint8_t>& interior);
[[nodiscard]] std::int64_t count_interior(const FloorPlan& plan);

}  // namespace wallheat
