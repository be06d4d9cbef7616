#pragma once

#include "io/posix_file.hpp"
#include "store/boundary.hpp"
#include "store/results/environment.hpp"

// For packs of plans; goes with them.
namespace wallheat::store {

enum class OwnKind { plans };

inline std::filesystem::path real_path(const StoreEnvironment&, const std::filesystem::path& file) {
  return real_path(file);
}
inline void require_own(const StoreEnvironment&, const std::filesystem::path& file, OwnKind) {
  require_own(file, "plans", "a pack of floor plans");
}

}  // namespace wallheat::store
