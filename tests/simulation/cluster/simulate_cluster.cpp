#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "simulation/cluster/options.hpp"
#include "simulation/cluster/story.hpp"

using namespace wallheat::simulation;

int main(int argc, char** argv) {
  namespace po = boost::program_options;
  std::uint64_t seeds = 1;
  std::uint64_t first = 0;
  std::vector<std::string> settings;
  po::options_description description("simulate_cluster");
  description.add_options()("help", "")("seeds", po::value(&seeds), "")(
      "first-seed", po::value(&first), "")("set", po::value(&settings)->composing(), "");
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, description), values);
  po::notify(values);
  Reached reached;
  double simulated = 0, events = 0;
  std::vector<std::pair<double, std::uint64_t>> stretches;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    Options options = expand(seed);
    for (const auto& s : settings) set(options, s);
    const Outcome outcome = tell_story(seed, options, reached);
    simulated += outcome.simulated_s;
    events += outcome.events;
    if (values.count("help"))
      std::cerr << seed << " " << outcome.events << " " << outcome.simulated_s << "\n";
    if (values.count("help")) std::cerr << to_text(options) << "\n";
    if (outcome.stretch > 0) stretches.emplace_back(outcome.stretch, seed);
    if (outcome.violation) {
      std::cout << fmt::format("seed {}: {}: {}\n  {}\n", seed, outcome.violation->invariant,
                               outcome.violation->details, to_text(options));
      if (!values.count("help")) return 1;
    }
  }
  for (const auto& [name, count] : reached.counts())
    std::cout << fmt::format("{:8} {}\n", count, name);
  std::cout << fmt::format("{} seeds, {:.3g} s simulated, {:.3g} events\n", seeds, simulated,
                           events);
  std::sort(stretches.rbegin(), stretches.rend());
  for (size_t i = 0; i < std::min<size_t>(1000, stretches.size()); ++i)
    std::cout << stretches[i].second << " " << stretches[i].first << "\n";
}
