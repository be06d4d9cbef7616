#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "core/printable_ascii.hpp"

namespace wallheat {

std::optional<std::vector<std::string>> split_shell_words(std::string_view line) {
  std::vector<std::string> words;
  bool is_in_word = false;
  char quote = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char each = line[at];
    const bool is_blank = each == ' ' || each == '\t' || each == '\n';
    if (quote == 0 && is_blank) {
      is_in_word = false;
      continue;
    }
    if (!std::exchange(is_in_word, true)) words.emplace_back();
    const std::string_view next = line.substr(at + 1, 1);
    const bool is_escape = each == '\\' && !next.empty() &&
                           (quote == 0 || (quote == '"' && std::string_view("\"\\$`").find(next) !=
                                                               std::string_view::npos));
    if (each == quote)
      quote = 0;
    else if (quote == 0 && (each == '\'' || each == '"'))
      quote = each;
    else
      words.back() += is_escape ? line[++at] : each;
  }
  if (quote != 0) return std::nullopt;
  return words;
}

std::string format_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const double size = std::abs(value);
  const bool is_fixed = size == 0 || (size >= 1e-4 && size < 1e16);
  std::array<char, 32> buffer{};
  char* const end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    is_fixed ? std::chars_format::fixed : std::chars_format::scientific)
          .ptr;
  std::string text(buffer.data(), end);
  if (is_fixed && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string format_short(double value) {
  std::array<char, 32> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                     std::chars_format::general, 6);
  return {buffer.data(), written.ptr};
}

namespace {

/// Returns the length in bytes of the UTF-8 character at the start of `text`; 0 if it is not valid.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t bytes = first < 0x80                    ? 1
                            : first >= 0xc2 && first < 0xe0 ? 2
                            : first >= 0xe0 && first < 0xf0 ? 3
                            : first >= 0xf0 && first < 0xf5 ? 4
                                                            : 0;
  if (bytes > text.size()) return 0;
  for (std::size_t i = 1; i < bytes; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if (bytes > 2) {
    const unsigned char second = byte(1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90)) return 0;  // overlong
    if (first == 0xed && second >= 0xa0) return 0;  // half of a UTF-16 surrogate pair
    if (first == 0xf4 && second >= 0x90) return 0;  // beyond U+10FFFF
  }
  return bytes;
}

/// Returns true for the control characters of ASCII, for a byte that is not a character, for U+0080
/// to U+009F, and for characters that break lines or change the direction of text: U+2028 to
/// U+202E, and U+2066 to U+2069.
bool must_be_escaped(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) >= 0x7f;
  if (character.size() == 2) return byte(0) == 0xc2 && byte(1) < 0xa0;
  if (byte(0) != 0xe2) return false;
  return (byte(1) == 0x80 && byte(2) >= 0xa8 && byte(2) <= 0xae) ||
         (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9);
}

void append_escaped(std::string& text, char letter) {
  constexpr std::string_view digits = "0123456789abcdef";
  if (letter == '\n') {
    text += "\\n";
  } else if (letter == '\t') {
    text += "\\t";
  } else {
    const auto byte = static_cast<unsigned char>(letter);
    text += {'\\', 'x', digits[byte / 16U], digits[byte % 16U]};
  }
}

}  // namespace

std::string escape_control_chars(std::string_view text) {
  if (is_printable_ascii(text)) return std::string(text);
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::string_view character = first_character(text);
    if (must_be_escaped(character)) {
      for (const char letter : character) append_escaped(shown, letter);
    } else {
      shown += character;
    }
    text.remove_prefix(character.size());
  }
  return shown;
}

std::string escape_and_truncate(std::string_view message) {
  constexpr std::size_t most = 4000;
  std::string shown = escape_control_chars(message.substr(0, most));
  if (message.size() > most) shown += "... (truncated)";
  return shown;
}

std::string_view first_character(std::string_view text) {
  return text.substr(0, std::max<std::size_t>(character_bytes(text), 1));
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char letter) { return std::tolower(letter); });
  return lower;
}

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> words;
  words.reserve(1 + static_cast<std::size_t>(std::ranges::count(text, mark)));
  while (true) {
    const std::size_t end = std::min(text.find(mark), text.size());
    words.push_back(text.substr(0, end));
    if (end == text.size()) return words;
    text.remove_prefix(end + 1);
  }
}

std::string format_utc(std::time_t time, const char* format) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace wallheat
