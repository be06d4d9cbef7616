#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command_files.hpp"
#include "cli/option_value.hpp"

namespace wallheat {

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
  /// Lets arguments without a name stand for an option: one, or all if it may be given several
  /// times. If several options are named so, the first one gets the first argument.
  void positional(const std::string& name) { positional_.push_back(name); }

  // What is refused at the end of parsing.

  /// Names options that must be given.
  void require(std::vector<std::string> names) { required_ = std::move(names); }
  /// Names options that have a meaning beside `other` alone.
  void need(const std::string& other, std::vector<std::string> names);
  /// Names options that have no meaning beside `first`.
  void exclude(const std::string& first, std::vector<std::string> others);
  /// Calls this, which throws if something makes no sense.
  void check(std::function<void()> refuse) { checks_.push_back(std::move(refuse)); }
  /// For files that no option names by itself.
  [[nodiscard]] CommandFiles& files() { return files_; }

  /// The arguments behind "--", which are another command's; nothing if there is no such mark.
  [[nodiscard]] std::optional<Arguments> take_behind_mark();

  /// Fills the declared variables and checks the files that they name. Throws UsageError, RunError,
  /// Done.
  void parse();

  /// Whether somebody gave this option, on the command line or in a file: its value is not just the
  /// default.
  [[nodiscard]] bool was_given(const std::string& name) const;
  /// All options with the values that were parsed, defaults included, as a configuration file;
  /// those without a value are left out, and so are some names.
  [[nodiscard]] std::string configuration(std::span<const std::string_view> without = {}) const;
  [[nodiscard]] const Arguments& arguments() const { return arguments_; }

  /// Makes parse() print the words that may stand in place of the last argument, a line each.
  void complete() { is_completion_ = true; }

 private:
  enum class Source { nobody, file, command_line };
  struct Option {
    std::string name, letter, heading, default_text, text;
    OptionValue value;
    std::vector<std::string> defaults{}, values{};  ///< as a configuration file has them
    Source source = Source::nobody;
  };
  [[nodiscard]] const Option* find(const std::string& name) const;
  /// The option that an argument like --name or -n gives; null if it gives none.
  [[nodiscard]] const Option* given_by(const std::string& argument) const;
  /// Whether it is other than its default, which a configuration may name, too.
  [[nodiscard]] bool is_changed(const std::string& name) const;
  /// Its name as people give it.
  [[nodiscard]] std::string shown(const std::string& name) const;
  /// Puts a word into the option's variable.
  void give(Option& option, const std::string& word, Source source);
  void give_unnamed(const std::vector<std::string>& words);
  void declare_common_options();
  void read_command_line();
  void read_configuration(const std::string& file);
  [[noreturn]] void refuse_unknown(const std::string& name, const std::string& dashes) const;
  void check_presence() const;
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
  CommandFiles files_;
  bool overwrite_ = false, help_ = false, print_config_ = false, is_completion_ = false;
  std::string config_;
  std::vector<std::string> positional_, required_;
  std::optional<std::string> stray_;  // the first argument that stands for no option
};

}  // namespace wallheat
