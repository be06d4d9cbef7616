#pragma once

#include <cstdint>
#include <vector>

#include "simulation/driver.hpp"

// What happens to a result file in a simulated life: sessions, crashes, faults and recoveries, and
// what must hold after each.
namespace wallheat::simulation {

/// What a seed expands to.
struct Options {
  double story = 0;
  double plans = 1;
  double batches = 0;
  double shapes = 0;
  double rooms = 0;
  double close = 0;
  double fault = 0;
  double fault_at = 0;
  double fault_in = 0;
  double crashes = 0;
  double power = 0;
  double sector = 512;
  double repair = 0;
  double images = 1;
  double every_event = 0;
  double twice = 0;
  double tell = 0;
};

[[nodiscard]] const std::vector<Option<Options>>& all_options();
[[nodiscard]] Options expand(std::uint64_t seed);
/// All stories, with and without fields and rooms, and a crash at each event.
[[nodiscard]] Options systematic(std::uint64_t number);

/// Lives through a story. Throws Violation.
[[nodiscard]] Outcome live(std::uint64_t seed, const Options& options, Reached& reached);

}  // namespace wallheat::simulation
