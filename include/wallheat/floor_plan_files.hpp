#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// Reads a plan from a directory: {id}_domain.npy (float64, float32 or integers), {id}_interior.npy
/// (bool, uint8, or any numbers that are 0 or 1) and, if it exists, {id}_source.npy (types as for
/// the domain). Throws InputError if one of the first two files does not exist, if a file is
/// malformed, if their shapes differ, if a grid has no cells, or if a value is NaN, infinite or
/// beyond max_magnitude.
[[nodiscard]] FloorPlan load_floor_plan(const std::filesystem::path& directory,
                                        const std::string& id);

/// Writes a plan to a directory, for load_floor_plan(): float64 and bool in C order. If the plan
/// has no heat source, removes an existing {id}_source.npy. Throws RunError if a file cannot be
/// written.
void save_floor_plan(const std::filesystem::path& directory, const std::string& id,
                     const FloorPlan& plan);

}  // namespace wallheat
