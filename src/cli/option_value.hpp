#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "cli/command_files.hpp"
#include "view/spelling.hpp"

namespace wallheat {

/// Looks a word up among the values that an option can have. Throws UsageError.
template <class T>
T choose(const std::string& option, const std::string& word,
         const std::vector<std::pair<std::string, T>>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    names.push_back(name);
  }
  refuse_value(option, word, names);
}

/// What a number may be.
struct NumberRange {
  std::optional<double> least{}, most{};
  bool is_above = false;  ///< the least number itself is none
};

/// The variable that an option fills, what it may be, and how the help shows it.
struct OptionValue {
  /// Gets the option's name and the word that was given. Throws UsageError.
  using Take = std::function<void(const std::string& option, const std::string& word)>;
  std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
               std::filesystem::path*, std::vector<std::string>*, Take>
      variable;
  std::string name;             ///< of the value; empty: a flag, which takes none
  bool has_default = false;     ///< what the variable holds
  std::string default_text{};   ///< how it reads; empty: as it is
  std::string without_value{};  ///< stands for a value that is left out; empty: it must be given
  std::vector<std::string> words{};  ///< for completion
  FileRole role = FileRole::none;
  std::string_view magic{};  ///< the first bytes of a file that the command makes
  NumberRange range{};
  bool is_list = false;  ///< may be given several times

  OptionValue& at_least(double number) {
    range.least = number;
    return *this;
  }
  OptionValue& above(double number) {
    range.is_above = true;
    return at_least(number);
  }
  OptionValue& within(double from, double to) {
    range.most = to;
    return at_least(from);
  }
  OptionValue& completed_by(std::vector<std::string> all) {
    words = std::move(all);
    return *this;
  }
  /// May be given several times.
  OptionValue& repeated() {
    is_list = true;
    return *this;
  }
  /// Puts a word into the variable. Returns it as a configuration file has it. Throws UsageError.
  [[nodiscard]] std::string put(const std::string& option, const std::string& word) const;
  /// What the variable holds, as a configuration file has it; empty for a list.
  [[nodiscard]] std::string text() const;
};

/// An option without a default: the variable keeps what it holds, and was_given() tells.
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
/// A word that stands for one of these values. Without `default_word` there is no default.
template <class T>
OptionValue choice(T& variable, const char* name, const char* default_word,
                   const std::vector<std::pair<std::string, std::type_identity_t<T>>>& choices) {
  const auto take = [&variable, choices](const std::string& option, const std::string& word) {
    variable = choose<T>(option, word, choices);
  };
  OptionValue value{take, name, *default_word != '\0', default_word};
  for (const auto& [word, meaning] : choices) value.words.push_back(word);
  return value;
}
/// Some of these words, separated by commas, each once. Without `default_word` there is no default.
template <class T>
OptionValue choices(std::vector<T>& variable, const char* name, const char* default_word,
                    const std::vector<std::pair<std::string, T>>& known) {
  const auto take = [&variable, known](const std::string& option, const std::string& list) {
    variable.clear();
    for (const std::string& word : words_of(list)) {
      const T meaning = choose<T>(option, word, known);
      if (std::ranges::count(variable, meaning) == 0) variable.push_back(meaning);
    }
  };
  OptionValue value{take, name, *default_word != '\0', default_word};
  for (const auto& [word, meaning] : known) value.words.push_back(word);
  return value;
}
/// A word that `take` understands. If it returns false, the word is refused: it must be `what`.
/// `default_word` stands for a missing one; empty: no default.
OptionValue word(const char* name, const std::string& what,
                 const std::function<bool(const std::string& word)>& take,
                 const char* default_word = "");
/// Numbers from `least` to `most`, separated by commas.
OptionValue number_list(std::vector<std::size_t>& variable, const char* default_word, double least,
                        double most);
inline OptionValue flag(bool& variable) { return {&variable, {}}; }

/// A file, which is checked before the command opens any. `File` is a path, a text, or a list.
template <class File>
OptionValue file(File& variable, FileRole role, const char* name = "FILE") {
  OptionValue of_file = value(variable, name);
  of_file.role = role;
  return of_file;
}
/// A file that the command makes, and that begins with `magic`. It replaces a file only by
/// --overwrite, and only one that begins so, too.
inline OptionValue made_file(std::filesystem::path& variable, std::string_view magic,
                             const char* name = "FILE") {
  OptionValue value = file(variable, FileRole::made, name);
  value.magic = magic;
  return value;
}

}  // namespace wallheat
