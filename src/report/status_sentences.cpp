#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/exit_status.hpp"
#include "core/plural.hpp"
#include "report/attributes.hpp"
#include "report/file_status.hpp"
#include "store/merge.hpp"
#include "view/advice.hpp"
#include "view/time_text.hpp"

// The status of a file in sentences.

namespace wallheat {
namespace {

/// Where each plan runs or ran that a worker has reported, by its ID.
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

std::string state_text(const PartStatus& part) {
  if (const auto parts = merged_parts(part.session); parts && part.state == RunState::closed)
    return "closed; merged from " + counted(*parts, "part");
  std::string text(to_string(part.state));
  if (part.state == RunState::closed)
    if (const std::string ended = text_in(part.session, "ended_utc", ""); !ended.empty())
      text += " at " + ended;
  if (part.state == RunState::killed) text = "left open: its writer was killed";
  if (part.state == RunState::unknown) text = "left open: its writer does not answer";
  if (!part.writer.pid.empty())
    text += fmt::format(", process {} on host {}", part.writer.pid, part.writer.host);
  if (!part.writer.job.empty()) text += ", job " + part.writer.job;
  if (!part.writer.since.empty()) text += ", started " + part.writer.since;
  return text;
}

std::string advice_on(const FileStatus& status) {
  const PartStatus& first = status.parts.front();
  const bool is_merged = !status.is_array() && merged_parts(first.session);
  const auto go_on = [&](const std::string& more = "") -> std::string {
    if (status.is_array())
      return "submit the array again" + (more.empty() ? "" : " with" + more) +
             " when no job is left";
    return is_merged ? "run '" + resume_command(first.file.string()) + more + "'"
                     : resume_same + more;
  };
  const std::string or_repair =
      status.is_array() ? "" : ", or make the file whole with 'wallheat repair'";
  const bool is_left = std::ranges::any_of(status.parts, [](const PartStatus& part) {
    return !part.lives() && part.exit_status() == exit_work_left;
  });
  switch (status.state()) {
    case RunState::being_written:
      if (is_left) return "wait; " + go_on();
      if (status.is_array() || first.age_s <= fresh_status_s) return "wait";
      return fmt::format(
          "wait; but it has not written its status for {}: see whether it is stopped or waits for "
          "a file system",
          duration_text(first.age_s));
    case RunState::killed:
      return "nothing stored is lost: to go on, " + go_on() + or_repair;
    case RunState::unknown:
      return fmt::format("see whether process {} on host {} still lives; if not, {}{}",
                         first.writer.pid, first.writer.host, go_on(), or_repair);
    case RunState::not_begun:
    case RunState::closed:
      break;
  }
  if (status.plans.pending > 0) return "to go on, " + go_on();
  if (status.plans.failed > 0)
    return "mend the input of the failed plans, then " + go_on(and_retry_failed);
  if (status.is_array() && !status.file.empty())
    return "'wallheat merge' makes one file of the parts";
  return is_left ? "all is solved; 'wallheat repair' makes one file of it and its journals"
                 : "nothing to do";
}

std::string why_attention(const PartStatus& part) {
  std::vector<std::string> reasons;
  if (part.state == RunState::killed || part.state == RunState::unknown)
    reasons.push_back(state_text(part));
  if (part.state == RunState::closed && part.plans.pending > 0)
    reasons.emplace_back("stopped early");
  if (part.state == RunState::closed && !part.is_whole) reasons.emplace_back("is not whole");
  if (!part.failures.empty()) reasons.push_back(part.failures.front().error);
  return fmt::format("{}", fmt::join(reasons, "; "));
}

void add_reasons(const PartStatus& part, std::vector<Table::Row>& rows) {
  std::size_t waiting = part.campaign == 0 ? part.plans.pending : 0;
  std::size_t running = part.plans.running;  // those that are not named
  const auto at_work = plans_at_work(part);
  if (part.campaign > 0)
    ResultReader(part.file).for_each_row([&](const PlanResult& row) {
      if (!part.shard.holds(row.index)) return;
      const auto working = is_answer(row.status) ? at_work.end() : at_work.find(row.id);
      const bool is_new = row.status == PlanStatus::pending && row.attempts == 0;
      if (working != at_work.end()) {
        rows.push_back({part.name(), row.id, working->second});
        if (running > 0 && working->second.starts_with("runs")) --running;
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
