#pragma once

#include <string_view>

namespace wallheat {

/// This program's version, from CMake.
[[nodiscard]] std::string_view version();

/// The solver's own version: changes when its answers could.
constexpr std::string_view jacobi_version() { return "1"; }
/// The same of the other solvers.
constexpr std::string_view fastforward_version() { return "1"; }
constexpr std::string_view steady_version() { return "1"; }

}  // namespace wallheat
