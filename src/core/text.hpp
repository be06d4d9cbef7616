#pragma once

#include <charconv>
#include <cstddef>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace wallheat {

/// The whole text as a number; nothing if it is none, or does not fit.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Two numbers with this sign between them, as 0:25; nothing if there are not.
template <class First, class Second = First>
std::optional<std::pair<First, Second>> parse_pair(char sign, std::string_view text) {
  const std::size_t at = text.find(sign);
  if (at == std::string_view::npos) return std::nullopt;
  const auto first = parse_number<First>(text.substr(0, at));
  const auto second = parse_number<Second>(text.substr(at + 1));
  if (!first || !second) return std::nullopt;
  return std::pair(*first, *second);
}

/// "plan" of 1, "plans" of 5: of a noun whose plural has an s more.
[[nodiscard]] inline std::string pluralize(std::size_t count, const std::string& noun) {
  return count == 1 ? noun : noun + "s";
}
/// "1 plan", "5 plans".
[[nodiscard]] inline std::string count_text(std::size_t count, const std::string& one,
                                            const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}
[[nodiscard]] inline std::string count_text(std::size_t count, const std::string& noun) {
  return count_text(count, noun, noun + "s");
}

/// A double as Python's repr prints it: the shortest text that reads back the same, always with a
/// point or an exponent ("100.0", "1e-05"), "nan", "inf", "-inf".
[[nodiscard]] std::string format_repr(double value);

/// Text from outside (an id, a path, a sentence with one of them), safe to show: control
/// characters, and bytes that are no UTF-8, become \n, \t or \xNN, so that they neither move a
/// terminal's cursor nor begin a line of a log. All else stays as it is.
[[nodiscard]] std::string escape_control_chars(std::string_view text);
/// The same of a message, of which a file may have filled some thousand screens: its beginning.
[[nodiscard]] std::string escape_and_truncate(std::string_view message);

/// A time in UTC, in a format of strftime.
[[nodiscard]] std::string format_utc(std::time_t time, const char* format);

}  // namespace wallheat
