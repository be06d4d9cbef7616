#include "core/printable.hpp"

#include <cstddef>

namespace wallheat {
namespace {

/// The bytes of the UTF-8 character at the start of `text`; 0 where there is none.
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
  return bytes;
}

/// Those of ASCII and, in two bytes, those from U+0080 to U+009F.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  return first < 0x20 || first == 0x7f ||
         (first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0);
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

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const std::string_view character = text.substr(0, bytes == 0 ? 1 : bytes);
    if (bytes == 0 || is_control(character)) {
      for (const char letter : character) append_escaped(shown, letter);
    } else {
      shown += character;
    }
    text.remove_prefix(character.size());
  }
  return shown;
}

}  // namespace wallheat
