#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "cli/options.hpp"
#include "core/text.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace {

bool parse_bool(const std::string& option, const std::string& word) {
  return parse_choice<bool>(option, word, {{"true", true}, {"false", false}});
}

/// Returns a description such as "a whole number of at least 1".
template <class Number>
std::string valid_numbers(const NumberRange& range) {
  const auto& [min, max, is_above] = range;
  std::string text = std::is_integral_v<Number> ? "a whole number" : "a number";
  if (min && max && !is_above) return text + fmt::format(" from {:g} to {:g}", *min, *max);
  if (min) text += fmt::format(" {} {:g}", is_above ? "above" : "of at least", *min);
  if (max) text += fmt::format(" and at most {:g}", *max);
  if (std::is_integral_v<Number> && !min)
    text += fmt::format(" {} {}", std::is_signed_v<Number> ? "up to" : "from 0 to",
                        std::numeric_limits<Number>::max());
  return text;
}

template <class Number>
Number number_in(const NumberRange& range, const std::string& option, const std::string& word) {
  const auto& [min, max, is_above] = range;
  if (const auto number = parse_number<Number>(word)) {
    const auto value = static_cast<double>(*number);
    const bool is_too_small = min && (value < *min || (is_above && value == *min));
    if (std::isfinite(value) && !is_too_small && !(max && value > *max)) return *number;
  }
  throw UsageError(fmt::format("--{} must be {}, not '{}'", option, valid_numbers<Number>(range),
                               escape_control_chars(word)));
}

template <class T>
std::string word_of(const T& value) {
  if constexpr (std::is_same_v<T, std::filesystem::path>)
    return value.string();
  else
    return fmt::format("{}", value);
}

}  // namespace

std::string OptionValue::set_from_text(const std::string& option, const std::string& word) const {
  const auto put_into = [&]<class Variable>(const Variable& target) -> std::string {
    if constexpr (std::is_same_v<Variable, Parser>) {
      target(option, word);
      return word;
    } else if constexpr (std::is_same_v<Variable, std::vector<std::string>*>) {
      return target->emplace_back(word);
    } else {
      using T = std::remove_pointer_t<Variable>;
      if constexpr (std::is_same_v<T, bool>)
        *target = parse_bool(option, word);
      else if constexpr (std::is_arithmetic_v<T>)
        *target = number_in<T>(range, option, word);
      else
        *target = word;
      return word_of(*target);
    }
  };
  return std::visit(put_into, variable);
}

std::string OptionValue::text() const {
  const auto text_in = [&]<class Variable>(const Variable& target) -> std::string {
    if constexpr (std::is_same_v<Variable, Parser>)
      return default_text;
    else if constexpr (std::is_same_v<Variable, std::vector<std::string>*>)
      return "";
    else
      return word_of(*target);
  };
  return std::visit(text_in, variable);
}

OptionValue custom_value(const char* name, const std::string& what,
                         const std::function<bool(const std::string& word)>& take,
                         const char* default_word) {
  const auto take_or_refuse = [=](const std::string& option, const std::string& word) {
    if (!take(word))
      throw UsageError(
          fmt::format("--{} must be {}, not '{}'", option, what, escape_control_chars(word)));
  };
  return {take_or_refuse, name, *default_word != '\0', default_word};
}

OptionValue number_list(std::vector<std::size_t>& variable, const char* default_word, double min,
                        double max) {
  const auto take = [&variable, min, max](const std::string& option, const std::string& list) {
    variable.clear();
    for (const std::string& word : split_list(list))
      variable.push_back(number_in<std::size_t>({min, max}, option, word));
  };
  return {take, "LIST", true, default_word};
}

// Output of --help and of shell completion.

namespace {

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

}  // namespace wallheat
