#pragma once

#include <string_view>

namespace wallheat {

/// Returns true if the text contains only printable characters of ASCII. This is so for almost all
/// texts, which need neither escapes nor a table of character widths.
[[nodiscard]] constexpr bool is_printable_ascii(std::string_view text) {
  bool is_printable = true;
  for (const char character : text) is_printable &= character >= ' ' && character <= '~';
  return is_printable;
}

}  // namespace wallheat
