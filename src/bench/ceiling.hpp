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

/// Cell updates per second if nothing but their additions took time: the additions of independent
/// vectors that this core makes a second, divided by the three of an update, none of which can be
/// saved as their order is given. Measures for about 10 ms; the best of several tries.
[[nodiscard]] double measure_update_ceiling(Isa isa);

/// The best of several tries.
[[nodiscard]] std::vector<CopyRate> measure_copies();

}  // namespace wallheat
