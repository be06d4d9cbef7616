#include "cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <cstdio>
#include <iterator>
#include <limits>
#include <sstream>

#include "core/number_of.hpp"
#include "core/printable.hpp"
#include "report/gnuplot.hpp"
#include "run/configuration_file.hpp"
#include "view/output_file.hpp"
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

constexpr const char* common_heading = "All commands";

/// "a", "a and b", "a, b and c".
std::string enumeration(const std::vector<std::string>& words) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

}  // namespace

Options::Options(std::string command, Arguments arguments)
    : command_(std::move(command)),
      arguments_(std::move(arguments)),
      parser_(std::make_unique<Parser>()) {}
Options::~Options() = default;

void Options::describe(std::string synopsis, std::string purpose,
                       std::vector<std::string> examples) {
  synopsis_ = std::move(synopsis);
  purpose_ = std::move(purpose);
  examples_ = std::move(examples);
}

void Options::add(const char* name, const OptionValue& value, const char* text) {
  const std::string names = name;
  const std::size_t comma = std::min(names.find(','), names.size());
  Option& option = table_.emplace_back(Option{names.substr(0, comma),
                                              names.substr(std::min(comma + 1, names.size())),
                                              heading_, value.default_text, text, value});
  const auto declare = [&]<class T>(const T& variable) -> po::value_semantic* {
    if constexpr (std::is_pointer_v<T>) {
      using Type = std::remove_pointer_t<T>;
      auto* semantic = po::value(variable);
      if constexpr (!std::is_same_v<Type, std::vector<std::string>>) {
        if (value.has_default && option.usual.empty())
          for (const std::string& usual : texts_of(*variable)) option.usual = usual;
        if (value.has_default) semantic->default_value(*variable, option.usual);
      }
      return semantic;
    } else {
      auto* semantic = po::value<std::string>();
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

Options::Option& Options::named(const std::string& name) {
  return *std::ranges::find(table_, name, &Option::name);
}

void Options::positional(const char* name, int max_count) {
  positional_ = name;
  max_unnamed_ =
      max_count < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(max_count);
}

void Options::words(const char* name, std::vector<std::string> words) {
  named(name).value.words = std::move(words);
}

void Options::require(std::vector<std::string> names) { required_ = std::move(names); }

std::optional<Arguments> Options::take_behind_mark() {
  const auto mark = std::ranges::find(arguments_, "--");
  if (mark == arguments_.end()) return std::nullopt;
  Arguments behind(mark + 1, arguments_.end());
  arguments_.erase(mark, arguments_.end());
  return behind;
}

void Options::parse() {
  const auto makes_a_file = [](const Option& option) {
    return option.value.role == FileRole::made || option.value.role == FileRole::picture;
  };
  const bool is_declared = std::ranges::count(table_, "overwrite", &Option::name) > 0;
  if (std::ranges::count(table_, output_heading, &Option::heading) > 0) heading_ = output_heading;
  if (std::ranges::any_of(table_, makes_a_file) && !is_declared)
    add("overwrite", flag(overwrite_), "replace a file that is there");
  std::stable_partition(table_.begin(), table_.end(),
                        [](const Option& option) { return option.heading != output_heading; });
  heading_ = common_heading;
  add("config,c", value(config_, "FILE"),
      "read options from FILE, a line each: name = value; a line that begins with # is a comment; "
      "the command line comes first, but a flag that FILE sets stays set");
  add("print-config", flag(print_config_), "print all options as such a FILE, and exit");
  add("help,h", flag(help_), "print this and exit");
  std::string given;
  for (const std::string& argument : arguments_) given += argument + "\n";
  std::string answer;
  try {
    if (is_completion_) {
      answer = completions();
    } else {
      read_command_line();
      const auto& values = parser_->values;
      if (values["help"].as<bool>()) {
        answer = help();
      } else {
        if (values.contains("config")) read_configuration(values["config"].as<std::string>());
        if (values["print-config"].as<bool>()) answer = commented_configuration();
      }
    }
    if (!answer.empty() || is_completion_) {
      std::fputs(answer.c_str(), stdout);
      throw Done();
    }
    check_presence();
    check_values();
    po::notify(parser_->values);
  } catch (const po::error& error) {
    throw UsageError(sentence(error, given));
  }
  for (const auto& refuse : checks_) refuse();
  check_files();
}

void Options::read_command_line() {
  po::options_description all;
  all.add(parser_->options);
  for (const std::string& argument : arguments_) {
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
        po::command_line_parser(arguments_).options(all).positional(positions).style(style).run();
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
      const auto known = std::ranges::find(table_, setting.name, &Option::name);
      if (known == table_.end() || setting.name == "help" || setting.name == "print-config")
        refuse_unknown(setting.name, "");
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
  for (const Option& option : table_) names.push_back(dashes + option.name);
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
    if (!is_given(name)) missing.push_back(name == positional_ ? in_capitals(name) : "--" + name);
  }
  const bool too_many = unnamed_.size() > max_unnamed_;
  const bool expected = std::find(required_.begin(), required_.end(), positional_) !=
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

/// What a line of a configuration file could not say is refused at once.
void Options::check_values() const {
  for (const Option& option : table_) {
    if (!parser_->values.contains(option.name)) continue;
    for (const std::string& text : texts_of(parser_->values[option.name].value()))
      if (!can_be_set(text))
        throw UsageError(fmt::format(
            "--{} '{}': a value has no line break, and no blank at its beginning or end",
            option.name, printable(text)));
  }
}

void Options::check_files() {
  const auto named_by = [](const auto& variable) -> std::vector<std::filesystem::path> {
    if (const auto* path = std::get_if<std::filesystem::path*>(&variable)) return {**path};
    if (const auto* text = std::get_if<std::string*>(&variable)) return {**text};
    const auto& list = *std::get<std::vector<std::string>*>(variable);
    return {list.begin(), list.end()};
  };
  files_.reads("--config", config_);
  for (const Option& option : table_) {
    if (option.value.role == FileRole::none) continue;
    const std::string name =
        option.name == positional_ ? in_capitals(option.name) : "--" + option.name;
    for (const std::filesystem::path& file : named_by(option.value.variable)) {
      switch (option.value.role) {
        case FileRole::read:
          files_.reads(name, file);
          break;
        case FileRole::plans:
          if (!file.empty()) files_.reads_plans(name, file);
          break;
        case FileRole::result:
          files_.reads_store(name, file);
          break;
        case FileRole::made:
          files_.makes(name, file, overwrite_, option.value.beginning);
          break;
        case FileRole::picture:
          files_.writes(name, file);  // what its name means is looked at when no other file has it
          break;
        case FileRole::text:
          files_.makes_text(name, file, overwrite_);
          break;
        case FileRole::none:
          break;
      }
    }
  }
  files_.check();
  for (const Option& option : table_)
    if (option.value.role == FileRole::picture)
      for (const std::filesystem::path& file : named_by(option.value.variable))
        if (!file.empty())
          require_replaceable(file, overwrite_, beginning_of(plot_format(option.name, file)));
}

std::string Options::configuration(std::span<const std::string_view> without) const {
  std::string text;
  for (const Option& option : table_) {
    if (option.heading == common_heading || !parser_->values.contains(option.name)) continue;
    if (std::ranges::find(without, option.name) != without.end()) continue;
    for (const std::string& value : texts_of(parser_->values[option.name].value()))
      text += line_of(option.name, value);
  }
  return text;
}

std::string Options::commented_configuration() const {
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
                  command_));
  for (const Option& option : table_) {
    if (option.heading == common_heading) continue;
    text += "\n" + commented(option.text);
    const auto& values = parser_->values;
    const bool has_value = values.contains(option.name);
    const bool is_set = has_value && !values[option.name].defaulted();
    const auto texts =
        has_value ? texts_of(values[option.name].value()) : std::vector<std::string>{};
    for (const std::string& value : texts)
      text += (is_set ? "" : "#") + line_of(option.name, value);
    if (texts.empty()) text += fmt::format("#{} = {}\n", option.name, option.value.name);
  }
  return text;
}

}  // namespace wallheat
