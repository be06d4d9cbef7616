#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "cli/command_files.hpp"
#include "core/text.hpp"
#include "view/spelling.hpp"

namespace wallheat {

/// Returns the value of a word among the values of an option. Throws UsageError if the word is not
/// one of them.
template <class T>
T parse_choice(const std::string& option, const std::string& word,
               const std::vector<std::pair<std::string, T>>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    names.push_back(name);
  }
  throw_invalid_value(option, word, names);
}

/// The processes of a run among which an option must have one value. Other commands ignore it.
enum class OptionScope {
  run,   ///< all ranks; the result file records the value
  rank,  ///< each rank uses its own value
  /// Each rank uses its own value, which concerns only the user who watches the run. It is not
  /// recorded, because a command may contain a password.
  watcher,
};

/// The variable of an option, its valid values, and how the help shows it.
struct OptionValue {
  /// Receives the name of the option and the given word. Throws UsageError.
  using Parser = std::function<void(const std::string& option, const std::string& word)>;
  std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
               std::filesystem::path*, std::vector<std::string>*, Parser>
      variable;
  std::string name;            ///< name of the value in the help; empty: a flag, which has no value
  bool has_default = false;    ///< the default is the initial value of the variable
  std::string default_text{};  ///< default in the help; empty: the value itself
  /// Value if none is given after the option; empty: a value is required.
  std::string without_value{};
  std::vector<std::string> completions{};  ///< words for shell completion
  FileRole role = FileRole::none;
  std::string_view magic{};  ///< first bytes of a file that the command creates
  NumberRange range{};
  bool is_list = false;        ///< may be given several times
  bool is_required = false;    ///< must be given
  bool is_positional = false;  ///< positional arguments are values of this option
  OptionScope scope = OptionScope::run;

  OptionValue& at_least(double number) {
    range.min = number;
    return *this;
  }
  OptionValue& above(double number) {
    range.is_above = true;
    return at_least(number);
  }
  OptionValue& within(double from, double to) {
    range.max = to;
    return at_least(from);
  }
  OptionValue& completed_by(std::vector<std::string> all) {
    completions = std::move(all);
    return *this;
  }
  /// Allows the option several times.
  OptionValue& repeated() {
    is_list = true;
    return *this;
  }
  OptionValue& of(OptionScope processes) {
    scope = processes;
    return *this;
  }
  OptionValue& required() {
    is_required = true;
    return *this;
  }
  /// Makes positional arguments values of this option: one argument, or all if it may be given
  /// several times. The first of several such options gets the first argument.
  OptionValue& positional() {
    is_positional = true;
    return *this;
  }
  /// Parses a word into the variable. Returns it in the form of a configuration file. Throws
  /// UsageError.
  [[nodiscard]] std::string set_from_text(const std::string& option, const std::string& word) const;
  /// Returns the value of the variable in the form of a configuration file; an empty string for a
  /// list.
  [[nodiscard]] std::string text() const;
};

/// Returns an option without a default: the variable keeps its value. Options::was_given() returns
/// whether the option was given.
template <class T>
OptionValue value(T& variable, const char* name) {
  OptionValue value{&variable, name};
  value.is_list = std::is_same_v<T, std::vector<std::string>>;
  return value;
}
template <class T, class Default>
OptionValue value(T& variable, const char* name, Default default_value,
                  const char* default_text = "") {
  variable = T(std::move(default_value));
  return {&variable, name, true, default_text};
}
/// Returns an option whose value is one of these words. An empty `default_word` means that there is
/// no default.
template <class T>
OptionValue choice(T& variable, const char* name, const char* default_word,
                   const std::vector<std::pair<std::string, std::type_identity_t<T>>>& choices) {
  const auto take = [&variable, choices](const std::string& option, const std::string& word) {
    variable = parse_choice<T>(option, word, choices);
  };
  OptionValue value{take, name, *default_word != '\0', default_word};
  for (const auto& [word, meaning] : choices) value.completions.push_back(word);
  return value;
}
/// Returns an option whose value is a comma-separated list of these words; repeated words are
/// ignored. An empty `default_word` means that there is no default.
template <class T>
OptionValue choices(std::vector<T>& variable, const char* name, const char* default_word,
                    const std::vector<std::pair<std::string, T>>& known) {
  const auto take = [&variable, known](const std::string& option, const std::string& list) {
    variable.clear();
    for (const std::string& word : split_list(list)) {
      const T meaning = parse_choice<T>(option, word, known);
      if (std::ranges::count(variable, meaning) == 0) variable.push_back(meaning);
    }
  };
  OptionValue value{take, name, *default_word != '\0', default_word};
  for (const auto& [word, meaning] : known) value.completions.push_back(word);
  return value;
}
/// Returns an option whose value is parsed by `take`. If `take` returns false, the word is rejected
/// with the message that it must be `what`. `default_word` is used if the option is missing; empty:
/// no default.
OptionValue custom_value(const char* name, const std::string& what,
                         const std::function<bool(const std::string& word)>& take,
                         const char* default_word = "");
/// Returns an option whose value is a comma-separated list of numbers from `min` to `max`.
OptionValue number_list(std::vector<std::size_t>& variable, const char* default_word, double min,
                        double max);
inline OptionValue flag(bool& variable) { return {&variable, {}}; }

/// Returns an option for a file, which is checked before the command opens any file. `File` is a
/// path, a string or a list.
template <class File>
OptionValue file(File& variable, FileRole role, const char* name = "FILE") {
  OptionValue of_file = value(variable, name);
  of_file.role = role;
  return of_file;
}
/// Returns an option for a file that the command creates and that begins with `magic`. The command
/// replaces an existing file only with --overwrite, and only if that file begins with `magic`, too.
inline OptionValue output_file(std::filesystem::path& variable, std::string_view magic,
                               const char* name = "FILE") {
  OptionValue value = file(variable, FileRole::output, name);
  value.magic = magic;
  return value;
}

}  // namespace wallheat
