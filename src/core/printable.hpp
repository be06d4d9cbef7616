#pragma once

#include <string>
#include <string_view>

namespace wallheat {

/// Text from outside (an id, a path, a sentence with one of them), safe to show: control
/// characters, and bytes that are no UTF-8, become \n, \t or \xNN, so that they neither move a
/// terminal's cursor nor begin a line of a log. All else stays as it is.
[[nodiscard]] std::string printable(std::string_view text);
/// The same of a message, of which a file may have filled some thousand screens: its beginning.
[[nodiscard]] std::string printable_message(std::string_view message);

}  // namespace wallheat
