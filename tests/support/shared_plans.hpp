#pragma once

#include <filesystem>

namespace wallheat {

/// The three real floor plans, if they are here.
inline const std::filesystem::path shared_plans = WALLHEAT_SHARED_FLOORPLANS;

}  // namespace wallheat
