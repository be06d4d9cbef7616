#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "cli/arguments.hpp"
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

/// The variable that an option fills, and how the help shows its value.
struct OptionValue {
  /// A list gets a value each time that the option is given; a function gets the option's name and
  /// the word that was given.
  std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
               std::filesystem::path*, std::vector<std::string>*,
               std::function<void(const std::string& option, const std::string& word)>>
      variable;
  std::string name;           ///< of the value; empty: a flag, which takes none
  bool has_default = false;   ///< what the variable holds
  std::string default_text;   ///< how it reads; empty: as it is
  std::string without_value;  ///< stands for a value that is left out; empty: it must be given
  std::vector<std::string> words{};  ///< what it may be; empty: anything
};

/// An option without a default: the variable keeps what it holds, and was_given() tells.
template <class T>
OptionValue value(T& variable, const char* name) {
  return {&variable, name, false, {}, {}};
}
template <class T, class Default>
OptionValue value(T& variable, const char* name, Default default_value,
                  const char* default_text = "") {
  variable = std::move(default_value);
  return {&variable, name, true, default_text, {}};
}
/// A word that stands for one of these values.
template <class T>
OptionValue choice(T& variable, const char* name, const char* usual,
                   const std::vector<std::pair<std::string, std::type_identity_t<T>>>& choices) {
  const auto take = [&variable, choices](const std::string& option, const std::string& word) {
    variable = choose<T>(option, word, choices);
  };
  OptionValue value{take, name, true, usual, {}};
  for (const auto& [word, meaning] : choices) value.words.push_back(word);
  return value;
}
inline OptionValue flag(bool& variable) { return {&variable, {}, false, {}, {}}; }

/// The options of one command: from the command line, then from the file that --config names. Adds
/// --help, --config and --print-config to whatever the command declares. The declarations are the
/// one table that parsing, --help, configuration files and what a result file records of them are
/// made from.
class Options {
 public:
  /// `synopsis` is the line of usage after "wallheat"; `purpose` says what the command does, a line
  /// a paragraph; `examples` are command lines that run as they stand. A test runs those of
  /// generate and run first, then those of the others in the order of 'wallheat help': a later one
  /// may use what an earlier one makes.
  Options(std::string synopsis, std::string purpose, std::vector<std::string> examples = {});
  ~Options();
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  /// Declares an option: "name", or "name,n" where -n stands for it.
  void add(const char* name, const OptionValue& value, const char* text);
  /// Lets arguments without a name stand for an option; max_count -1: any number.
  void positional(const char* name, int max_count);
  /// What the values of an option may be, for completion.
  void words(const char* name, std::vector<std::string> words);
  /// Leaves an option out of --help, which names it as one of those that many commands have.
  void fold(const char* name);
  /// Names options that must be given.
  void require(std::vector<std::string> names);

  /// Fills the declared variables. Returns false if that was not asked for: if the arguments want a
  /// description, or --help or --print-config, which is printed. Throws UsageError.
  [[nodiscard]] bool parse(const Arguments& arguments);

  /// Whether somebody gave this option, on the command line or in a file: its value is not just the
  /// default.
  [[nodiscard]] bool was_given(const std::string& name) const;

  /// All options with the values that they have now, defaults included, as a configuration file;
  /// those without a value are left out.
  [[nodiscard]] std::string configuration() const;

 private:
  [[nodiscard]] std::string command() const;
  [[nodiscard]] OptionText& named(const std::string& name);
  void read_command_line(const std::vector<std::string>& arguments);
  void read_configuration(const std::string& file);
  [[noreturn]] void refuse_unknown(const std::string& name, const std::string& dashes) const;
  [[nodiscard]] bool is_given(const std::string& name) const;
  void check_presence() const;
  void print_help(bool all_options);
  void print_configuration() const;

  struct Parser;  // Boost.Program_options

  CommandText text_;  // the table; its first options are those that each command has
  std::unique_ptr<Parser> parser_;
  bool help_ = false;
  std::string config_;
  bool print_config_ = false;
  std::size_t max_unnamed_ = 0;
  std::vector<std::string> required_;
  std::vector<std::string> unnamed_;  // arguments without a name
};

}  // namespace wallheat
