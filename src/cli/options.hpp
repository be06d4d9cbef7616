#pragma once

#include <boost/program_options.hpp>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "view/spelling.hpp"

namespace boost {

/// Takes a path option as it stands. Boost would read it with >>, which ends at the first space.
/// It stands in this namespace because that is where Boost looks for it (by its first argument).
inline void validate(any& value, const std::vector<std::string>& texts, std::filesystem::path*,
                     int) {
  program_options::validators::check_first_occurrence(value);
  value = std::filesystem::path(program_options::validators::get_single_string(texts));
}

}  // namespace boost

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

/// The options of one command: from the command line, then from the file that --config names. Adds
/// --help, --config and --print-config to whatever the command declares. The declarations are the
/// one table that parsing, --help, configuration files and what a result file records of them are
/// made from.
class Options {
 public:
  /// `synopsis` is the line of usage after "wallheat"; `purpose` says what the command does, a line
  /// a paragraph.
  Options(std::string synopsis, std::string purpose);

  /// The place to declare options: options.add()("name", value, "text").
  boost::program_options::options_description_easy_init add();
  /// Lets arguments without a name stand for an option; max_count -1: any number.
  void positional(const char* name, int max_count);
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
  [[nodiscard]] CommandText text();
  void add_all_to(boost::program_options::options_description& options);
  void read_command_line(const std::vector<std::string>& arguments);
  void read_configuration(const std::string& file);
  [[noreturn]] void refuse_unknown(const std::string& name, const std::string& dashes) const;
  [[nodiscard]] bool is_given(const std::string& name) const;
  void check_presence() const;
  void print_help();
  void print_configuration() const;

  std::string synopsis_;
  std::string purpose_;
  std::string config_;
  boost::program_options::options_description own_;  // those of the command
  std::string positional_;                           // what arguments without a name stand for
  std::size_t max_unnamed_ = 0;
  std::vector<std::string> required_;
  std::vector<std::string> unnamed_;  // arguments without a name
  boost::program_options::variables_map values_;
};

}  // namespace wallheat
