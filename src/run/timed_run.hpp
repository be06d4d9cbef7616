#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/scaling.hpp"

namespace wallheat {

/// Solves plans with so many threads of this machine, in a process of its own that does what
/// `wallheat run` does: no run finds anything warm that another has left in memory. `options` are
/// of `wallheat run`: the plans and the solver. The results are thrown away. The time is that of
/// the run's own session: from the list of plans to the last stored row. Throws RunError where the
/// run fails, has other workers than it should, or a stop was asked for.
[[nodiscard]] ScalingPoint timed_run(const std::vector<std::string>& options, std::size_t workers);

}  // namespace wallheat
