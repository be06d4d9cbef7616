#pragma once

#include <boost/program_options.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "simulation/outcome.hpp"

// The program of a simulation: it goes through seeds, each of which expands into options, and tells
// a failure with as few options as still fail.
namespace wallheat::simulation {

template <class Options>
struct Option {
  const char* name;
  double Options::*value;
  double nothing;  ///< where it is switched off, or smallest
  const char* meaning;
};

template <class Options>
struct Program {
  const char* name;
  const char* about;
  const char* unit;
  std::uint64_t enough_seeds;         ///< reach all that is `required`
  std::vector<std::string> required;  ///< states
  std::vector<Option<Options>> options;
  /// What a seed stands for; with --systematic, what a number stands for (empty: there is no such
  /// thing).
  std::function<Options(std::uint64_t)> expand, systematic;
  /// Throws Violation.
  std::function<Outcome(std::uint64_t, const Options&, Reached&)> tell;
};

struct Failure {
  std::uint64_t seed = 0;
  std::string invariant, details;
};

/// What came of some seeds.
struct Block {
  std::optional<Failure> failure;
  Outcome outcome;
  Reached reached;
};

using Seeds = std::pair<std::uint64_t, std::uint64_t>;  ///< first, end
using Step = std::function<Outcome(std::uint64_t seed, Reached& reached)>;

/// Takes seeds in processes of their own, as a program that fails may crash or hang, and keeps
/// memory; `jobs` of them at once. Ends after the first failure.
[[nodiscard]] Block take(Seeds seeds, std::uint64_t block_size, std::size_t jobs, const Step& step);

template <class Options>
class Driver {
 public:
  Driver(const Program<Options>& program, const boost::program_options::variables_map& given)
      : program_(program), given_(given) {}

  int run() const {
    const bool one = given_.count("seed") > 0;
    const auto first = given_[one ? "seed" : "first-seed"].as<std::uint64_t>();
    const auto seeds = one ? 1 : given_["seeds"].as<std::uint64_t>();
    (void)options_of(first);  // wrong ones are known now
    constexpr std::uint64_t block_size = 100;
    const Block block = take({first, first + seeds}, is_systematic() ? 1 : block_size,
                             given_["jobs"].as<std::size_t>(), [this](auto seed, auto& reached) {
                               return program_.tell(seed, options_of(seed), reached);
                             });
    if (block.failure) return report(*block.failure);
    for (const auto& [state, count] : block.reached) std::cout << count << "  " << state << '\n';
    if (one) std::cout << "seed " << first << " passes: " << to_text(options_of(first)) << '\n';
    std::cout << seeds << " seeds, " << block.outcome.amount << ' ' << program_.unit << ", "
              << block.outcome.events << " events, hash " << std::hex << block.outcome.hash
              << std::dec << ": every promise was kept\n";
    if (seeds < program_.enough_seeds || is_systematic() || given_.count("set") > 0) return 0;
    int status = 0;
    for (const std::string& state : program_.required) {
      if (block.reached.contains(state)) continue;
      std::cout << "never reached: " << state << '\n';
      status = 1;
    }
    return status;
  }

 private:
  [[nodiscard]] bool is_systematic() const { return given_.count("systematic") > 0; }

  [[nodiscard]] Options options_of(std::uint64_t seed) const {
    Options options = is_systematic() ? program_.systematic(seed) : program_.expand(seed);
    if (given_.count("set") == 0) return options;
    for (const auto& setting : given_["set"].as<std::vector<std::string>>()) {
      const auto equals = setting.find('=');
      bool known = false;
      for (const auto& option : program_.options) {
        if (equals == std::string::npos || setting.substr(0, equals) != option.name) continue;
        options.*option.value = std::stod(setting.substr(equals + 1));
        known = true;
      }
      if (!known)
        throw boost::program_options::error("--set " + setting +
                                            ": there is no such option; --help lists them");
    }
    return options;
  }

  /// "name=value" of all that differ from what `from` gives, each after `before`.
  template <class From>
  std::string text_of(const Options& options, const char* before, From from) const {
    std::ostringstream text;
    for (const auto& option : program_.options) {
      const double value = options.*option.value;
      if (value != from(option)) text << before << option.name << '=' << value;
    }
    return text.str();
  }
  std::string to_text(const Options& options) const {
    return text_of(options, " ", [](const auto& option) { return option.nothing; });
  }

  int report(const Failure& failure) const {
    const Options options = options_of(failure.seed);
    std::cout << "seed " << failure.seed << ": " << failure.invariant << ": " << failure.details
              << "\n  options:" << to_text(options) << '\n'
              << std::flush;
    if (given_.count("no-shrinking") > 0) return 1;
    const auto [fewest, last] = shrink(options, failure);
    const Options usual = program_.expand(failure.seed);
    std::cout << "  fewest: " << to_text(fewest) << ": " << last.details
              << "\n  again:   " << program_.name << " --seed " << failure.seed
              << text_of(fewest, " --set ", [&](const auto& option) { return usual.*option.value; })
              << '\n';
    return 1;
  }

  /// Moves each option towards where nothing happens, as long as the same promise is not kept.
  std::pair<Options, Failure> shrink(Options options, Failure failure) const {
    int tries = 500;
    for (bool smaller = true; smaller && tries > 0;) {
      smaller = false;
      for (const auto& option : program_.options) {
        const double value = options.*option.value;
        const bool whole = value == std::floor(value);
        const double half = option.nothing + (value - option.nothing) / 2;
        for (const double next : {option.nothing, whole ? std::floor(half) : half, value - 1}) {
          if (std::abs(next - option.nothing) >= std::abs(value - option.nothing)) continue;
          if (!whole && next != option.nothing && std::abs(value - option.nothing) < 1e-3) continue;
          Options fewer = options;
          fewer.*option.value = next;
          --tries;
          const Block block =
              take({failure.seed, failure.seed + 1}, 1, 1,
                   [&](auto seed, auto& reached) { return program_.tell(seed, fewer, reached); });
          if (!block.failure || block.failure->invariant != failure.invariant) continue;
          options = fewer;
          failure = *block.failure;
          smaller = true;
          break;
        }
      }
    }
    return {options, failure};
  }

  const Program<Options>& program_;
  const boost::program_options::variables_map& given_;
};

template <class Options>
int run(const Program<Options>& program, int argc, char** argv) {
  namespace po = boost::program_options;
  po::options_description description(std::string(program.about) + "\nOptions");
  auto add = description.add_options();
  add("help,h", "print this");
  add("seeds", po::value<std::uint64_t>()->default_value(program.enough_seeds), "how many seeds");
  add("first-seed", po::value<std::uint64_t>()->default_value(0), "the first of them");
  add("seed", po::value<std::uint64_t>(), "only this one");
  add("jobs", po::value<std::size_t>()->default_value(1), "processes at once");
  add("set", po::value<std::vector<std::string>>(),
      "NAME=VALUE in place of what the seed says; may be given several times");
  add("no-shrinking", "do not look for fewer options that fail, too");
  if (program.systematic) add("systematic", "all cases in order in place of random ones");
  try {
    po::variables_map given;
    po::store(po::parse_command_line(argc, argv, description), given);
    if (given.count("help") == 0) return Driver<Options>(program, given).run();
    std::cout << description << "\nWhat a seed expands into (where nothing happens):\n";
    for (const auto& option : program.options)
      std::cout << "  " << option.name << " (" << option.nothing << "): " << option.meaning << '\n';
    std::cout << "\nExit status: 0 every promise was kept, 1 not, 2 wrong usage\n";
    return 0;
  } catch (const std::logic_error& error) {  // also a number that is none
    std::cerr << program.name << ": " << error.what() << '\n';
    return 2;
  }
}

}  // namespace wallheat::simulation
