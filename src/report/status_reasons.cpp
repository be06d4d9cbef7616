#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/plural.hpp"
#include "report/file_status.hpp"
#include "view/time_text.hpp"

// status --why

namespace wallheat {
namespace {

/// Of each plan that a worker told that it was at: where it runs or ran, by its id.
std::map<std::string, std::string> plans_at_work(const PartStatus& part) {
  std::map<std::string, std::string> texts;
  for (const WorkerStatus& worker : part.workers())
    for (const RunningPlan& plan : worker.running) {
      const std::string text = fmt::format("for {} at rank {} on {}",
                                           duration_text(plan.seconds + part.since_status_s()),
                                           worker.rank, worker.host);
      if (!part.lives())
        texts[plan.id] = "ran " + text + ", when the run was last heard of";
      else if (worker.state == "working")
        texts[plan.id] = "runs " + text;
      else  // it may run elsewhere, too
        texts.try_emplace(plan.id, fmt::format("ran {}, which is {}", text, worker.state));
    }
  return texts;
}

/// Nothing of a plan that was simply solved.
std::string reason_of(const PlanResult& row, const PartStatus& part) {
  std::string starts = "after " + counted(static_cast<std::size_t>(row.attempts), "start");
  if (row.failures > 0 && row.status != PlanStatus::failed)
    starts += fmt::format(", {} of which failed", row.failures);
  const std::string error = row.error.empty() ? "" : ": " + row.error;
  switch (row.status) {
    case PlanStatus::failed:
      return "failed " + starts + error;
    case PlanStatus::pending:
      return (part.lives() ? "runs or waits to run again " : "has no answer ") + starts + error;
    case PlanStatus::max_iterations:
      return fmt::format(
          "stopped after {} iterations, the last of which changed {:.3g} °C: raise "
          "--max-iterations, or take --solver steady",
          row.iterations, row.last_delta);
    case PlanStatus::empty:
      return "has no interior cell, so there is nothing to solve";
    case PlanStatus::converged:
      break;
  }
  if (row.attempts > 1) return "solved " + starts;
  return row.fell_back != 0 ? "solved by the exact iteration, where fastforward gains nothing" : "";
}

}  // namespace

void add_reasons(const PartStatus& part, std::vector<Table::Row>& rows) {
  std::size_t waiting = part.campaign == 0 ? part.plans.pending : 0;
  std::size_t running = part.plans.running;  // those that are not named
  const auto at_work = plans_at_work(part);
  if (part.campaign > 0)
    ResultReader(part.file).for_each_row([&](const PlanResult& row) {
      if (!part.shard.holds(row.index)) return;
      const auto place = is_answer(row.status) ? at_work.end() : at_work.find(row.id);
      const bool is_new = row.status == PlanStatus::pending && row.attempts == 0;
      if (place != at_work.end()) {
        rows.push_back({part.name(), row.id, place->second});
        if (running > 0 && place->second.starts_with("runs")) --running;
      } else if (is_new && row.error.empty()) {
        ++waiting;
      } else if (std::string reason = reason_of(row, part); !reason.empty()) {
        rows.push_back({part.name(), row.id, std::move(reason)});
      }
    });
  running = std::min(running, waiting);
  if (running > 0)
    rows.push_back(
        {part.name(), Value(), counted(running, "more plan") + (running == 1 ? " runs" : " run")});
  if (waiting > running)
    rows.push_back({part.name(), Value(),
                    fmt::format("{} {}", counted(waiting - running, "plan"),
                                part.lives() ? "not started yet, waiting for a free worker"
                                             : "never started")});
}

}  // namespace wallheat
