#pragma once

#include <cstdint>
#include <string>

#include "core/plan_source.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// XXH3 (64 bit) of what the solver gets: shape, start field, mask. It does not depend on how the
/// plan is stored (dtype, order), so a plan keeps its hash from one container to another.
[[nodiscard]] std::uint64_t plan_hash(const FloorPlan& plan);
/// The same of a plan of a source, in bounded memory however large the plan is. Throws InputError
/// and SourceUnavailable.
[[nodiscard]] std::uint64_t input_hash(const PlanSource& source, const std::string& id);

}  // namespace wallheat
