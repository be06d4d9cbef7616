#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace wallheat::simulation {

/// A promise that was not kept.
struct Violation : std::runtime_error {
  Violation(std::string invariant_, const std::string& details)
      : std::runtime_error(details), invariant(std::move(invariant_)) {}
  std::string invariant;
};

/// How often a state was reached: a simulation that never reaches some is too tame.
using Reached = std::map<std::string, std::uint64_t>;

struct Outcome {
  double amount = 0;  ///< in Program::unit
  std::uint64_t events = 0;
  std::uint64_t hash = 0;  ///< of all events: the same for the same seed and options
};

}  // namespace wallheat::simulation
