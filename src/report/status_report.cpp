#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/program.hpp"
#include "core/text.hpp"
#include "report/file_status.hpp"
#include "store/merge.hpp"
#include "view/advice.hpp"
#include "view/gpu_text.hpp"
#include "view/time_text.hpp"

namespace wallheat {

// Messages about the status of a file.

namespace {

/// Returns where each plan is or was in progress that a worker has reported, by its ID.
std::map<std::string, std::string> plans_at_work(const ShardFileStatus& part) {
  std::map<std::string, std::string> texts;
  for (const WorkerStatus& worker : part.workers())
    for (const RunningPlan& plan : worker.running) {
      const std::string text = fmt::format(
          "for {} at rank {} on {}", duration_text(plan.seconds + part.status_age_if_running_s()),
          worker.rank, worker.host);
      if (!part.is_running())
        texts[plan.id] = "ran " + text + ", when the run was last heard of";
      else if (worker.state == "working")
        texts[plan.id] = "runs " + text;
      else  // another worker may solve it, too
        texts.try_emplace(plan.id, fmt::format("ran {}, which is {}", text, worker.state));
    }
  return texts;
}

/// Returns why a plan has no result, did not converge, or took more than one attempt or a fallback;
/// otherwise an empty string.
std::string reason_of(const PlanResult& row, const ShardFileStatus& part) {
  std::string starts = "after " + count_text(static_cast<std::size_t>(row.attempts), "start");
  if (row.failures > 0 && row.status != PlanStatus::failed)
    starts += fmt::format(", {} of which failed", row.failures);
  const std::string error = row.error.empty() ? "" : ": " + row.error;
  switch (row.status) {
    case PlanStatus::failed:
      return "failed " + starts + error;
    case PlanStatus::pending:
      return (part.is_running() ? "runs or waits to run again " : "has no answer ") + starts +
             error;
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

/// Returns the state of a part, and the process that writes it.
std::string state_text(const ShardFileStatus& part) {
  if (const auto parts = merged_parts(part.session); parts && part.state == RunState::closed)
    return "closed; merged from " + count_text(*parts, "part");
  std::string text(to_string(part.state));
  if (part.state == RunState::closed)
    if (const std::string ended = text_in(part.session, "ended_utc", ""); !ended.empty())
      text += " at " + ended;
  if (part.state == RunState::killed) text = "left open: its writer was killed";
  if (part.state == RunState::unknown) text = "left open: its writer does not answer";
  if (part.state == RunState::failed)
    text = fmt::format("left open: its last run failed with exit status {}, see its messages",
                       part.run_exit_status);
  if (!part.writer.pid.empty())
    text += fmt::format(", process {} on host {}", part.writer.pid, part.writer.host);
  if (!part.writer.job.empty()) text += ", job " + part.writer.job;
  if (!part.writer.since.empty()) text += ", started " + part.writer.since;
  return text;
}

/// Returns what the user should do next.
std::string next_step_text(const FileStatus& status) {
  const ShardFileStatus& first = status.parts.front();
  const bool is_merged = !status.is_array() && merged_parts(first.session);
  const auto go_on = [&](const std::string& more = "") -> std::string {
    if (status.is_array())
      return "submit the array again" + (more.empty() ? "" : " with" + more) +
             " when no job is left";
    return is_merged ? "run '" + resume_command(first.file.string()) + more + "'"
                     : resume_hint + more;
  };
  const std::string or_repair =
      status.is_array() ? "" : ", or make the file whole with 'wallheat repair'";
  const bool is_left = std::ranges::any_of(status.parts, [](const ShardFileStatus& part) {
    return !part.is_running() && part.exit_status() == exit_incomplete;
  });
  switch (status.state()) {
    case RunState::being_written:
      if (is_left) return "wait; " + go_on();
      if (status.is_array() || first.age_s <= max_status_age_s) return "wait";
      return fmt::format(
          "wait; but it has not written its status for {}: see whether it is stopped or waits for "
          "a file system",
          duration_text(first.age_s));
    case RunState::killed:
    case RunState::failed:
      return "nothing stored is lost: to go on, " + go_on() + or_repair;
    case RunState::unknown:
      return fmt::format("see whether process {} on host {} still lives; if not, {}{}",
                         first.writer.pid, first.writer.host, go_on(), or_repair);
    case RunState::not_started:
    case RunState::closed:
      break;
  }
  if (const auto& shards = status.unmerged)
    return shards->pending > 0
               ? fmt::format(
                     "the shard files next to it have {}, {} of them pending: submit the "
                     "array again, or run the shards with --resume; then merge with "
                     "--update",
                     count_text(shards->solved + shards->failed + shards->pending, "plan"),
                     shards->pending)
               : "the shard files next to it have more results: add them with 'wallheat merge "
                 "--update'";
  if (status.plans.pending > 0) return "to go on, " + go_on();
  if (status.plans.failed > 0) {
    std::set<ExhaustedResource> resources;
    for (const ShardFileStatus& part : status.parts)
      for (const PlanResult& plan : part.failures) resources.insert(exhausted_resource(plan.error));
    return failed_plans_advice(resources) + ", then " + go_on(retry_failed_suffix);
  }
  if (status.is_array() && !status.file.empty())
    return "'wallheat merge' makes one file of the parts";
  return is_left ? "all is solved; 'wallheat repair' makes one file of it and its journals"
                 : "nothing to do";
}

/// Returns why a part needs the attention of the user; an empty string if it does not.
std::string attention_reason(const ShardFileStatus& part) {
  std::vector<std::string> reasons;
  if (part.state == RunState::killed || part.state == RunState::unknown ||
      part.state == RunState::failed)
    reasons.push_back(state_text(part));
  if (part.new_plans > 0)
    reasons.push_back(fmt::format("lacks {} of the longer list of another part",
                                  count_text(part.new_plans, "plan")));
  if (part.state == RunState::closed && part.plans.pending > part.new_plans)
    reasons.emplace_back("stopped early");
  if (part.state == RunState::closed && !part.is_whole) reasons.emplace_back("is not whole");
  if (!part.failures.empty()) reasons.push_back(part.failures.front().error);
  return fmt::format("{}", fmt::join(reasons, "; "));
}

/// Adds a row for each plan for which reason_of() returns a reason, and one row without an ID for
/// plans that were never started.
void add_reasons(const ShardFileStatus& part, std::vector<Table::Row>& rows) {
  std::size_t waiting = part.header == 0 ? part.plans.pending : 0;
  // Plans in progress that the status file does not name.
  std::size_t running = part.plans.running;
  const auto at_work = plans_at_work(part);
  if (part.header > 0)
    ResultReader(part.file).for_each_row([&](const PlanResult& row) {
      if (!part.shard.contains(row.index)) return;
      const auto working = is_solved(row.status) ? at_work.end() : at_work.find(row.id);
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
    rows.push_back({part.name(), Value(),
                    count_text(running, "more plan") + (running == 1 ? " runs" : " run")});
  if (waiting > running)
    rows.push_back({part.name(), Value(),
                    fmt::format("{} {}", count_text(waiting - running, "plan"),
                                part.is_running() ? "not started yet, waiting for a free worker"
                                                  : "never started")});
}

std::string running_text(const PlanCounts& plans) {
  return plans.running > 0 ? fmt::format(", {} of them running", plans.running) : "";
}

/// Returns "4 parts, 1 killed (3), 3 closed", with the numbers of the shards.
std::string states_text(const FileStatus& status) {
  if (!status.is_array()) return std::string(to_string(status.state()));
  constexpr std::size_t max_named = 10;
  std::map<RunState, std::vector<std::size_t>> numbers;
  for (const ShardFileStatus& part : status.parts) numbers[part.state].push_back(part.shard.number);
  std::string text = count_text(status.parts.size(), "part");
  for (const auto& [state, parts] : numbers) {
    text += fmt::format(", {} {}", parts.size(), to_string(state));
    if (state != RunState::closed && parts.size() <= max_named)
      text += fmt::format(" ({})", fmt::join(parts, ", "));
  }
  return text;
}

/// Returns a table with the columns of parts after a column with their names. Text output contains
/// it if it has a name.
Table table_of(const FileStatus& status, const char* key, const char* name,
               std::vector<Table::Column> columns) {
  columns.insert(columns.begin(), {"part", "part"});
  if (!status.is_array()) columns.front().hide();
  Table table{key, name, std::move(columns)};
  if (table.name.empty()) table.hide();
  table.max_text_rows = 40;
  return table;
}

Table shard_table(const FileStatus& status) {
  std::vector<Table::Column> columns;
  for (const char* name : {"state", "solved", "failed", "pending", "running", "why"})
    columns.push_back({name, name});
  for (const char* key : {"shard", "plans_per_s", "seconds_left", "solver", "host", "pid", "job",
                          "since", "run_state", "status_age_s", "note"})
    columns.push_back(json_only_column(key));
  Table table = table_of(status, "parts", status.is_array() ? "parts" : "", std::move(columns));
  for (const ShardFileStatus& part : status.parts) {
    const auto& [solved, failed, pending, running, rate, left] = part.plans;
    const LockHolder& writer = part.writer;
    table.rows.push_back({part.name(), to_string(part.state), solved, failed, pending, running,
                          attention_reason(part), part.shard.text(), rate, left, part.solver,
                          writer.host, writer.pid, writer.job, writer.since,
                          part.run ? Value(part.run->state) : Value(),
                          part.run ? Value(part.age_s) : Value(), part.note});
  }
  // In text output, the parts that need attention come first.
  constexpr std::size_t why = 6;
  std::ranges::stable_sort(table.rows, {},
                           [](const Table::Row& row) { return row[why] == Value(""); });
  return table;
}

/// Adds the workers. Text output contains those of a single file.
void add_workers(Report& report, const FileStatus& status) {
  const bool any_is_running = status.state() == RunState::being_written;
  const auto heading = [&](const char* living, const char* dead) {
    return status.is_array() ? "" : any_is_running ? living : dead;
  };
  Table workers = table_of(status, "workers", heading("workers", "workers, when last heard of"),
                           {{"rank", "rank"},
                            {"host", "host"},
                            {"device", "device"},
                            {"threads", "threads"},
                            {"plans", "plans"},
                            {"peak_memory", "memory", {ValueFormat::bytes}},
                            {"state", "state"},
                            {"last_heard_s", "heard ago", {ValueFormat::duration}},
                            {"running", "running"},
                            text_only_column("GPU")});
  Table plans =
      table_of(status, "running_plans", heading("plans at workers", "plans at workers then"),
               {{"rank", "rank"},
                {"worker", "worker"},
                {"id", "plan"},
                {"seconds", "for", {ValueFormat::duration}},
                {"iterations", "iterations"},
                {"delta", "delta", {ValueFormat::digits, 2, "°C"}}});
  bool any_gpu = false;
  for (const ShardFileStatus& part : status.parts)
    for (const WorkerStatus& worker : part.workers()) {
      any_gpu = any_gpu || worker.gpu;
      const GpuSample gpu = worker.gpu.value_or(GpuSample{});
      workers.rows.push_back({part.name(), worker.rank, worker.host, worker.device, worker.threads,
                              worker.plans,
                              worker.peak_memory > 0 ? Value(worker.peak_memory) : Value(),
                              worker.state, worker.last_heard_s + part.status_age_if_running_s(),
                              worker.running_plans, gpu_text(gpu)});
      for (const GpuSampleField& field : gpu_sample_fields)
        workers.rows.back().push_back(gpu.*field.value);
      for (const RunningPlan& plan : worker.running)
        plans.rows.push_back({part.name(), worker.rank, worker.state, plan.id,
                              plan.seconds + part.status_age_if_running_s(), plan.iterations,
                              plan.delta});
    }
  if (!any_gpu) workers.columns.back().hide();
  for (const GpuSampleField& field : gpu_sample_fields)
    workers.columns.push_back(json_only_column(field.name));
  report.add(std::move(workers));
  report.add(std::move(plans));
}

Table table_of_failures(const FileStatus& status) {
  Table table = table_of(status, "failed_plans", status.is_array() ? "" : "failed plans",
                         {{"id", "plan"}, {"attempts", "starts"}, {"error", "why"}});
  for (const ShardFileStatus& part : status.parts)
    for (const PlanResult& plan : part.failures)
      table.rows.push_back({part.name(), plan.id, plan.attempts, plan.error});
  return table;
}

Table table_of_reasons(const FileStatus& status) {
  Table table = table_of(status, "why", "why", {{"id", "plan"}, {"reason", "reason"}});
  table.max_text_rows = std::numeric_limits<std::size_t>::max();
  for (const ShardFileStatus& part : status.parts) add_reasons(part, table.rows);
  return table;
}

void add_facts(Report& report, const FileStatus& status) {
  const ShardFileStatus& first = status.parts.front();
  const PlanCounts& plans = status.plans;
  const bool is_array = status.is_array();
  const bool any_is_running = status.state() == RunState::being_written;
  std::map<std::string, std::size_t> workers;
  for (const ShardFileStatus& part : status.parts)
    if (part.is_running() && part.run)
      for (const auto& [state, count] : part.run->worker_states) workers[state] += count;
  std::vector<std::string> states;
  for (const auto& [state, count] : workers) states.push_back(fmt::format("{} {}", count, state));
  const auto fact = [&](const char* key, const char* name, Value value, ValueStyle style = {},
                        std::string more = "") {
    if (value == Value("")) value = {};
    report.add_fact(key, name, std::move(value), std::move(style), std::move(more));
  };
  fact("file", "", status.file.string());
  fact("state", "", to_string(status.state()));
  fact("total", "plans", plans.solved + plans.failed + plans.pending, {},
       !is_array && first.shard.count > 1 ? " in shard " + first.shard.text() : "");
  fact("solved", "  solved", plans.solved);
  fact("failed", "  failed", plans.failed);
  fact("pending", "  pending", plans.pending, {}, running_text(plans));
  fact("running", "", plans.running);
  fact("solver", "solver", first.solver);
  fact("plans_per_s", "", plans.plans_per_s);
  if (plans.plans_per_s && (any_is_running || *plans.plans_per_s > 0))
    fact("", "rate", rate_text(*plans.plans_per_s) + (any_is_running ? "" : " at last"));
  fact("seconds_left", "left", plans.seconds_left, {ValueFormat::duration},
       is_array ? " of the parts that are being written" : "");
  fact("workers_by_state", "workers", fmt::format("{}", fmt::join(states, ", ")));
  if (!is_array && first.run)
    fact("", "status",
         fmt::format("{}written {} ago", any_is_running ? first.run->state + ", " : "",
                     duration_text(first.age_s)));
  if (!is_array) fact("", "note", first.note);
  fact("advice", "advice", next_step_text(status));
}

}  // namespace

Report make_report(const FileStatus& status, bool why) {
  Report report{status.file.filename().string(), "parts"};
  report.exit_status = status.exit_status();
  report.add_note(
      fmt::format("{}{}{}", status.file.string(), status.file.empty() ? "" : ": ",
                  status.is_array() ? states_text(status) : state_text(status.parts.front())));
  add_facts(report, status);
  report.add(shard_table(status));
  add_workers(report, status);
  report.add(table_of_failures(status));
  if (!why) return report;
  const Table& reasons = report.add(table_of_reasons(status));
  if (reasons.rows.empty()) report.add_note("every plan was solved at its first start");
  return report;
}

std::string one_line_text(const FileStatus& status) {
  const PlanCounts& plans = status.plans;
  return fmt::format(
      "{} {}: {} solved, {} failed, {} pending{}{}{}", utc_now(), states_text(status), plans.solved,
      plans.failed, plans.pending, running_text(plans),
      plans.plans_per_s.value_or(0) > 0 ? ", " + rate_text(*plans.plans_per_s) : "",
      plans.seconds_left ? fmt::format(", {} left", duration_text(*plans.seconds_left)) : "");
}

}  // namespace wallheat
