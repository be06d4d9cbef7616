#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "plans/plan_source.hpp"
#include "queue/coordinator.hpp"
#include "run/run_options.hpp"
#include "view/console.hpp"
#include "view/run_monitor.hpp"

// What a run says at its end.
namespace wallheat {

/// Says what became of the plans, and where the results are.
void report_end(const RunMonitor& monitor, const RunOptions& options, Log& logger);

/// What is to be done now: the last line.
[[nodiscard]] std::string next_step(const RunTally& tally, const RunOptions& options,
                                    bool is_work_left);

/// To give more time is all that helps a run that was to stop before any plan could start.
inline constexpr const char* more_time =
    "give the run more time (--time-limit, or the job's own limit), then go on with --resume";

[[nodiscard]] std::string why_stopped_after_failures(std::size_t failed, const RunOptions& options);

/// Why another session like this one would get no further either, so that a job script that submits
/// itself again would do so for ever: nothing was solved, and the time limit was reached, no plan
/// could start, or everything at hand was started and abandoned often enough. Empty if that is not
/// so.
[[nodiscard]] std::string why_hopeless(RunEnd end, const RunProgress& progress,
                                       const PlanSource& source,
                                       const std::function<std::string(std::uint32_t plan)>& id_of,
                                       const RunOptions& options);

}  // namespace wallheat
