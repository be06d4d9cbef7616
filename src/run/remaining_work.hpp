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

/// The plans of a run without those that are solved. These tell the speed of a core where a CPU
/// solved them, else three plans that are solved here. Throws RunError where none can be read.
[[nodiscard]] RemainingWork remaining_work(const RunOptions& run,
                                           const std::vector<PlanResult>& solved);

}  // namespace wallheat
