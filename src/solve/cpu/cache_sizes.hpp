#pragma once

#include <cstddef>

namespace wallheat {

/// Sizes of this core's data caches in bytes.
struct CacheSizes {
  std::size_t first;
  std::size_t second;
};

/// As the system tells them, or small ones of today where it does not.
[[nodiscard]] CacheSizes cache_sizes();

}  // namespace wallheat
