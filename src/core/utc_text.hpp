#pragma once

#include <ctime>
#include <string>

namespace wallheat {

/// A time in UTC, in a format of strftime.
[[nodiscard]] std::string utc_text(std::time_t time, const char* format);

}  // namespace wallheat
