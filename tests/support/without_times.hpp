#pragma once

#include <limits>

#include "wallheat/plan_result.hpp"

namespace wallheat {

/// Returns a result without the columns that differ between attempts: times, memory, session and
/// thread.
inline PlanResult without_times(PlanResult result) {
  result.seconds = 0;
  result.cpu_s = std::numeric_limits<double>::quiet_NaN();
  result.peak_memory = 0;
  result.session = 0;
  result.thread = -1;
  result.started_s = std::numeric_limits<double>::quiet_NaN();
  result.predicted_s = std::numeric_limits<float>::quiet_NaN();
  result.phases = {};
  return result;
}

}  // namespace wallheat
