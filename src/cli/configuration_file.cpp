#include "cli/configuration_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/printable.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";
constexpr std::array escapes{std::pair('"', '"'), std::pair('\\', '\\'), std::pair('n', '\n'),
                             std::pair('r', '\r'), std::pair('t', '\t')};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

bool is_blank(char letter) { return blanks.find(letter) != std::string_view::npos; }

std::string_view without_comment(std::string_view text) {
  for (std::size_t at = text.find('#'); at != std::string_view::npos; at = text.find('#', at + 1))
    if (at == 0 || is_blank(text[at - 1])) return text.substr(0, at);
  return text;
}

/// `text` begins with the quote.
std::string unquoted(std::string_view text) {
  std::string value;
  for (std::size_t at = 1; at < text.size(); ++at) {
    char letter = text[at];
    if (letter == '"') {
      if (trimmed(without_comment(text.substr(at + 1))).empty()) return value;
      throw UsageError("there is more behind the value in quotes");
    }
    if (letter == '\\') {
      const char code = ++at < text.size() ? text[at] : ' ';
      const auto* const found = std::find_if(escapes.begin(), escapes.end(),
                                             [&](const auto& pair) { return pair.first == code; });
      if (found == escapes.end())
        throw UsageError(R"(within quotes, a \ stands before ", \, n, r or t only)");
      letter = found->second;
    }
    value += letter;
  }
  throw UsageError("the quote that begins the value is not closed");
}

Setting setting_in(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || trimmed(line.substr(0, equals)).empty())
    throw UsageError("it is neither 'name = value' nor a comment, which begins with #");
  const std::string_view text = line.substr(equals + 1);
  const std::string_view value = trimmed(text);
  return {std::string(trimmed(line.substr(0, equals))),
          value.starts_with('"') ? unquoted(value) : std::string(trimmed(without_comment(text)))};
}

}  // namespace

std::vector<Setting> settings_in(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // some editors' mark of UTF-8
  std::vector<Setting> settings;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (trimmed(line).empty() || trimmed(line).starts_with('#')) continue;
    try {
      settings.push_back(setting_in(line));
    } catch (const UsageError& error) {
      constexpr std::size_t longest = 80;
      throw UsageError(fmt::format("line {}, '{}': {}", number,
                                   printable(trimmed(line).substr(0, longest)), error.what()));
    }
  }
  return settings;
}

std::string line_of(const std::string& name, std::string_view value) {
  const bool plain = !value.empty() && value.find_first_of("#\"\\\n\r") == std::string_view::npos &&
                     trimmed(value).size() == value.size();
  if (plain) return fmt::format("{} = {}\n", name, value);
  std::string quoted;
  for (const char letter : value) {
    const auto* const found = std::find_if(escapes.begin(), escapes.end(),
                                           [&](const auto& pair) { return pair.second == letter; });
    if (found == escapes.end()) {
      quoted += letter;
    } else {
      quoted += {'\\', found->first};
    }
  }
  return fmt::format("{} = \"{}\"\n", name, quoted);
}

std::string read_configuration_file(const std::string& file) {
  constexpr std::size_t longest = std::size_t{1} << 26;  // more than a command line can hold
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  if (!std::filesystem::is_directory(file)) {
    std::array<char, 1 << 16> part{};
    while (stream && text.size() <= longest) {
      stream.read(part.data(), part.size());
      text.append(part.data(), static_cast<std::size_t>(stream.gcount()));
    }
  }
  if (text.size() > longest)
    throw UsageError(
        fmt::format("{} is no configuration file: it has more than 64 MiB", printable(file)));
  if (!stream.eof())
    throw UsageError(fmt::format("the configuration file {} cannot be read", printable(file)));
  return text;
}

}  // namespace wallheat
