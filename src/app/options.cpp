#include "app/options.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "wallheat/error.hpp"

namespace po = boost::program_options;

namespace wallheat {
namespace {

/// The first word between two %, as Boost writes the places in its sentences; empty: there is none.
std::string place_in(const std::string& text) {
  for (std::size_t start = text.find('%'); start != std::string::npos;) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", start + 1);
    if (end == std::string::npos) break;
    if (text[end] == '%' && end > start + 1) return text.substr(start, end + 1 - start);
    start = text.find('%', end);
  }
  return {};
}

/// What Boost says of a mistake. It fills the user's words into places of its sentence until no
/// such place is left, which is never where a word looks like a place itself.
std::string sentence(const po::error& error, const std::string& given) {
  const std::string place = place_in(given);
  if (place.empty()) return error.what();
  return fmt::format("an option is unknown or has a wrong value, maybe that with '{}'", place);
}

}  // namespace

Options::Options(std::string synopsis, std::string purpose)
    : synopsis_(std::move(synopsis)), purpose_(std::move(purpose)) {
  description_.add_options()("help,h", "print this and exit");
  description_.add_options()("config,c", po::value(&config_)->value_name("FILE"),
                             "read options from FILE, a line each: name = value; the command line "
                             "comes first, but a flag that FILE sets stays set");
}

po::options_description_easy_init Options::add() { return description_.add_options(); }

void Options::positional(const char* name, int max_count) { positional_.add(name, max_count); }

bool Options::parse(const std::vector<std::string>& arguments) {
  std::string given;
  for (const std::string& argument : arguments) given += argument + "\n";
  try {
    // A guessed abbreviation could be --overwrite.
    const int style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(arguments)
                  .options(description_)
                  .positional(positional_)
                  .style(style)
                  .run(),
              values_);
    if (values_.contains("help")) {
      std::ostringstream text;
      text << "Usage: wallheat " << synopsis_ << "\n\n" << purpose_ << "\n\n" << description_;
      std::fputs(text.str().c_str(), stdout);
      return false;
    }
    if (values_.contains("config")) {
      const auto file = values_["config"].as<std::string>();
      std::ifstream stream(file);
      if (!stream || std::filesystem::is_directory(file))
        throw UsageError(fmt::format("the configuration file {} cannot be read", file));
      std::stringstream text;
      text << stream.rdbuf();
      try {
        po::store(po::parse_config_file(text, description_), values_);
      } catch (const po::error& error) {
        throw UsageError(fmt::format("{}: {}", file, sentence(error, text.str())));
      }
    }
    po::notify(values_);
  } catch (const po::error& error) {
    throw UsageError(sentence(error, given));
  }
  return true;
}

}  // namespace wallheat
