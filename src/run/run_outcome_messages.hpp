#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "monitor/run_monitor.hpp"
#include "plans/plan_source.hpp"
#include "queue/coordinator.hpp"
#include "run/run_options.hpp"
#include "view/terminal.hpp"

namespace wallheat {

// Messages at the end of a run.

/// Logs the counts of solved and failed plans, the throughput, and where the results are.
void log_summary(const RunMonitor& monitor, const RunOptions& options, Log& logger);

/// Returns the last line of the log: the command that the user should run next.
[[nodiscard]] std::string next_step_text(const RunTally& tally, const RunOptions& options,
                                         bool is_work_left);

/// Hint for a run that stopped before any plan could be started or solved: only more time helps.
inline constexpr const char* more_time_hint =
    "give the run more time (--time-limit, or the job's own limit), then resume with --resume";

[[nodiscard]] std::string failure_limit_reason(std::size_t failed, const RunOptions& options);

/// Returns why another session with the same options would make no progress either; empty if it
/// might. A job script that resubmits itself stops on this, because it would do so indefinitely. No
/// progress is expected if nothing was solved and the time limit was reached, no plan could be
/// started, every aborted plan has used all attempts, or system errors kept the workers from
/// reading the plans.
[[nodiscard]] std::string no_progress_reason(
    RunEnd end, const RunProgress& progress, const PlanSource& source,
    const std::function<std::string(QueueIndex plan)>& id_of, const RunOptions& options);

}  // namespace wallheat
