#pragma once

#include <string_view>

namespace wallheat {

/// This program's version, from CMake.
[[nodiscard]] std::string_view version();

/// The solver's own version: changes when its answers could.
constexpr std::string_view jacobi_version() { return "1"; }

}  // namespace wallheat
