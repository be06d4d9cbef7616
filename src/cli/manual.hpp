#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"

namespace wallheat {

/// A command as the overview names it, with what it declares.
struct CommandEntry {
  std::string name;
  std::string purpose;  ///< one line
  CommandText text;
};

/// Completion of the program's commands and options, to be sourced by that shell.
[[nodiscard]] std::string bash_completion(const std::vector<CommandEntry>& commands);
[[nodiscard]] std::string zsh_completion(const std::vector<CommandEntry>& commands);
[[nodiscard]] std::string fish_completion(const std::vector<CommandEntry>& commands);

/// Manual pages, for man: of the program, and of one of its commands.
[[nodiscard]] std::string manual_page(const std::vector<CommandEntry>& commands);
[[nodiscard]] std::string manual_page(const CommandEntry& command);

}  // namespace wallheat
