#include "cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <cstdio>
#include <limits>
#include <sstream>

#include "cli/configuration_file.hpp"
#include "cli/examples.hpp"
#include "core/printable.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace po = boost::program_options;

namespace boost {

/// Takes a path option as it stands. Boost would read it with >>, which ends at the first space.
/// It stands in this namespace because that is where Boost looks for it (by its first argument).
inline void validate(any& value, const std::vector<std::string>& texts, std::filesystem::path*,
                     int) {
  program_options::validators::check_first_occurrence(value);
  value = std::filesystem::path(program_options::validators::get_single_string(texts));
}

}  // namespace boost

namespace wallheat {

struct Options::Declared {
  /// --help, --config and --print-config, and the command's own.
  void add_all_to(po::options_description& options);

  po::options_description own;
  std::string config;
  po::variables_map values;
};

namespace {

/// The first word between two %, as Boost writes the places in its sentences; empty: there is none.
std::string place_in(const std::string& text) {
  for (std::size_t start = text.find('%'); start != std::string::npos;) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", start + 1);
    if (end == std::string::npos) break;
    if (text[end] == '%' && end > start + 1) return text.substr(start, end + 1 - start);
    start = text.find('%', end);
  }
  return {};
}

/// What Boost says of a mistake. It fills the user's words into places of its sentence until no
/// such place is left, which is never where a word looks like a place itself.
std::string sentence(const po::error& error, const std::string& given) {
  const std::string place = place_in(given);
  if (place.empty()) return printable(error.what());
  return fmt::format("an option is unknown or has a wrong value, maybe that with '{}'", place);
}

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return std::toupper(letter); });
  return text;
}

/// The values of an option as a configuration file takes them; none where it has no value.
std::vector<std::string> texts_of(const boost::any& value) {
  if (const auto* texts = boost::any_cast<std::vector<std::string>>(&value)) return *texts;
  std::string text;
  if (const auto* path = boost::any_cast<std::filesystem::path>(&value)) text = path->string();
  if (const auto* word = boost::any_cast<std::string>(&value)) text = *word;
  if (const auto* flag = boost::any_cast<bool>(&value)) text = *flag ? "true" : "false";
  if (const auto* number = boost::any_cast<int>(&value)) text = fmt::format("{}", *number);
  if (const auto* number = boost::any_cast<std::int64_t>(&value)) text = fmt::format("{}", *number);
  if (const auto* number = boost::any_cast<std::uint64_t>(&value))
    text = fmt::format("{}", *number);
  if (const auto* number = boost::any_cast<double>(&value)) text = fmt::format("{}", *number);
  if (text.empty()) return {};
  return {text};
}

/// A command line that a shell takes, on as many lines as it needs.
std::string folded_example(std::string_view example, std::size_t columns) {
  constexpr std::size_t sign = 2;  // a backslash behind a blank
  std::istringstream lines(folded(fmt::format("  {}", example), columns - sign, 4));
  std::string text;
  for (std::string line; std::getline(lines, line);) text += (text.empty() ? "" : " \\\n") + line;
  return text + "\n";
}

/// "a", "a and b", "a, b and c".
std::string enumeration(const std::vector<std::string>& words) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

}  // namespace

Options::Options(std::string synopsis, std::string purpose)
    : synopsis_(std::move(synopsis)),
      purpose_(std::move(purpose)),
      declared_(std::make_unique<Declared>()) {}
Options::~Options() = default;

void Options::add(const char* name, const OptionValue& value, const char* text) {
  const auto declare = [&]<class T>(T* variable) -> po::value_semantic* {
    auto* semantic = po::value(variable)->value_name(value.name);
    if constexpr (std::is_same_v<T, std::string>) {
      if (!value.without_value.empty()) semantic->implicit_value(value.without_value);
    }
    if constexpr (!std::is_same_v<T, std::vector<std::string>>) {
      if (value.has_default && value.default_text.empty()) semantic->default_value(*variable);
      if (value.has_default && !value.default_text.empty())
        semantic->default_value(*variable, value.default_text);
    }
    return semantic;
  };
  const auto* semantic = value.name.empty() ? po::bool_switch(std::get<bool*>(value.variable))
                                            : std::visit(declare, value.variable);
  declared_->own.add_options()(name, semantic, text);
}

void Options::positional(const char* name, int max_count) {
  positional_ = name;
  max_unnamed_ =
      max_count < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(max_count);
}

void Options::words(const char* name, std::vector<std::string> words) {
  words_[name] = std::move(words);
}

void Options::fold(const char* name) { folded_.emplace_back(name); }

void Options::require(std::vector<std::string> names) { required_ = std::move(names); }

bool Options::parse(const Arguments& arguments) {
  if (arguments.describe != nullptr) {
    *arguments.describe = text();
    return false;
  }
  std::string given;
  for (const std::string& argument : arguments) given += argument + "\n";
  try {
    read_command_line(arguments);
    if (declared_->values.contains("help")) {
      print_help(arguments.all_options);
      return false;
    }
    if (declared_->values.contains("print-config")) {
      if (declared_->values.contains("config"))
        read_configuration(declared_->values["config"].as<std::string>());
      print_configuration();
      return false;
    }
    if (declared_->values.contains("config"))
      read_configuration(declared_->values["config"].as<std::string>());
    check_presence();
    po::notify(declared_->values);
  } catch (const po::error& error) {
    throw UsageError(sentence(error, given));
  }
  return true;
}

CommandText Options::text() {
  CommandText text{synopsis_, purpose_, {}, positional_};
  po::options_description all;
  declared_->add_all_to(all);
  for (const auto& option : all.options()) {
    OptionText one;
    one.name = option->long_name();
    const std::string letter =
        option->canonical_display_name(po::command_line_style::allow_dash_for_short);
    if (letter.size() == 2 && letter[0] == '-') one.letter = letter[1];
    one.text = option->description();
    if (option->semantic()->max_tokens() > 0) {
      // "NAME (=default)", or "[=NAME(=what it means without a value)] (=default)"
      one.value = option->semantic()->name();
      if (const auto at = one.value.rfind(" (="); at != std::string::npos) {
        one.usual = one.value.substr(at + 3, one.value.size() - at - 4);
        one.value.resize(at);
      }
      if (one.value.starts_with("[=")) one.value = one.value.substr(2, one.value.find('(') - 2);
    }
    if (const auto found = words_.find(one.name); found != words_.end()) one.words = found->second;
    text.options.push_back(std::move(one));
  }
  return text;
}

void Options::Declared::add_all_to(po::options_description& options) {
  options.add_options()("help,h", "print this and exit");
  options.add_options()("config,c", po::value(&config)->value_name("FILE"),
                        "read options from FILE, a line each: name = value; the command line "
                        "comes first, but a flag that FILE sets stays set");
  options.add_options()("print-config",
                        "print all options with their values as such a FILE, and exit");
  for (const auto& option : own.options()) options.add(option);
}

void Options::read_command_line(const std::vector<std::string>& arguments) {
  po::options_description all;
  declared_->add_all_to(all);
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    // "-data x" is "-d" with the value "ata", and x, to Boost, but a slip to anybody else.
    const bool one_dash = argument.size() > 2 && argument[0] == '-' && argument[1] != '-';
    if (one_dash && all.find_nothrow(argument.substr(1, argument.find('=') - 1), false) != nullptr)
      throw UsageError(
          fmt::format("there is no option '{}'; did you mean '-{}'?", argument, argument));
  }
  // Boost does not say which argument is one too many, so it gets none to complain of.
  constexpr const char* unnamed = "(an argument without a name)";
  all.add_options()(unnamed, po::value<std::vector<std::string>>());
  po::positional_options_description positions;
  positions.add(unnamed, -1);
  // A guessed abbreviation could be --overwrite.
  const int style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  try {
    auto parsed =
        po::command_line_parser(arguments).options(all).positional(positions).style(style).run();
    std::vector<po::option> kept;
    for (po::option& option : parsed.options) {
      if (option.position_key >= 0) {
        unnamed_.insert(unnamed_.end(), option.value.begin(), option.value.end());
        if (unnamed_.size() > max_unnamed_) continue;
        option.string_key = positional_;
      }
      kept.push_back(std::move(option));
    }
    parsed.options = std::move(kept);
    po::store(parsed, declared_->values);
  } catch (const po::unknown_option& error) {
    refuse_unknown(error.get_option_name(), "--");
  }
}

void Options::read_configuration(const std::string& file) {
  const std::string text = read_configuration_file(file);
  try {
    po::parsed_options parsed(&declared_->own);
    for (const Setting& setting : settings_in(text)) {
      if (setting.name == "config")
        throw UsageError("a configuration file cannot name another one, so leave config out");
      const auto* option = declared_->own.find_nothrow(setting.name, false);
      if (option == nullptr || option->long_name() != setting.name)  // "-d" finds --data
        refuse_unknown(setting.name, "");
      parsed.options.emplace_back(setting.name, std::vector{setting.value});
    }
    po::store(parsed, declared_->values);
  } catch (const UsageError& refusal) {
    throw UsageError(fmt::format("{}: {}", file, refusal.what()));
  } catch (const po::error& error) {
    throw UsageError(fmt::format("{}: {}", file, sentence(error, text)));
  }
}

void Options::refuse_unknown(const std::string& name, const std::string& dashes) const {
  std::vector<std::string> names{dashes + "help", dashes + "config", dashes + "print-config"};
  for (const auto& option : declared_->own.options()) names.push_back(dashes + option->long_name());
  const std::string option = name.substr(0, name.find('='));  // Boost gives the value, too
  throw UsageError(
      fmt::format("there is no option '{}'{}", printable(option), did_you_mean(option, names)));
}

bool Options::is_given(const std::string& name) const {
  if (!declared_->values.contains(name)) return false;
  const boost::any& value = declared_->values[name].value();
  // As from --data "$NOTHING".
  if (const auto* path = boost::any_cast<std::filesystem::path>(&value)) return !path->empty();
  if (const auto* text = boost::any_cast<std::string>(&value)) return !text->empty();
  return true;
}

bool Options::was_given(const std::string& name) const {
  return is_given(name) && !declared_->values[name].defaulted();
}

void Options::check_presence() const {
  std::vector<std::string> missing;
  for (const std::string& name : required_) {
    if (!is_given(name)) missing.push_back(name == positional_ ? in_capitals(name) : "--" + name);
  }
  const bool too_many = unnamed_.size() > max_unnamed_;
  const bool expected = std::find(required_.begin(), required_.end(), positional_) !=
                        required_.end();  // arguments without a name
  std::vector<std::string> strays;        // that may be the value of an option
  if (too_many)
    strays.assign(unnamed_.begin() + static_cast<std::ptrdiff_t>(max_unnamed_), unnamed_.end());
  if (!too_many && !expected) strays = unnamed_;
  if (missing.empty() && !too_many) return;

  std::string text =
      missing.empty() ? ""
                      : enumeration(missing) + (missing.size() == 1 ? " is" : " are") + " missing";
  if (!strays.empty()) {
    constexpr std::size_t longest_list = 3;
    std::vector<std::string> quoted;
    quoted.reserve(strays.size());
    for (const std::string& stray : strays) quoted.push_back("'" + printable(stray) + "'");
    if (quoted.size() > longest_list) {
      quoted.resize(longest_list);
      quoted.emplace_back("others");
    }
    text += fmt::format("{}{} stand{} without the name of an option", text.empty() ? "" : "; ",
                        enumeration(quoted), strays.size() == 1 ? "s" : "");
  }
  if (!missing.empty() && strays.size() == missing.size()) {
    text += "; did you mean";
    for (std::size_t i = 0; i < missing.size(); ++i)
      text += fmt::format(" {} {}", missing[i], printable(strays[i]));
    text += "?";
  }
  throw UsageError(text);
}

void Options::print_help(bool all_options) {
  constexpr std::size_t widest = 110;
  constexpr std::size_t narrowest = 40;
  auto terminal = terminal_columns(STDOUT_FILENO);
  if (!terminal) terminal = terminal_columns(STDERR_FILENO);  // as behind a pager
  const std::size_t columns = std::clamp(terminal.value_or(widest), narrowest, widest);
  po::options_description shown("Options", static_cast<unsigned>(columns),
                                static_cast<unsigned>(std::min(columns / 2, narrowest)));
  std::string others;
  if (all_options) {
    declared_->add_all_to(shown);
  } else {
    for (const auto& option : declared_->own.options()) {
      const std::string& name = option->long_name();
      if (std::find(folded_.begin(), folded_.end(), name) == folded_.end()) shown.add(option);
    }
    for (const std::string& name : folded_) others += "--" + name + ", ";
    others = folded(fmt::format("\nAlso: {}--config, --print-config and --help; 'wallheat help {} "
                                "--all' tells of them.\n",
                                others, command()),
                    columns, 2);
  }
  std::ostringstream text;
  text << folded("Usage: wallheat " + synopsis_ + "\n\n" + purpose_, columns, 0) << "\n\n";
  if (!shown.options().empty()) text << shown;
  text << others;
  const auto examples = examples_of(command());
  if (!examples.front().empty()) text << "\nExamples:\n";
  for (const std::string_view example : examples)
    if (!example.empty()) text << folded_example(example, columns);
  std::fputs(text.str().c_str(), stdout);
}

std::string Options::command() const { return synopsis_.substr(0, synopsis_.find(' ')); }

std::string Options::configuration() const {
  std::string text;
  for (const auto& option : declared_->own.options()) {
    const std::string& name = option->long_name();
    if (!declared_->values.contains(name)) continue;
    for (const std::string& value : texts_of(declared_->values[name].value()))
      text += line_of(name, value);
  }
  return text;
}

void Options::print_configuration() const {
  constexpr std::size_t columns = 98;
  const auto commented = [](std::string_view text) {
    std::istringstream lines(folded(text, columns, 0));
    std::string comment;
    for (std::string line; std::getline(lines, line);) comment += "# " + line + "\n";
    return comment;
  };
  std::string text = commented(
      fmt::format("Options of 'wallheat {}', for --config FILE. A line that begins with #NAME "
                  "shows a default, or what the value stands for; take the # away to set it.",
                  command()));
  for (const auto& option : declared_->own.options()) {
    const std::string& name = option->long_name();
    text += "\n" + commented(option->description());
    const bool is_set = declared_->values.contains(name) && !declared_->values[name].defaulted();
    const auto values = declared_->values.contains(name) ? texts_of(declared_->values[name].value())
                                                         : std::vector<std::string>{};
    for (const std::string& value : values) text += (is_set ? "" : "#") + line_of(name, value);
    if (values.empty()) text += fmt::format("#{} = {}\n", name, option->semantic()->name());
  }
  std::fputs(text.c_str(), stdout);
}

}  // namespace wallheat
