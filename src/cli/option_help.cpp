#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "cli/options.hpp"
#include "view/terminal.hpp"

// What --help prints, and what a shell completes.

namespace wallheat {
namespace {

/// A command line that a shell takes, on as many lines as it needs.
std::string folded_example(std::string_view example, std::size_t columns) {
  constexpr std::size_t sign = 2;  // a backslash behind a blank
  std::istringstream lines(folded(fmt::format("  {}", example), columns - sign, 4));
  std::string text;
  for (std::string line; std::getline(lines, line);) text += (text.empty() ? "" : " \\\n") + line;
  return text + "\n";
}

/// The width of the terminal behind stdout, or behind stderr if stdout goes to a pager.
std::size_t help_columns() {
  auto terminal = terminal_columns(STDOUT_FILENO);
  if (!terminal) terminal = terminal_columns(STDERR_FILENO);
  return std::clamp<std::size_t>(terminal.value_or(80), 40, 110);
}

}  // namespace

std::string Options::help() const {
  const std::size_t columns = help_columns();
  constexpr std::size_t margin = 24;
  std::string text = folded(
      fmt::format("Usage: wallheat {} {}\n\n{}\n", command_, synopsis_, purpose_), columns, 0);
  std::string heading;
  for (const Option& option : table_) {
    if (heading != option.heading) text += fmt::format("\n{}:\n", heading = option.heading);
    std::string names = option.letter.empty() ? "      " : fmt::format("  -{}, ", option.letter);
    names += "--" + option.name;
    if (!option.value.name.empty()) names += " " + option.value.name;
    std::string description = option.text;
    if (!option.default_text.empty())
      description += fmt::format(" [default: {}]", option.default_text);
    const std::string filled = fmt::format("{:<{}}", names, margin - 1);
    const std::string body = folded(std::string(margin, ' ') + description, columns, margin);
    text += filled.size() < margin ? filled + ' ' + body.substr(margin) : filled + '\n' + body;
    text += '\n';
  }
  if (!examples_.empty()) text += "\nExamples:\n";
  for (const std::string& example : examples_) text += folded_example(example, columns);
  return text;
}

std::string Options::completions() const {
  const std::string word = arguments_.empty() ? "" : arguments_.back();
  const std::string before = arguments_.size() > 1 ? arguments_[arguments_.size() - 2] : "";
  const Option* const option = given_by(before);
  std::vector<std::string> words;
  if (option != nullptr && !option->value.name.empty()) {
    words = option->value.words;
  } else if (word.starts_with('-')) {
    for (const Option& each : table_) words.push_back("--" + each.name);
  } else if (!positional_.empty()) {
    words = find(positional_.front())->value.words;
  }
  std::string text;
  for (const std::string& each : words)
    if (each.starts_with(word)) text += each + "\n";
  return text;
}

}  // namespace wallheat
