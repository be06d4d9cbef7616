#include "cli/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace {

constexpr std::string_view blanks = " \t\r\v\f";
std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

Setting setting_in(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || trimmed(line.substr(0, equals)).empty())
    throw UsageError("expected 'name = value' or a comment starting with #");
  return {std::string(trimmed(line.substr(0, equals))),
          std::string(trimmed(line.substr(equals + 1)))};
}

}  // namespace

std::vector<Setting> parse_settings(std::string_view text) {
  text = without_byte_order_mark(text);
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
                                   escape_control_chars(trimmed(line).substr(0, longest)),
                                   error.what()));
    }
  }
  return settings;
}

bool fits_on_config_line(std::string_view value) {
  return value.find_first_of("\n\r") == std::string_view::npos &&
         trimmed(value).size() == value.size();
}

std::string setting_line(const std::string& name, std::string_view value) {
  return fmt::format("{} = {}\n", name, value);
}

}  // namespace wallheat
