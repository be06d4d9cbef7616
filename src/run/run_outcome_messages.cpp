#include "run/run_outcome_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/text.hpp"
#include "plans/work_estimate.hpp"
#include "run/plan_selection.hpp"
#include "view/advice.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

/// Describes how long an aborted plan was in progress, and how long it needs.
std::string time_needed(const Event& plan, const std::string& id, const PlanSource& source,
                        const RunOptions& options) {
  std::string had = fmt::format("plan {} (started {}) ran for {}", id,
                                count_text(static_cast<std::size_t>(plan.attempts), "time"),
                                duration_text(plan.progress.seconds));
  const auto estimate =
      estimate_plan(source, id, options.solve.solver.limits, options.solve.solver.kind);
  if (!estimate || plan.progress.iterations < 1) return had;
  const double needed_s = plan.progress.seconds * static_cast<double>(estimate->iterations) /
                          static_cast<double>(plan.progress.iterations);
  return fmt::format("{} and needs about {}", had,
                     duration_text(std::max(needed_s, plan.progress.seconds)));
}

}  // namespace

void log_summary(const RunMonitor& monitor, const RunOptions& options, Log& logger) {
  const RunTally& tally = monitor.progress().tally();
  if (tally.given_up > 0)
    logger.warn("{} skipped: all attempts failed in earlier sessions; use --retry-failed to retry",
                count_text(tally.given_up, "plan"));
  std::string result = fmt::format(
      "restored {}, solved {}, failed {}{}{}", tally.restored, tally.solved, tally.failed,
      tally.given_up > 0 ? fmt::format(", given up earlier {}", tally.given_up) : "",
      tally.remaining() > 0 ? fmt::format(", left {}", tally.remaining()) : "");
  if (tally.solved + tally.failed > 0) {
    logger.info("the plans took {}", tally.spent.text());
    result += fmt::format(" in {}: {}", duration_text(monitor.progress().elapsed_s()),
                          monitor.rate_text());
  }
  logger.info("{}", result);
  if (tally.restored + tally.solved + tally.failed > 0)
    logger.info("the results are in {}", options.out.string());
}

std::string next_step_text(const RunTally& tally, const RunOptions& options, bool is_work_left) {
  const std::string file = quote_shell_word(options.out.string());
  if (is_work_left) return fmt::format("stopped early; to resume, {}", resume_hint);
  if (tally.failed + tally.given_up > 0) {
    std::set<ExhaustedResource> resources;
    for (const auto& [plan, resource] : tally.failed_plans) resources.insert(resource);
    // Failures of earlier sessions, of which the resource is unknown.
    if (tally.given_up > 0) resources.insert(ExhaustedResource::none);
    return fmt::format(
        "next: {} (listed by 'wallheat summary {}'), then {}{}",
        failed_plans_advice(resources, options.solve.solver.kind == SolverKind::command), file,
        resume_hint, retry_failed_suffix);
  }
  if (options.shard.count > 1)
    return "next: when all shards are done, combine their files with 'wallheat merge'";
  return fmt::format("next: wallheat summary {}", file);
}

std::string failure_limit_reason(std::size_t failed, const RunOptions& options) {
  return fmt::format(
      "{} failed, the limit of --stop-after-failures {}; 'wallheat summary {}' lists them; fix the "
      "cause, then {}{}",
      count_text(failed, "plan has", "plans have"), options.stop_after_failures,
      quote_shell_word(options.out.string()), resume_hint, retry_failed_suffix);
}

std::string no_progress_reason(RunEnd end, const RunProgress& progress, const PlanSource& source,
                               const std::function<std::string(QueueIndex plan)>& id_of,
                               const RunOptions& options) {
  const RunTally& tally = progress.tally();
  if (end == RunEnd::finished) return {};
  if (end == RunEnd::source_outage)
    return tally.solved == 0 && tally.retried_failures > 0
               ? fmt::format(
                     "no plan was solved, because system errors kept the workers from reading the "
                     "plans; check the hosts in the log, then {}",
                     resume_hint)
               : std::string();
  if (tally.solved + tally.failed + tally.retried_failures > 0) return {};
  const std::vector<Event>& abandoned = progress.aborted();
  const bool out_of_time = end == RunEnd::out_of_time;
  if (abandoned.empty())
    return fmt::format(
        "no plan was started before {}; {}{}",
        out_of_time ? "the time limit was reached" : "a stop was requested",
        options.solve.solver.kind == SolverKind::command
            ? "check that the program of --solver-command sends {\"ready\": true} at its start, or "
            : "",
        more_time_hint);
  const bool was_tried_enough = std::ranges::all_of(
      abandoned, [&](const Event& plan) { return plan.attempts >= options.max_attempts; });
  if (!out_of_time && !was_tried_enough) return {};
  return fmt::format(
      "no plan was solved before the run had to stop, and resuming with the same limits would not "
      "help: {}; {}",
      join_first(abandoned.size(),
                 [&](std::size_t k) {
                   return time_needed(abandoned[k], id_of(abandoned[k].plan), source, options);
                 }),
      more_time_hint);
}

}  // namespace wallheat
