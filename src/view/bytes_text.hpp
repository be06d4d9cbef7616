#pragma once

#include <cstdint>
#include <string>

namespace wallheat {

/// An amount of memory or of storage for people, in powers of 1000: "512 B", "23.4 MB".
[[nodiscard]] std::string bytes_text(double bytes);

/// The same of a peak of memory, of which 0 is unknown: "?".
[[nodiscard]] std::string peak_memory_text(std::int64_t bytes);

}  // namespace wallheat
