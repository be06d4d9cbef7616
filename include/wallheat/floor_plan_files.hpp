#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// Reads {id}_domain.npy (float64, float32 or whole numbers), {id}_interior.npy (bool, uint8, or
/// any numbers that are 0 or 1) and, if there is one, {id}_source.npy (numbers as in the domain)
/// from a directory. Throws InputError if one of the first two is missing or any is malformed,
/// their shapes differ, a grid has no cells, or a value is NaN, infinite or beyond 1e300.
[[nodiscard]] FloorPlan load_floor_plan(const std::filesystem::path& directory,
                                        const std::string& id);

/// Writes a plan as load_floor_plan reads it, float64 and bool in C order; if it has no source, a
/// file with one is removed. Throws RunError.
void save_floor_plan(const std::filesystem::path& directory, const std::string& id,
                     const FloorPlan& plan);

}  // namespace wallheat
