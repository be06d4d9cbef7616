#pragma once

#include <string>
#include <string_view>
#include <vector>

// The syntax of configuration files.

namespace wallheat {

/// A line of a configuration file: name = value.
struct Setting {
  std::string name, value;
};

/// Parses a configuration file. Lines that begin with # are comments. Blanks around names and
/// values are removed; the rest of a value is taken literally. Throws UsageError with a message
/// that does not contain the name of the file.
[[nodiscard]] std::vector<Setting> parse_settings(std::string_view text);

/// Returns true if a line of a configuration file can contain the value: it has no line break, and
/// no blank at either end.
[[nodiscard]] bool fits_on_config_line(std::string_view value);
[[nodiscard]] std::string setting_line(const std::string& name, std::string_view value);

}  // namespace wallheat
