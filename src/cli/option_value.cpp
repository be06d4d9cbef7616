#include "cli/option_value.hpp"

#include <fmt/format.h>

#include "wallheat/error.hpp"

namespace wallheat {

namespace {

bool parse_bool(const std::string& option, const std::string& word) {
  return parse_choice<bool>(option, word, {{"true", true}, {"false", false}});
}

template <class Number>
Number number_in(const NumberRange& range, const std::string& option, const std::string& word) {
  if (const auto number = parse_number<Number>(word, range)) return *number;
  throw UsageError(fmt::format("--{} must be {}, not '{}'", option, range_text<Number>(range),
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

}  // namespace wallheat
