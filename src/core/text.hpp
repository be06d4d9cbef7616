#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// Parsing and formatting of text that is not specific to a part of the program.

namespace wallheat {

/// First bytes of a UTF-8 file that some programs write.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
[[nodiscard]] inline std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with(byte_order_mark) ? text.substr(byte_order_mark.size()) : text;
}

/// Parses the complete text as a number. Returns nullopt if it is not a number, or does not fit
/// into the type.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Valid values of a number. NaN and infinite numbers are never valid.
struct NumberRange {
  std::optional<double> min{}, max{};
  bool is_above = false;  ///< true: `min` itself is not valid
};

/// Parses the complete text as a number of the range. Returns nullopt if it is not one.
template <class Number>
std::optional<Number> parse_number(std::string_view text, const NumberRange& range) {
  const auto& [min, max, is_above] = range;
  const auto number = parse_number<Number>(text);
  if (!number) return std::nullopt;
  const auto value = static_cast<double>(*number);
  const bool is_too_small = min && (value < *min || (is_above && value == *min));
  return std::isfinite(value) && !is_too_small && !(max && value > *max) ? number : std::nullopt;
}

/// Formats a number with up to six significant digits, such as "0.1" or "1e+300".
[[nodiscard]] std::string format_short(double value);

/// Returns a description such as "a whole number of at least 1".
template <class Number>
std::string range_text(const NumberRange& range) {
  const auto& [min, max, is_above] = range;
  std::string text = std::is_integral_v<Number> ? "a whole number" : "a number";
  if (min && max && !is_above)
    return text + " from " + format_short(*min) + " to " + format_short(*max);
  if (min) text += (is_above ? " above " : " of at least ") + format_short(*min);
  if (max) text += " and at most " + format_short(*max);
  if (std::is_integral_v<Number> && !min)
    text += (std::is_signed_v<Number> ? " up to " : " from 0 to ") +
            std::to_string(std::numeric_limits<Number>::max());
  return text;
}

/// Parses two numbers with `sign` between them, such as 0:25. Returns nullopt if the text is not
/// such a pair.
template <class First, class Second = First>
std::optional<std::pair<First, Second>> parse_pair(char sign, std::string_view text) {
  const std::size_t at = text.find(sign);
  if (at == std::string_view::npos) return std::nullopt;
  const auto first = parse_number<First>(text.substr(0, at));
  const auto second = parse_number<Second>(text.substr(at + 1));
  if (!first || !second) return std::nullopt;
  return std::pair(*first, *second);
}

/// Splits a command line into words as a POSIX shell does: blanks separate words, and quotation
/// marks and backslashes quote. Nothing is expanded. Returns nullopt if a quotation mark is not
/// closed.
[[nodiscard]] std::optional<std::vector<std::string>> split_shell_words(std::string_view line);

/// Returns "plan" for 1 and "plans" for 5. Only for nouns that form the plural with s.
[[nodiscard]] inline std::string pluralize(std::size_t count, const std::string& noun) {
  return count == 1 ? noun : noun + "s";
}
/// Returns "1 plan" or "5 plans".
[[nodiscard]] inline std::string count_text(std::size_t count, const std::string& one,
                                            const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}
[[nodiscard]] inline std::string count_text(std::size_t count, const std::string& noun) {
  return count_text(count, noun, noun + "s");
}

/// Formats a double as Python's repr does: the shortest text that is parsed as the same number,
/// always with a point or an exponent ("100.0", "1e-05"), "nan", "inf" or "-inf".
[[nodiscard]] std::string format_repr(double value);

/// Escapes control characters and invalid UTF-8 in untrusted text (an ID, a path, a message that
/// contains one) as \n, \t or \xNN, so that it can neither move the cursor nor forge a log line.
/// All other bytes are unchanged.
[[nodiscard]] std::string escape_control_chars(std::string_view text);
/// Escapes a message like escape_control_chars(), and truncates it, because a file may have filled
/// it with thousands of lines.
[[nodiscard]] std::string escape_and_truncate(std::string_view message);

/// Returns the first UTF-8 character of a text that is not empty; its first byte if that begins no
/// valid character.
[[nodiscard]] std::string_view first_character(std::string_view text);

/// Returns the text with the ASCII characters A to Z in lower case.
[[nodiscard]] std::string to_lower(std::string_view text);

/// Splits a text at each `mark`. Returns views into the text, one of them even if the text is
/// empty.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char mark);

/// Returns a time in UTC, in a format of strftime.
[[nodiscard]] std::string format_utc(std::time_t time, const char* format);

}  // namespace wallheat
