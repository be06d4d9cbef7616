#include "cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <cstdio>
#include <iterator>
#include <sstream>

#include "cli/configuration.hpp"
#include "core/text.hpp"
#include "io/files.hpp"
#include "mpi/mpi_environment.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace po = boost::program_options;

namespace wallheat {
namespace {

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return std::toupper(letter); });
  return text;
}

constexpr const char* common_heading = "All commands";

/// Returns "a", "a and b" or "a, b and c".
std::string join_with_and(const std::vector<std::string>& words) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

/// Wraps an example into lines with continuation characters, so that a shell accepts it.
std::string folded_example(std::string_view example, std::size_t columns) {
  constexpr std::size_t sign = 2;  // a blank and a backslash
  std::istringstream lines(wrap_text(fmt::format("  {}", example), columns - sign, 4));
  std::string text;
  for (std::string line; std::getline(lines, line);) text += (text.empty() ? "" : " \\\n") + line;
  return text + "\n";
}

/// Returns the width of the terminal of stdout, or of stderr if stdout is a pager.
std::size_t help_columns() {
  auto terminal = terminal_columns(STDOUT_FILENO);
  if (!terminal) terminal = terminal_columns(STDERR_FILENO);
  return std::clamp<std::size_t>(terminal.value_or(80), 40, 110);
}

}  // namespace

Options::Options(std::string command, Arguments arguments)
    : command_(std::move(command)), arguments_(std::move(arguments)) {}

void Options::describe(std::string synopsis, std::string purpose,
                       std::vector<std::string> examples) {
  synopsis_ = std::move(synopsis);
  purpose_ = std::move(purpose);
  examples_ = std::move(examples);
}

void Options::add(const std::string& names, OptionValue value, const std::string& text) {
  const std::size_t comma = std::min(names.find(','), names.size());
  Option option{.name = names.substr(0, comma),
                .letter = names.substr(std::min(comma + 1, names.size())),
                .heading = heading_,
                .text = text,
                .value = value};
  if (value.has_default || value.name.empty()) {
    const std::string held = value.text();
    if (!held.empty()) option.defaults = option.values = {held};
    // A default word takes effect only if it is parsed.
    if (std::holds_alternative<OptionValue::Parser>(value.variable))
      (void)value.set_from_text(option.name, held);
    if (value.has_default && value.default_text.empty()) option.value.default_text = held;
  }
  table_.push_back(std::move(option));
}

void Options::add_dependency(const std::string& other, std::vector<std::string> names) {
  check([this, other, names = std::move(names)] {
    for (const std::string& name : names)
      if (is_non_default(name) && !is_non_default(other))
        throw UsageError(fmt::format("{} requires {}", find(name)->shown(), find(other)->shown()));
  });
}

void Options::add_conflict(const std::string& first, std::vector<std::string> others) {
  check([this, first, others = std::move(others)] {
    for (const std::string& other : others)
      if (is_non_default(first) && is_non_default(other))
        throw UsageError(fmt::format("{} cannot be combined with {}", find(first)->shown(),
                                     find(other)->shown()));
  });
}

std::optional<Arguments> Options::take_passthrough_arguments() {
  const auto mark = std::ranges::find(arguments_, "--");
  if (mark == arguments_.end()) return std::nullopt;
  Arguments behind(mark + 1, arguments_.end());
  arguments_.erase(mark, arguments_.end());
  return behind;
}

void Options::declare_common_options() {
  const auto makes_a_file = [](const Option& option) {
    const FileRole role = option.value.role;
    return role == FileRole::output || role == FileRole::replaced_picture || role == FileRole::page;
  };
  if (std::ranges::count(table_, output_heading, &Option::heading) > 0) heading_ = output_heading;
  if (std::ranges::any_of(table_, makes_a_file) && find("overwrite") == nullptr)
    add("overwrite", flag(overwrite_), "overwrite existing files");
  std::stable_partition(table_.begin(), table_.end(),
                        [](const Option& option) { return option.heading != output_heading; });
  heading_ = common_heading;
  add("config,c", file(config_, FileRole::input),
      "read options from FILE, one 'name = value' per line; lines starting with # are comments; "
      "the command line takes precedence, but cannot unset a flag");
  add("print-config", flag(print_config_),
      "print all options in the format of a configuration file and exit");
  add("help,h", flag(help_), "print this help and exit");
}

void Options::parse() {
  declare_common_options();
  std::string answer;
  if (is_completion_) {
    answer = completions();
  } else {
    read_command_line();
    if (help_) {
      answer = help();
    } else {
      if (!config_.empty()) read_configuration(config_);
      if (print_config_) answer = commented_configuration();
    }
  }
  if (!answer.empty() || is_completion_) {
    std::fputs(answer.c_str(), stdout);
    throw Done();
  }
  check_required();
  for (const auto& refuse : checks_) refuse();
  // Rank 0 checks the files for all ranks.
  if (launched_rank() == 0) check_files();
}

const Options::Option* Options::find(const std::string& name) const {
  const auto option = std::ranges::find(table_, name, &Option::name);
  return option == table_.end() ? nullptr : &*option;
}

const Options::Option* Options::option_of_argument(const std::string& argument) const {
  const auto option = std::ranges::find_if(table_, [&](const Option& each) {
    return argument == "--" + each.name || (!each.letter.empty() && argument == "-" + each.letter);
  });
  return option == table_.end() ? nullptr : &*option;
}

std::string Options::Option::shown() const {
  return value.is_positional ? in_capitals(name) : "--" + name;
}

void Options::assign(Option& option, const std::string& word, Source source) {
  if (option.source > source) return;
  const bool is_list = option.value.is_list;
  if (option.source == source && !is_list)
    throw UsageError(fmt::format("{} was given more than once", option.shown()));
  // A line of a configuration file cannot represent this word.
  if (!fits_on_config_line(word))
    throw UsageError(
        fmt::format("invalid value for {}: '{}': values must not contain line breaks or start or "
                    "end with a space",
                    option.shown(), escape_control_chars(word)));
  const std::string text = option.value.set_from_text(option.name, word);
  if (option.source != source) option.values.clear();
  if (!text.empty() || is_list) option.values.push_back(text);
  option.source = source;
}

void Options::read_command_line() {
  po::options_description names;
  for (const Option& option : table_) {
    auto* const word = po::value<std::string>();
    if (option.value.name.empty()) word->zero_tokens();
    if (!option.value.without_value.empty()) word->implicit_value(option.value.without_value);
    const std::string comma = option.letter.empty() ? "" : ",";
    names.add_options()((option.name + comma + option.letter).c_str(), word);
  }
  bool is_value = false;  // like -id in "--sort -id"
  for (const std::string& argument : arguments_) {
    if (argument == "--") break;
    if (argument.starts_with("--="))
      throw_unknown_option(argument, "--");  // Boost does not recognize it as an option
    // Boost parses "-data x" as "-d" with the value "ata", but the user meant --data.
    if (!is_value && argument.size() > 2 && argument[0] == '-' && argument[1] != '-' &&
        find(argument.substr(1, argument.find('=') - 1)) != nullptr)
      throw UsageError(fmt::format("unknown option '{0}'; did you mean '-{0}'?",
                                   escape_control_chars(argument)));
    const Option* const option = option_of_argument(argument);
    is_value =
        option != nullptr && !option->value.name.empty() && option->value.without_value.empty();
  }
  // An abbreviation that Boost completes could become --overwrite.
  const int style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  std::vector<std::string> unnamed;
  try {
    const auto parsed = po::command_line_parser(arguments_).options(names).style(style).run();
    for (const po::option& parsed_option : parsed.options) {
      if (parsed_option.position_key >= 0) {
        unnamed.insert(unnamed.end(), parsed_option.value.begin(), parsed_option.value.end());
        continue;
      }
      Option& option = *std::ranges::find(table_, parsed_option.string_key, &Option::name);
      // Boost would accept '--resume' as the file name in '--events --resume'.
      if (parsed_option.original_tokens.size() > 1 &&
          parsed_option.original_tokens.back().starts_with("--"))
        throw UsageError(fmt::format("--{} requires a value: {}", option.name, option.value.name));
      const std::string left_out = option.value.name.empty() ? "true" : option.value.without_value;
      assign(option, parsed_option.value.empty() ? left_out : parsed_option.value.front(),
             Source::command_line);
    }
  } catch (const po::unknown_option& error) {
    throw_unknown_option(error.get_option_name(), "--");
  } catch (const po::invalid_command_line_syntax& error) {
    const Option* const option = find(error.get_option_name().substr(2));
    if (option == nullptr) throw UsageError(escape_control_chars(error.what()));
    if (option->value.name.empty())
      throw UsageError(fmt::format("--{} does not take a value", option->name));
    throw UsageError(fmt::format("--{} requires a value: {}", option->name, option->value.name));
  }
  assign_positionals(unnamed);
}

void Options::assign_positionals(const std::vector<std::string>& words) {
  auto option = table_.begin();
  for (const std::string& word : words) {
    option = std::find_if(option, table_.end(), [](const Option& each) {
      const bool is_filled = !each.value.is_list && each.source == Source::command_line;
      return each.value.is_positional && !is_filled;
    });
    if (option == table_.end()) {
      unexpected_argument_ = word;
      return;
    }
    assign(*option, word, Source::command_line);
  }
}

void Options::read_configuration(const std::string& file) {
  std::string text;
  try {
    text = read_text_file(file);
  } catch (const RunError& error) {
    throw UsageError(error.what());
  }
  try {
    for (const auto& [name, word] : parse_settings(text)) {
      if (name == "config") throw UsageError("'config' is not allowed in a configuration file");
      const auto option = std::ranges::find(table_, name, &Option::name);
      if (option == table_.end() || name == "help" || name == "print-config")
        throw_unknown_option(name, "");
      assign(*option, word, Source::file);
    }
  } catch (const UsageError& refusal) {
    throw UsageError(fmt::format("{}: {}", file, refusal.what()));
  }
}

void Options::throw_unknown_option(const std::string& name, const std::string& dashes) const {
  std::vector<std::string> names;
  for (const Option& option : table_) names.push_back(dashes + option.name);
  const std::string option = name.substr(0, name.find('='));
  throw UsageError(fmt::format("unknown option '{}'{}", escape_control_chars(option),
                               did_you_mean(option, names)));
}

bool Options::was_given(const std::string& name) const {
  const Option* const option = find(name);
  // An empty value, as in --data "$NOTHING", counts as not given.
  return option != nullptr && option->source != Source::unset && !option->values.empty();
}

bool Options::is_non_default(const std::string& name) const {
  return was_given(name) && find(name)->values != find(name)->defaults;
}

void Options::check_required() const {
  std::vector<std::string> missing;
  for (const Option& option : table_)
    if (option.value.is_required && !was_given(option.name)) missing.push_back(option.shown());
  std::string text;
  if (!missing.empty())
    text = join_with_and(missing) + (missing.size() == 1 ? " is" : " are") + " missing";
  if (unexpected_argument_)
    text += fmt::format("{}unexpected argument '{}'", text.empty() ? "" : "; ",
                        escape_control_chars(*unexpected_argument_));
  if (!text.empty()) throw UsageError(text);
}

void Options::check_files() {
  for (const Option& option : table_)
    for (const std::string& path : option.values)
      files_.add(option.shown(), path, option.value.role, option.value.magic);
  files_.check(is_non_default("overwrite"));
}

std::string Options::help() const {
  const std::size_t columns = help_columns();
  constexpr std::size_t margin = 24;
  std::string text = wrap_text(
      fmt::format("Usage: wallheat {} {}\n\n{}\n", command_, synopsis_, purpose_), columns, 0);
  std::string heading;
  for (const Option& option : table_) {
    if (heading != option.heading) text += fmt::format("\n{}:\n", heading = option.heading);
    std::string names = option.letter.empty() ? "      " : fmt::format("  -{}, ", option.letter);
    names += "--" + option.name;
    if (!option.value.name.empty()) names += " " + option.value.name;
    std::string description = option.text;
    if (!option.value.default_text.empty())
      description += fmt::format(" [default: {}]", option.value.default_text);
    const std::string filled = fmt::format("{:<{}}", names, margin - 1);
    const std::string body = wrap_text(std::string(margin, ' ') + description, columns, margin);
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
  const Option* const option = option_of_argument(before);
  std::vector<std::string> words;
  if (option != nullptr && !option->value.name.empty()) {
    words = option->value.completions;
  } else if (word.starts_with('-')) {
    for (const Option& each : table_) words.push_back("--" + each.name);
  } else {
    const auto first =
        std::ranges::find_if(table_, [](const Option& each) { return each.value.is_positional; });
    if (first != table_.end()) words = first->value.completions;
  }
  std::string text;
  for (const std::string& each : words)
    if (each.starts_with(word)) text += each + "\n";
  return text;
}

std::string Options::command_line() const {
  std::string text = "wallheat " + command_;
  for (auto argument = arguments_.begin(); argument != arguments_.end(); ++argument) {
    const std::string name = argument->substr(0, argument->find('='));
    const Option* const option = option_of_argument(name);
    if (option == nullptr || option->value.scope != OptionScope::watcher) {
      text += " " + *argument;
    } else if (name == *argument && std::next(argument) != arguments_.end()) {
      ++argument;  // its value
    }
  }
  return text;
}

std::string Options::configuration() const {
  std::string text;
  for (const Option& option : table_) {
    if (option.heading == common_heading || option.value.scope == OptionScope::watcher) continue;
    for (const std::string& word : option.values) text += setting_line(option.name, word);
  }
  return text;
}

std::map<std::string, std::string> Options::shared_values() const {
  std::map<std::string, std::string> values;
  for (const Option& option : table_)
    if (option.heading != common_heading && option.value.scope == OptionScope::run &&
        !option.values.empty())
      values[option.name] = fmt::format("{}", fmt::join(option.values, ", "));
  return values;
}

std::string Options::commented_configuration() const {
  constexpr std::size_t columns = 98;
  const auto commented = [](std::string_view text) {
    std::istringstream lines(wrap_text(text, columns, 0));
    std::string comment;
    for (std::string line; std::getline(lines, line);) comment += "# " + line + "\n";
    return comment;
  };
  std::string text = commented(
      fmt::format("Options of 'wallheat {}', for --config FILE. A line that begins with #NAME "
                  "shows a default or a placeholder; remove the # to set the option.",
                  command_));
  for (const Option& option : table_) {
    if (option.heading == common_heading) continue;
    text += "\n" + commented(option.text);
    for (const std::string& word : option.values)
      text += (was_given(option.name) ? "" : "#") + setting_line(option.name, word);
    if (option.values.empty()) text += fmt::format("#{} = {}\n", option.name, option.value.name);
  }
  return text;
}

}  // namespace wallheat
