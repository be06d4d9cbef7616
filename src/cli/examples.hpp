#pragma once

#include <array>
#include <string_view>

namespace wallheat {

/// Two command lines that show what a command is for; empty for one that has none.
[[nodiscard]] std::array<std::string_view, 2> examples_of(std::string_view command);

}  // namespace wallheat
