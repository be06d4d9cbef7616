#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "wallheat/solver.hpp"

namespace wallheat {

/// How fast memory of a certain nearness can be copied by one core.
struct CopyRate {
  std::string level;            ///< "L1", "L2", "beyond L2"
  std::size_t size_bytes = 0;   ///< read and written together
  double bytes_per_second = 0;  ///< read plus written
};

/// What this core could do at best, measured now.
struct Ceiling {
  /// Cell updates per second of the solver's own arithmetic on a dense grid that fits the
  /// first-level cache: no walls, no look at delta.
  double updates_per_second = 0;
  std::vector<CopyRate> copies;
};

/// Measures for about half a second; each figure is the best of several tries.
[[nodiscard]] Ceiling measure_ceiling(Isa isa);

}  // namespace wallheat
