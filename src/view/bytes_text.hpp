#pragma once

#include <string>

namespace wallheat {

/// An amount of memory or of storage for people, in powers of 1000: "512 B", "23.4 MB".
[[nodiscard]] std::string bytes_text(double bytes);

}  // namespace wallheat
