#pragma once

#include <string_view>

namespace wallheat {

/// This program's version, from CMake.
[[nodiscard]] std::string_view version();

}  // namespace wallheat
