#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wallheat {

/// A line of a configuration file: name = value.
struct Setting {
  std::string name, value;
};

/// A line that begins with # is a comment; blanks around name and value are dropped, and all else
/// is the value as it stands. Throws UsageError, without the file's name.
[[nodiscard]] std::vector<Setting> settings_in(std::string_view text);

/// Whether a line can hold the value: without a line break, or a blank at an end.
[[nodiscard]] bool can_be_set(std::string_view value);
[[nodiscard]] std::string line_of(const std::string& name, std::string_view value);

/// The text of a file or pipe. Throws UsageError if it cannot be read or is no configuration.
[[nodiscard]] std::string read_configuration_file(const std::string& file);

}  // namespace wallheat
