#include "view/bytes_text.hpp"

#include <fmt/format.h>

namespace wallheat {

std::string bytes_text(double bytes) {
  for (const char* unit : {"B", "kB", "MB", "GB"}) {
    if (bytes < 1000) return fmt::format("{:.3g} {}", bytes, unit);
    bytes /= 1000;
  }
  return fmt::format("{:.4g} TB", bytes);
}

std::string peak_memory_text(std::int64_t bytes) {
  return bytes > 0 ? bytes_text(static_cast<double>(bytes)) : "?";
}

}  // namespace wallheat
