#pragma once

#include <string>
#include <vector>

#include "queue/pace.hpp"
#include "run/run_options.hpp"
#include "wallheat/plan_result.hpp"

namespace wallheat {

/// What is left of a campaign, and how fast a core is.
struct RemainingWork {
  std::vector<double> updates;  ///< of each plan that is left; of one that cannot be read, the mean
  Pace core;
  std::string speed_source;  ///< what the speed is from, for people
};

/// The plans of a run without those that are solved. Those that a CPU has solved tell the speed of
/// a core; if there are none, three plans are solved here. Throws RunError if none can be read.
[[nodiscard]] RemainingWork remaining_work(const RunOptions& run,
                                           const std::vector<PlanResult>& solved);

}  // namespace wallheat
