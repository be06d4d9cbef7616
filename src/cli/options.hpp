#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_files.hpp"
#include "cli/option_value.hpp"

namespace wallheat {

using Arguments = std::vector<std::string>;

/// Options of one command, read from the command line and then from the --config file. Parsing,
/// --help, configuration files, shell completion, value checks, file checks and the options
/// recorded in a result file are all derived from the declarations.
class Options {
 public:
  /// Thrown by parse() after it has printed the output of --help, --print-config or completion.
  struct Done {};

  Options(std::string command, Arguments arguments);
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  /// Describes the command for --help. `synopsis` follows the name of the command in the usage
  /// line. `purpose` describes what the command does, one paragraph per line. `examples` are
  /// complete command lines. A test runs those of generate and run first, then those of the other
  /// commands in the order of 'wallheat help', so an example may use files of an earlier one.
  void describe(std::string synopsis, std::string purpose, std::vector<std::string> examples = {});
  /// Options under this heading are the last of the command's own options, wherever they are
  /// declared.
  static constexpr const char* output_heading = "Output";
  /// Sets the heading in the help for the options that are declared next.
  void heading(const char* text) { heading_ = text; }
  /// Declares an option. `name` is "name", or "name,n" if -n is its short form.
  void add(const std::string& name, OptionValue value, const std::string& text);

  // Checks at the end of parsing, in addition to missing options.

  /// Declares that each option in `names` requires the option `other`.
  void add_dependency(const std::string& other, std::vector<std::string> names);
  /// Declares that `first` cannot be combined with any of `others`.
  void add_conflict(const std::string& first, std::vector<std::string> others);
  /// Adds a check, which throws UsageError if the options are inconsistent.
  void check(std::function<void()> refuse) { checks_.push_back(std::move(refuse)); }
  /// Returns the checked files. Use it to add files that are not the value of an option.
  [[nodiscard]] FileConflictCheck& files() { return files_; }

  /// Removes and returns the arguments after "--", which are for another command; nullopt if there
  /// is no "--".
  [[nodiscard]] std::optional<Arguments> take_passthrough_arguments();

  /// Sets the declared variables and checks the files. Throws UsageError, RunError and Done.
  void parse();

  /// Returns true if the user gave this option, on the command line or in a file, so that its value
  /// is not only the default.
  [[nodiscard]] bool was_given(const std::string& name) const;
  [[nodiscard]] const Arguments& arguments() const { return arguments_; }

  // The options as a run records and compares them.

  /// Returns "wallheat COMMAND ..." as it was typed, without the options for the watcher.
  [[nodiscard]] std::string command_line() const;
  /// Returns all options with their values, defaults included, in the form of a configuration file.
  /// Omits options without a value, and those for the watcher.
  [[nodiscard]] std::string configuration() const;
  /// Returns the values of the options that all ranks share, with a comma between the values of a
  /// list. Omits options without a value.
  [[nodiscard]] std::map<std::string, std::string> shared_values() const;

  /// Makes parse() print the possible completions of the last argument, one per line.
  void complete() { is_completion_ = true; }

 private:
  enum class Source { unset, file, command_line };
  struct Option {
    std::string name, letter, heading, text;
    OptionValue value;
    std::vector<std::string> defaults{}, values{};  ///< in the form of a configuration file
    Source source = Source::unset;

    /// Returns its name as the user types it.
    [[nodiscard]] std::string shown() const;
  };
  [[nodiscard]] const Option* find(const std::string& name) const;
  /// Returns the option of an argument such as --name or -n; null if the argument is not an option.
  [[nodiscard]] const Option* option_of_argument(const std::string& argument) const;
  /// Returns true if the value differs from the default. A configuration file may contain defaults,
  /// too.
  [[nodiscard]] bool is_non_default(const std::string& name) const;
  /// Parses a word into the option's variable.
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
  // The first positional argument that is not a value of an option.
  std::optional<std::string> unexpected_argument_;
};

}  // namespace wallheat
