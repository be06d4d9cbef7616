#pragma once

#include <cstdint>

#include "simulation/cluster/options.hpp"
#include "simulation/outcome.hpp"

namespace wallheat::simulation {

/// A campaign from its first session to the one without faults. Throws Violation.
[[nodiscard]] Outcome tell_story(std::uint64_t seed, const Options& options, Reached& reached);

}  // namespace wallheat::simulation
