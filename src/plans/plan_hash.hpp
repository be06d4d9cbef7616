#pragma once

#include <cstdint>

#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// XXH3 (64 bit) of what the solver gets: shape, start field, mask, and the source if there is one.
/// It does not depend on how the plan is stored (dtype, order), so a plan keeps its hash from one
/// container to another.
[[nodiscard]] std::uint64_t plan_hash(const FloorPlan& plan);

}  // namespace wallheat
