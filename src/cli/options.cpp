#include "cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <cstdio>
#include <iterator>
#include <limits>
#include <sstream>

#include "cli/configuration_file.hpp"
#include "core/number_of.hpp"
#include "core/printable.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace po = boost::program_options;

namespace boost {

// These stand in this namespace because that is where Boost looks for them (by the first argument).

/// Takes a path option as it stands. Boost would read it with >>, which ends at the first space.
inline void validate(any& value, const std::vector<std::string>& texts, std::filesystem::path*,
                     int) {
  program_options::validators::check_first_occurrence(value);
  value = std::filesystem::path(program_options::validators::get_single_string(texts));
}

/// Takes a number. Boost would not say what is valid, and read -1 as a large number without a sign.
template <class Number>
void take_number(any& value, const std::vector<std::string>& texts) {
  program_options::validators::check_first_occurrence(value);
  const std::string& text = program_options::validators::get_single_string(texts);
  const auto number = wallheat::number_of<Number>(text);
  if (!number) {
    std::string valid = "a number";
    if constexpr (std::is_integral_v<Number>)
      valid = fmt::format("a whole number {} {}", std::is_signed_v<Number> ? "up to" : "from 0 to",
                          std::numeric_limits<Number>::max());
    program_options::error_with_option_name refusal("%canonical_option% must be " + valid +
                                                    ", not '%value%'");
    refusal.set_substitute("value", text);
    throw refusal;
  }
  value = *number;
}
inline void validate(any& value, const std::vector<std::string>& texts, int*, int) {
  take_number<int>(value, texts);
}
inline void validate(any& value, const std::vector<std::string>& texts, std::int64_t*, int) {
  take_number<std::int64_t>(value, texts);
}
inline void validate(any& value, const std::vector<std::string>& texts, std::uint64_t*, int) {
  take_number<std::uint64_t>(value, texts);
}
inline void validate(any& value, const std::vector<std::string>& texts, double*, int) {
  take_number<double>(value, texts);
}

}  // namespace boost

namespace wallheat {

struct Options::Parser {
  po::options_description options;
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

/// What is none may be the id of a plan.
bool looks_like_path(const std::filesystem::path& text) {
  std::error_code unknown;
  return text.has_parent_path() || text.has_extension() || std::filesystem::exists(text, unknown);
}

constexpr std::size_t common = 3;  // options that each command has

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

Options::Options(std::string synopsis, std::string purpose, std::vector<std::string> examples)
    : text_{std::move(synopsis), std::move(purpose), {}, {}, std::move(examples)},
      parser_(std::make_unique<Parser>()) {
  add("help,h", flag(help_), "print this and exit");
  add("config,c", value(config_, "FILE"),
      "read options from FILE, a line each: name = value; the command line comes first, but a flag "
      "that FILE sets stays set");
  add("print-config", flag(print_config_),
      "print all options with their values as such a FILE, and exit");
}
Options::~Options() = default;

void Options::add(const char* name, const OptionValue& value, const char* text) {
  const std::string names = name;
  const std::size_t comma = names.find(',');
  OptionText& option = text_.options.emplace_back();
  option = {names.substr(0, comma),
            comma < names.size() ? names[comma + 1] : '\0',
            value.name,
            value.default_text,
            text,
            value.words};
  const auto declare = [&]<class T>(const T& variable) -> po::value_semantic* {
    if constexpr (std::is_pointer_v<T>) {
      using Value = std::remove_pointer_t<T>;
      auto* semantic = po::value(variable)->value_name(value.name);
      if constexpr (!std::is_same_v<Value, std::vector<std::string>>) {
        if (value.has_default && option.usual.empty())
          for (const std::string& usual : texts_of(*variable)) option.usual = usual;
        if (value.has_default) semantic->default_value(*variable, option.usual);
      }
      return semantic;
    } else {
      auto* semantic = po::value<std::string>()->value_name(value.name);
      semantic->default_value(value.default_text);
      if (!value.without_value.empty()) semantic->implicit_value(value.without_value);
      return semantic->notifier(
          [take = variable, given = option.name](const std::string& word) { take(given, word); });
    }
  };
  const auto* semantic = value.name.empty() ? po::bool_switch(std::get<bool*>(value.variable))
                                            : std::visit(declare, value.variable);
  parser_->options.add_options()(name, semantic, text);
}

OptionText& Options::named(const std::string& name) {
  return *std::find_if(text_.options.begin(), text_.options.end(),
                       [&](const OptionText& option) { return option.name == name; });
}

void Options::positional(const char* name, int max_count) {
  text_.positional = name;
  max_unnamed_ =
      max_count < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(max_count);
}

void Options::words(const char* name, std::vector<std::string> words) {
  named(name).words = std::move(words);
}

void Options::fold(const char* name) { named(name).folded = true; }

void Options::require(std::vector<std::string> names) { required_ = std::move(names); }

bool Options::parse(const Arguments& arguments) {
  if (arguments.describe != nullptr) {
    *arguments.describe = text_;
    return false;
  }
  std::string given;
  for (const std::string& argument : arguments) given += argument + "\n";
  try {
    read_command_line(arguments);
    const auto& values = parser_->values;
    if (values["help"].as<bool>()) {
      print_help(arguments.all_options);
      return false;
    }
    if (values.contains("config")) read_configuration(values["config"].as<std::string>());
    if (values["print-config"].as<bool>()) {
      print_configuration();
      return false;
    }
    check_presence();
    po::notify(parser_->values);
  } catch (const po::error& error) {
    throw UsageError(sentence(error, given));
  }
  return true;
}

void Options::read_command_line(const std::vector<std::string>& arguments) {
  po::options_description all;
  all.add(parser_->options);
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
        option.string_key = text_.positional;
      }
      kept.push_back(std::move(option));
    }
    parsed.options = std::move(kept);
    po::store(parsed, parser_->values);
  } catch (const po::unknown_option& error) {
    refuse_unknown(error.get_option_name(), "--");
  }
}

void Options::read_configuration(const std::string& file) {
  const std::string text = read_configuration_file(file);
  try {
    po::parsed_options parsed(&parser_->options);
    for (const Setting& setting : settings_in(text)) {
      if (setting.name == "config")
        throw UsageError("a configuration file cannot name another one, so leave config out");
      const bool known =
          std::any_of(text_.options.begin() + common, text_.options.end(),
                      [&](const OptionText& option) { return option.name == setting.name; });
      if (!known) refuse_unknown(setting.name, "");
      parsed.options.emplace_back(setting.name, std::vector{setting.value});
    }
    po::store(parsed, parser_->values);
  } catch (const UsageError& refusal) {
    throw UsageError(fmt::format("{}: {}", file, refusal.what()));
  } catch (const po::error& error) {
    throw UsageError(fmt::format("{}: {}", file, sentence(error, text)));
  }
}

void Options::refuse_unknown(const std::string& name, const std::string& dashes) const {
  std::vector<std::string> names;
  for (const OptionText& option : text_.options) names.push_back(dashes + option.name);
  const std::string option = name.substr(0, name.find('='));  // Boost gives the value, too
  throw UsageError(
      fmt::format("there is no option '{}'{}", printable(option), did_you_mean(option, names)));
}

bool Options::is_given(const std::string& name) const {
  if (!parser_->values.contains(name)) return false;
  const boost::any& value = parser_->values[name].value();
  // As from --data "$NOTHING".
  if (const auto* path = boost::any_cast<std::filesystem::path>(&value)) return !path->empty();
  if (const auto* text = boost::any_cast<std::string>(&value)) return !text->empty();
  return true;
}

bool Options::was_given(const std::string& name) const {
  return is_given(name) && !parser_->values[name].defaulted();
}

void Options::check_presence() const {
  std::vector<std::string> missing;
  for (const std::string& name : required_) {
    if (!is_given(name))
      missing.push_back(name == text_.positional ? in_capitals(name) : "--" + name);
  }
  const bool too_many = unnamed_.size() > max_unnamed_;
  const bool expected = std::find(required_.begin(), required_.end(), text_.positional) !=
                        required_.end();  // arguments without a name
  std::vector<std::string> strays;        // that may be the value of an option
  if (too_many)
    strays.assign(unnamed_.begin() + static_cast<std::ptrdiff_t>(max_unnamed_), unnamed_.end());
  if (!too_many && !expected)
    std::ranges::copy_if(unnamed_, std::back_inserter(strays), looks_like_path);
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
  for (std::size_t k = 0; k < text_.options.size(); ++k) {
    const OptionText& option = text_.options[k];
    if (all_options || (k >= common && !option.folded)) shown.add(parser_->options.options()[k]);
    if (option.folded) others += "--" + option.name + ", ";
  }
  others = all_options
               ? ""
               : folded(fmt::format("\nAlso: {}--config, --print-config and --help; 'wallheat help "
                                    "{} --all' tells of them.\n",
                                    others, command()),
                        columns, 2);
  std::ostringstream text;
  text << folded("Usage: wallheat " + text_.synopsis + "\n\n" + text_.purpose, columns, 0)
       << "\n\n";
  if (!shown.options().empty()) text << shown;
  text << others;
  if (!text_.examples.empty()) text << "\nExamples:\n";
  for (const std::string& example : text_.examples) text << folded_example(example, columns);
  std::fputs(text.str().c_str(), stdout);
}

std::string Options::command() const { return text_.synopsis.substr(0, text_.synopsis.find(' ')); }

std::string Options::configuration() const {
  std::string text;
  for (std::size_t k = common; k < text_.options.size(); ++k) {
    const std::string& name = text_.options[k].name;
    if (!parser_->values.contains(name)) continue;
    for (const std::string& value : texts_of(parser_->values[name].value()))
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
  for (std::size_t k = common; k < text_.options.size(); ++k) {
    const OptionText& option = text_.options[k];
    text += "\n" + commented(option.text);
    const auto& values = parser_->values;
    const bool has_value = values.contains(option.name);
    const bool is_set = has_value && !values[option.name].defaulted();
    const auto texts =
        has_value ? texts_of(values[option.name].value()) : std::vector<std::string>{};
    for (const std::string& value : texts)
      text += (is_set ? "" : "#") + line_of(option.name, value);
    if (texts.empty()) text += fmt::format("#{} = {}\n", option.name, option.value);
  }
  std::fputs(text.c_str(), stdout);
}

}  // namespace wallheat
