#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cmath>
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "simulation/cluster/options.hpp"
#include "simulation/cluster/story.hpp"

namespace po = boost::program_options;
using namespace wallheat::simulation;

namespace {

constexpr int exit_violated = 1;
constexpr int exit_usage = 2;
// So many seeds reach everything that is to be reached.
constexpr std::uint64_t enough_seeds = 10'000;
// One seed in so many is simulated twice.
constexpr std::uint64_t twice_every = 100;
constexpr double seconds_a_year = 365.25 * 86'400;

struct Arguments {
  std::uint64_t seeds = enough_seeds;
  std::uint64_t first_seed = 0;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> settings;
  bool no_shrinking = false;
};

/// The seed's options, but for those that were given.
Options options_of(std::uint64_t seed, const Arguments& arguments) {
  Options options = expand(seed);
  for (const std::string& setting : arguments.settings)
    if (!set(options, setting))
      throw po::error(fmt::format("--set {}: there is no such option; --help lists them", setting));
  return options;
}

/// The same violation with as little as possible: each option is moved towards where nothing
/// happens.
Options shrink(std::uint64_t seed, Options options, const std::string& invariant) {
  int tries = 500;
  const auto still_fails = [&](const Options& smaller) {
    Reached ignored;
    if (tries-- <= 0) return false;
    const auto violation = tell_story(seed, smaller, ignored).violation;
    return violation && violation->invariant == invariant;
  };
  for (bool smaller_found = true; smaller_found && tries > 0;) {
    smaller_found = false;
    for (const OptionName& each : option_names()) {
      const double value = options.*each.member;
      const bool whole = value == std::floor(value);
      const double half = each.nothing + (value - each.nothing) / 2;
      for (const double next : {each.nothing, whole ? std::floor(half) : half}) {
        if (std::abs(next - each.nothing) > 0.75 * std::abs(value - each.nothing)) continue;
        Options smaller = options;
        smaller.*each.member = next;
        if (next == value || !still_fails(smaller)) continue;
        options = smaller;
        smaller_found = true;
        break;
      }
    }
  }
  return options;
}

void print_failure(std::uint64_t seed, const Options& options, const Violation& violation,
                   const Arguments& arguments) {
  std::cout << fmt::format("seed {}: {}: {}\n  options: {}\n", seed, violation.invariant,
                           violation.details, to_text(options))
            << std::flush;
  if (arguments.no_shrinking) return;
  const Options small = shrink(seed, options, violation.invariant);
  std::string command = fmt::format("simulate_cluster --seed {}", seed);
  for (const OptionName& each : option_names())
    if (small.*each.member != expand(seed).*each.member)
      command += fmt::format(" --set {}={}", each.name, small.*each.member);
  std::cout << fmt::format("  shrunk:  {}\n  again:   {}\n", to_text(small), command);
}

/// Returns false where a promise was not kept.
bool simulate(std::uint64_t seed, const Arguments& arguments, Reached& reached, Outcome& sum) {
  const Options options = options_of(seed, arguments);
  Outcome outcome = tell_story(seed, options, reached);
  if (!outcome.violation && seed % twice_every == 0) {
    Reached ignored;
    if (tell_story(seed, options, ignored).hash != outcome.hash)
      outcome.violation = {"a seed is always the same story", "two runs of it differ"};
  }
  sum.simulated_s += outcome.simulated_s;
  sum.events += outcome.events;
  sum.hash = sum.hash * 1099511628211U ^ outcome.hash;
  if (!outcome.violation) return true;
  print_failure(seed, options, *outcome.violation, arguments);
  return false;
}

int simulate_all(const Arguments& arguments) {
  Reached reached;
  Outcome sum;
  const std::uint64_t first = arguments.seed.value_or(arguments.first_seed);
  const std::uint64_t seeds = arguments.seed ? 1 : arguments.seeds;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed)
    if (!simulate(seed, arguments, reached, sum)) return exit_violated;
  for (const auto& [state, count] : reached.counts())
    std::cout << fmt::format("{:9} {}\n", count, state);
  std::cout << fmt::format(
      "{} seeds, {:.3g} s simulated ({:.2f} years), {} events, hash {:016x}: every promise was "
      "kept\n",
      seeds, sum.simulated_s, sum.simulated_s / seconds_a_year, sum.events, sum.hash);
  if (seeds < enough_seeds || !arguments.settings.empty()) return 0;
  for (const std::string& state : reached.missing())
    std::cout << fmt::format("never reached: {}\n", state);
  return reached.missing().empty() ? 0 : exit_violated;
}

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  std::uint64_t seed = 0;
  po::options_description description(
      "Simulates wallheat's ranks on a cluster: the real coordinator, queue, messages, workers "
      "and\n"
      "solver pools, with simulated time, network, solver processes and disk. Each seed is a "
      "campaign\n"
      "of one or more sessions with the faults that it expands into, and a last one without.\n"
      "Exit status: 0 if every promise was kept; 1 if not; 2 wrong usage.\n\nOptions");
  description.add_options()("help,h", "print this and exit")(
      "seeds", po::value(&arguments.seeds)->value_name("N")->default_value(arguments.seeds),
      "how many seeds")(
      "first-seed", po::value(&arguments.first_seed)->value_name("K")->default_value(0),
      "the first of them")("seed", po::value(&seed)->value_name("S"), "only this one")(
      "set", po::value(&arguments.settings)->value_name("NAME=VALUE")->composing(),
      "in place of what the seed says; may be given several times")(
      "no-shrinking", po::bool_switch(&arguments.no_shrinking),
      "do not look for fewer options that fail, too");
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, description), values);
  po::notify(values);
  if (values.count("seed") > 0) arguments.seed = seed;
  if (values.count("help") == 0) return arguments;
  std::cout << description << "\nWhat a seed expands into (where nothing happens):\n";
  for (const OptionName& each : option_names())
    std::cout << fmt::format("  {:<18} {:>8}  {}\n", each.name, each.nothing, each.meaning);
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto arguments = parse(argc, argv);
    return arguments ? simulate_all(*arguments) : 0;
  } catch (const po::error& error) {
    std::cerr << "simulate_cluster: " << error.what() << "\n";
    return exit_usage;
  }
}
