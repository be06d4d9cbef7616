#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
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

using Arguments = std::vector<std::string>;

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

/// What a file is to a command; see CommandFiles.
enum class FileRole { none, read, plans, result, made, picture, text };

/// The variable that an option fills, and how the help shows its value.
struct OptionValue {
  /// A list gets a value each time that the option is given; a function gets the option's name and
  /// the word that was given.
  std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
               std::filesystem::path*, std::vector<std::string>*,
               std::function<void(const std::string& option, const std::string& word)>>
      variable;
  std::string name;             ///< of the value; empty: a flag, which takes none
  bool has_default = false;     ///< what the variable holds
  std::string default_text{};   ///< how it reads; empty: as it is
  std::string without_value{};  ///< stands for a value that is left out; empty: it must be given
  std::vector<std::string> words{};  ///< what it may be; empty: anything
  FileRole role = FileRole::none;
  std::string_view beginning{};  ///< of a file that the command makes
};

/// An option without a default: the variable keeps what it holds, and was_given() tells.
template <class T>
OptionValue value(T& variable, const char* name) {
  return {&variable, name};
}
template <class T, class Default>
OptionValue value(T& variable, const char* name, Default default_value,
                  const char* default_text = "") {
  variable = std::move(default_value);
  return {&variable, name, true, default_text};
}
/// A word that stands for one of these values.
template <class T>
OptionValue choice(T& variable, const char* name, const char* usual,
                   const std::vector<std::pair<std::string, std::type_identity_t<T>>>& choices) {
  const auto take = [&variable, choices](const std::string& option, const std::string& word) {
    variable = choose<T>(option, word, choices);
  };
  OptionValue value{take, name, true, usual};
  for (const auto& [word, meaning] : choices) value.words.push_back(word);
  return value;
}
inline OptionValue flag(bool& variable) { return {&variable, {}}; }

/// A file, which is checked before the command opens any. `File` is a path, a text, or a list.
template <class File>
OptionValue file(File& variable, FileRole role, const char* name = "FILE") {
  OptionValue value{&variable, name};
  value.role = role;
  return value;
}
/// A file that the command makes, and that begins so: it replaces none but by --overwrite, and then
/// none that begins otherwise.
inline OptionValue made_file(std::filesystem::path& variable, std::string_view beginning,
                             const char* name = "FILE") {
  OptionValue value = file(variable, FileRole::made, name);
  value.beginning = beginning;
  return value;
}

/// The options of one command: from the command line, then from the file that --config names. The
/// declarations are the one table that parsing, --help, configuration files, completion, checks of
/// files, and what a result file records of the options are made from.
class Options {
 public:
  /// Parsing throws it if only --help, --print-config or completion was asked for, and printed.
  struct Done {};

  Options(std::string command, Arguments arguments);
  ~Options();
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
  void add(const char* name, const OptionValue& value, const char* text);
  /// Lets arguments without a name stand for an option; max_count -1: any number.
  void positional(const char* name, int max_count);
  /// What the values of an option may be, for completion.
  void words(const char* name, std::vector<std::string> words);
  /// Names options that must be given.
  void require(std::vector<std::string> names);

  /// The arguments behind "--", which are another command's; nothing if there is no such mark.
  [[nodiscard]] std::optional<Arguments> take_behind_mark();

  /// Calls this at the end of parsing, which throws if something makes no sense.
  void check(std::function<void()> refuse) { checks_.push_back(std::move(refuse)); }

  /// Fills the declared variables and checks the files that they name. Throws UsageError, RunError,
  /// Done.
  void parse();

  /// Whether somebody gave this option, on the command line or in a file: its value is not just the
  /// default.
  [[nodiscard]] bool was_given(const std::string& name) const;
  /// For files that no option names by itself.
  [[nodiscard]] CommandFiles& files() { return files_; }
  [[nodiscard]] bool overwrite() const { return overwrite_; }
  /// All options with the values that they have now, defaults included, as a configuration file;
  /// those without a value are left out, and so are some names.
  [[nodiscard]] std::string configuration(std::span<const std::string_view> without = {}) const;
  [[nodiscard]] const Arguments& arguments() const { return arguments_; }

  /// Makes parse() print the words that may stand in place of the last argument, a line each.
  void complete() { is_completion_ = true; }

 private:
  struct Option {
    std::string name, letter, heading, usual, text;
    OptionValue value;
  };
  [[nodiscard]] Option& named(const std::string& name);
  void read_command_line();
  void read_configuration(const std::string& file);
  [[noreturn]] void refuse_unknown(const std::string& name, const std::string& dashes) const;
  [[nodiscard]] bool is_given(const std::string& name) const;
  void check_presence() const;
  void check_values() const;
  void check_files();
  [[nodiscard]] std::string help() const;
  [[nodiscard]] std::string completions();
  [[nodiscard]] std::string commented_configuration() const;

  struct Parser;  // Boost.Program_options

  std::string command_;
  Arguments arguments_;
  std::string synopsis_, purpose_;
  std::vector<std::string> examples_;
  std::string heading_ = "Options";
  std::vector<Option> table_;
  std::vector<std::function<void()>> checks_;
  std::unique_ptr<Parser> parser_;
  CommandFiles files_;
  bool overwrite_ = false, help_ = false, print_config_ = false, is_completion_ = false;
  std::string config_;
  std::string positional_;
  std::size_t max_unnamed_ = 0;
  std::vector<std::string> required_;
  std::vector<std::string> unnamed_;  // arguments without a name
};

}  // namespace wallheat
