#pragma once

#include <boost/program_options.hpp>
#include <filesystem>
#include <string>
#include <vector>

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

/// The options of one command: from the command line, then from the file that --config names. Adds
/// --help and --config to whatever the command declares.
class Options {
 public:
  /// `synopsis` is the line of usage after "wallheat"; `purpose` says what the command does.
  Options(std::string synopsis, std::string purpose);

  /// The place to declare options: options.add()("name", value, "text").
  boost::program_options::options_description_easy_init add();
  /// Lets arguments without a name stand for an option; max_count -1: any number.
  void positional(const char* name, int max_count);

  /// Fills the declared variables. Returns false where --help was asked for and printed. Throws
  /// UsageError.
  [[nodiscard]] bool parse(const std::vector<std::string>& arguments);

 private:
  std::string synopsis_;
  std::string purpose_;
  std::string config_;
  boost::program_options::options_description description_{"Options", 110};
  boost::program_options::positional_options_description positional_;
  boost::program_options::variables_map values_;
};

}  // namespace wallheat
