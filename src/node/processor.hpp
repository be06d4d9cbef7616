#pragma once

#include <cstddef>
#include <string>

namespace wallheat {

/// What the system tells about a core of this machine. What it does not tell is empty or 0.
struct Processor {
  std::string model;
  double clock_hz = 0;  ///< the highest it may run at; if that is unknown, that of now
  std::size_t first_cache_bytes = 0;   ///< of data, of a core
  std::size_t second_cache_bytes = 0;  ///< of a core
  std::size_t third_cache_bytes = 0;   ///< shared by cores
};

[[nodiscard]] Processor local_processor();

}  // namespace wallheat
