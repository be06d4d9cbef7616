#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulation/cluster/options.hpp"

namespace wallheat::simulation {

/// A promise that was not kept.
struct Violation {
  std::string invariant;
  std::string details;
};

/// States that a simulation must reach now and then, or it is too tame; how often it has.
class Reached {
 public:
  void count(const std::string& state) { ++counts_[state]; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  /// Those that are known and were not reached.
  [[nodiscard]] std::vector<std::string> missing() const;

 private:
  std::map<std::string, std::uint64_t> counts_;
};

struct Outcome {
  std::optional<Violation> violation;
  double simulated_s = 0;
  std::uint64_t events = 0;
  std::uint64_t hash = 0;  ///< of all events: the same for the same seed and options
};

/// A campaign from its first session to the one without faults.
[[nodiscard]] Outcome tell_story(std::uint64_t seed, const Options& options, Reached& reached);

}  // namespace wallheat::simulation
