#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wallheat {

/// A line of a configuration file: name = value.
struct Setting {
  std::string name, value;
};

/// Comments begin with # at the beginning of a line or behind a blank. A value in double quotes is
/// taken as it stands, but for \" \\ \n \r and \t. Throws UsageError, without the file's name.
[[nodiscard]] std::vector<Setting> settings_in(std::string_view text);

/// The line, with quotes where the value would be read as another one without.
[[nodiscard]] std::string line_of(const std::string& name, std::string_view value);

/// The text of a file or pipe. Throws UsageError where it cannot be read or is no configuration.
[[nodiscard]] std::string read_configuration_file(const std::string& file);

}  // namespace wallheat
