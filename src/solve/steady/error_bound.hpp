#pragma once

#include "wallheat/floor_plan.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// Proves how far a field can be from a plan's steady state: no cell is farther than this, in °C.
/// It takes nothing on trust: the residual is computed from the field, and the function that turns
/// it into a bound (see steady.cpp) is found by the steady solver, but checked here, by plain
/// loops.
/// `field` has the plan's shape; its fixed cells are the plan's. Of the limits, only the spacing
/// matters. Infinite where nothing is proven. Throws InputError as source_terms() does.
[[nodiscard]] double proven_error_bound(const FloorPlan& plan, const Limits& limits,
                                        const Grid<double>& field);

}  // namespace wallheat
