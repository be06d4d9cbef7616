#pragma once

#include <filesystem>

namespace wallheat {

/// The three real floor plans, where they exist.
inline const std::filesystem::path shared_plans = WALLHEAT_SHARED_FLOORPLANS;

}  // namespace wallheat
