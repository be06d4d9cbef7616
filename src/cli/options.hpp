#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
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
T parse_choice(const std::string& option, const std::string& word,
               const std::vector<std::pair<std::string, T>>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    names.push_back(name);
  }
  throw_invalid_value(option, word, names);
}

/// What a number may be.
struct NumberRange {
  std::optional<double> min{}, max{};
  bool is_above = false;  ///< the least number itself is none
};

/// The variable that an option fills, what it may be, and how the help shows it.
struct OptionValue {
  /// Gets the option's name and the word that was given. Throws UsageError.
  using Parser = std::function<void(const std::string& option, const std::string& word)>;
  std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
               std::filesystem::path*, std::vector<std::string>*, Parser>
      variable;
  std::string name;             ///< of the value; empty: a flag, which takes none
  bool has_default = false;     ///< what the variable holds
  std::string default_text{};   ///< how the help shows it; empty: as it is
  std::string without_value{};  ///< stands for a value that is left out; empty: it must be given
  std::vector<std::string> completions{};  ///< for completion
  FileRole role = FileRole::none;
  std::string_view magic{};  ///< the first bytes of a file that the command makes
  NumberRange range{};
  bool is_list = false;        ///< may be given several times
  bool is_required = false;    ///< must be given
  bool is_positional = false;  ///< arguments without a name stand for it

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
  /// May be given several times.
  OptionValue& repeated() {
    is_list = true;
    return *this;
  }
  OptionValue& required() {
    is_required = true;
    return *this;
  }
  /// Lets arguments without a name stand for it: one, or all if it may be given several times. Of
  /// several such options the first one gets the first argument.
  OptionValue& positional() {
    is_positional = true;
    return *this;
  }
  /// Puts a word into the variable. Returns it as a configuration file has it. Throws UsageError.
  [[nodiscard]] std::string set_from_text(const std::string& option, const std::string& word) const;
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
    variable = parse_choice<T>(option, word, choices);
  };
  OptionValue value{take, name, *default_word != '\0', default_word};
  for (const auto& [word, meaning] : choices) value.completions.push_back(word);
  return value;
}
/// Some of these words, separated by commas, each once. Without `default_word` there is no default.
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
/// A word that `take` understands. If it returns false, the word is refused: it must be `what`.
/// `default_word` stands for a missing one; empty: no default.
OptionValue custom_value(const char* name, const std::string& what,
                         const std::function<bool(const std::string& word)>& take,
                         const char* default_word = "");
/// Numbers from `min` to `max`, separated by commas.
OptionValue number_list(std::vector<std::size_t>& variable, const char* default_word, double min,
                        double max);
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
inline OptionValue output_file(std::filesystem::path& variable, std::string_view magic,
                               const char* name = "FILE") {
  OptionValue value = file(variable, FileRole::output, name);
  value.magic = magic;
  return value;
}

using Arguments = std::vector<std::string>;

/// The options of one command: from the command line, then from the file that --config names. The
/// declarations are the one table that parsing, --help, configuration files, completion, checks of
/// values and files, and what a result file records of the options are made from.
class Options {
 public:
  /// Parsing throws it if only --help, --print-config or completion was asked for, and printed.
  struct Done {};

  Options(std::string command, Arguments arguments);
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  /// `synopsis` is the line of usage after the command's name; `purpose` says what the command
  /// does, a line a paragraph; `examples` are command lines that run as they stand. A test runs
  /// those of generate and run first, then those of the others in the order of 'wallheat help': a
  /// later one may use what an earlier one makes.
  void describe(std::string synopsis, std::string purpose, std::vector<std::string> examples = {});
  /// Options below this heading stand last among the command's own, whoever declares them first.
  static constexpr const char* output_heading = "Output";
  /// In the help, above the options that are declared next.
  void heading(const char* text) { heading_ = text; }
  /// Declares an option: "name", or "name,n" if -n stands for it.
  void add(const std::string& name, OptionValue value, const std::string& text);

  // What is refused at the end of parsing, beside missing options.

  /// Names options that have a meaning beside `other` alone.
  void add_dependency(const std::string& other, std::vector<std::string> names);
  /// Names options that have no meaning beside `first`.
  void add_conflict(const std::string& first, std::vector<std::string> others);
  /// Calls this, which throws if something makes no sense.
  void check(std::function<void()> refuse) { checks_.push_back(std::move(refuse)); }
  /// For files that no option names by itself.
  [[nodiscard]] FileConflictCheck& files() { return files_; }

  /// The arguments behind "--", which are another command's; nothing if there is no such mark.
  [[nodiscard]] std::optional<Arguments> take_passthrough_arguments();

  /// Fills the declared variables and checks the files that they name. Throws UsageError, RunError,
  /// Done.
  void parse();

  /// Whether somebody gave this option, on the command line or in a file: its value is not just the
  /// default.
  [[nodiscard]] bool was_given(const std::string& name) const;
  /// All options with the values that were parsed, defaults included, as a configuration file;
  /// those without a value are left out, and so are some names.
  [[nodiscard]] std::string configuration(std::span<const std::string_view> without) const;
  [[nodiscard]] const Arguments& arguments() const { return arguments_; }

  /// Makes parse() print the words that may stand in place of the last argument, a line each.
  void complete() { is_completion_ = true; }

 private:
  enum class Source { unset, file, command_line };
  struct Option {
    std::string name, letter, heading, text;
    OptionValue value;
    std::vector<std::string> defaults{}, values{};  ///< as a configuration file has them
    Source source = Source::unset;

    /// Its name as people give it.
    [[nodiscard]] std::string shown() const;
  };
  [[nodiscard]] const Option* find(const std::string& name) const;
  /// The option that an argument like --name or -n gives; null if it gives none.
  [[nodiscard]] const Option* option_of_argument(const std::string& argument) const;
  /// Whether it is other than its default, which a configuration may name, too.
  [[nodiscard]] bool is_non_default(const std::string& name) const;
  /// Puts a word into the option's variable.
  void assign(Option& option, const std::string& word, Source source);
  void assign_positionals(const std::vector<std::string>& words);
  void declare_common_options();
  void read_command_line();
  void read_configuration(const std::string& file);
  [[noreturn]] void throw_unknown_option(const std::string& name, const std::string& dashes) const;
  void check_required() const;
  void check_files();
  [[nodiscard]] std::string help() const;
  [[nodiscard]] std::string completions() const;
  [[nodiscard]] std::string commented_configuration() const;

  std::string command_;
  Arguments arguments_;
  std::string synopsis_, purpose_;
  std::vector<std::string> examples_;
  std::string heading_ = "Options";
  std::vector<Option> table_;
  std::vector<std::function<void()>> checks_;
  FileConflictCheck files_;
  bool overwrite_ = false, help_ = false, print_config_ = false, is_completion_ = false;
  std::string config_;
  std::optional<std::string> unexpected_argument_;  // the first argument that stands for no option
};

}  // namespace wallheat
