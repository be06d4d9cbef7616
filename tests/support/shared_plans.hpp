#pragma once

#include <filesystem>

namespace wallheat {

/// Directory of the three real floor plans; may not exist.
inline const std::filesystem::path shared_plans = WALLHEAT_SHARED_FLOORPLANS;

}  // namespace wallheat
