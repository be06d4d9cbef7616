#pragma once

#include "io/system.hpp"
#include "store/result_path.hpp"

// For packs of plans; goes with them.
namespace wallheat {

inline std::filesystem::path result_path(const std::filesystem::path& file, System&) {
  return result_path(file);
}

}  // namespace wallheat
