#include "report/status_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "monitor/gpu_text.hpp"
#include "view/json.hpp"
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
        texts[plan.id] = "ran " + text + ", at the last message of the run";
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
      return (part.is_running() ? "runs or waits to run again " : "has no result ") + starts +
             error;
    case PlanStatus::max_iterations:
      if (is_solver_command(row.solver))
        return fmt::format(
            "the program reported that the iteration has not converged; delta is {:.3g} °C; raise "
            "--max-iterations",
            row.last_delta);
      return fmt::format(
          "stopped after {} iterations, the last of which had a delta of {:.3g} °C; raise "
          "--max-iterations, or use --solver steady",
          row.iterations, row.last_delta);
    case PlanStatus::empty:
      return "has no interior cell, so there is nothing to solve";
    case PlanStatus::converged:
    case PlanStatus::convergence_unknown:
      break;
  }
  if (row.attempts > 1) return "solved " + starts;
  return row.fell_back != 0
             ? "solved by plain iteration, because fastforward is not faster for this plan"
             : "";
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
    rows.push_back(
        {part.name(), Value(),
         fmt::format("{} {}", count_text(waiting - running, "plan"),
                     part.is_running() ? "not started, waiting for a worker" : "never started")});
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
  std::string text = count_text(status.parts.size(), "shard");
  for (const auto& [state, parts] : numbers) {
    text += fmt::format(", {} {}", parts.size(), to_string(state));
    if (state != RunState::closed && parts.size() <= max_named)
      text += fmt::format(" ({})", fmt::join(parts, ", "));
  }
  return text;
}

/// Returns a table with the rows of the JSON of the status, and a column with the names of the
/// parts before the given columns. Members without a column get one for JSON only. Text output and
/// pages contain the table if it has a name.
Table table_of(const FileStatus& status, const Json& json, const char* key, const char* name,
               std::vector<Table::Column> columns) {
  columns.insert(columns.begin(), {"part", "shard"});
  if (!status.is_array()) columns.front().hide();
  Table table{key, name, std::move(columns)};
  if (table.name.empty()) table.hide();
  table.max_text_rows = 40;
  const Json& rows = json.at(key);
  if (rows.empty()) return table;
  for (const auto& [member, value] : rows.front().items())
    if (std::ranges::find(table.columns, member, &Table::Column::key) == table.columns.end())
      table.columns.push_back(json_only_column(member));
  add_rows(table, rows);
  return table;
}

Table shard_table(const FileStatus& status, const Json& json) {
  std::vector<Table::Column> columns;
  for (const char* name : {"state", "solved", "failed", "pending", "running", "why"})
    columns.push_back({name, name});
  Table table =
      table_of(status, json, "parts", status.is_array() ? "shards" : "", std::move(columns));
  // In text output, the parts that need attention come first.
  constexpr std::size_t why = 6;
  std::ranges::stable_sort(table.rows, {},
                           [](const Table::Row& row) { return row[why] == Value(""); });
  return table;
}

/// Adds the workers. Text output contains those of a single file; pages contain all.
void add_workers(Report& report, const FileStatus& status, const Json& json) {
  const bool any_is_running = status.state() == RunState::being_written;
  const auto heading = [&](const char* living, const char* dead) {
    return any_is_running ? living : dead;
  };
  std::vector<Table::Column> columns{
      {"rank", "rank"},       {"host", "host"},
      {"device", "device"},   {"threads", "threads"},
      {"plans", "plans"},     {"peak_memory", "memory", {ValueFormat::bytes}},
      {"state", "state"},     {"last_heard_s", "last message", {ValueFormat::duration}},
      {"running", "running"}, text_only_column("GPU")};
  for_each_member<GpuSample>(
      [&](const GpuReading& reading) { columns.push_back(json_only_column(reading.name)); });
  Table workers = table_of(status, json, "workers",
                           heading("workers", "workers, at the time of their last message"),
                           std::move(columns));
  constexpr std::size_t gpu_column = 10;
  bool any_gpu = false;
  auto row = workers.rows.begin();
  for (const ShardFileStatus& part : status.parts)
    for (const WorkerStatus& worker : part.workers()) {
      any_gpu = any_gpu || worker.gpu;
      (*row++)[gpu_column] = gpu_text(worker.gpu.value_or(GpuSample{}));
    }
  if (!any_gpu) workers.columns[gpu_column].hide();
  workers.is_collapsed = status.is_array();
  report.add(std::move(workers));
  report
      .add(table_of(status, json, "running_plans",
                    heading("plans in progress", "plans in progress at the last message"),
                    {{"rank", "rank"},
                     {"worker", "worker"},
                     {"id", "plan"},
                     {"seconds", "for", {ValueFormat::duration}},
                     {"iterations", "iterations"},
                     {"delta", "delta", {ValueFormat::digits, 2, "°C"}}}))
      .is_collapsed = status.is_array();
}

Table table_of_reasons(const FileStatus& status) {
  Table table = table_of(status, {{"why", Json::array()}}, "why", "why",
                         {{"id", "plan"}, {"reason", "reason"}});
  table.max_text_rows = std::numeric_limits<std::size_t>::max();
  for (const ShardFileStatus& part : status.parts) add_reasons(part, table.rows);
  return table;
}

/// Returns a note on failed plans that a resume retries. A run that has finished has given up all
/// failed plans; any other run leaves plans with attempts left.
std::string retried_text(const FileStatus& status) {
  std::int64_t retried = 0;
  for (const ShardFileStatus& part : status.parts) {
    if (part.run || text_in(part.session, "end", "") == end_finished) continue;
    const double max_attempts = number_in(part.session, "max_attempts");
    retried += std::ranges::count_if(part.failures, [&](const PlanResult& row) {
      return static_cast<double>(row.failures) < max_attempts;
    });
  }
  return retried == 0 ? "" : fmt::format(", {} of which --resume retries", retried);
}

void add_facts(Report& report, const FileStatus& status, const Json& json) {
  const ShardFileStatus& first = status.parts.front();
  const PlanCounts& plans = status.plans;
  const bool is_array = status.is_array();
  const bool any_is_running = status.state() == RunState::being_written;
  const auto fact = [&](const char* key, const char* name, ValueStyle style = {},
                        std::string more = "") {
    report.add_fact(key, name, value_from_json(json.at(key)), std::move(style), std::move(more));
  };
  fact("file", "");
  fact("state", "");
  fact("total", "plans", {},
       !is_array && first.shard.count > 1 ? " in shard " + first.shard.text() : "");
  fact("solved", "  solved");
  fact("failed", "  failed", {}, retried_text(status));
  fact("pending", "  pending", {}, running_text(plans));
  fact("running", "");
  fact("solver", "solver");
  fact("plans_per_s", "");
  if (plans.plans_per_s && (any_is_running || *plans.plans_per_s > 0))
    report.add_text_fact("rate",
                         rate_text(*plans.plans_per_s) + (any_is_running ? "" : " at the end"));
  fact("seconds_left", "left", {ValueFormat::duration},
       is_array ? " for the shards that are being written" : "");
  fact("workers_by_state", "workers");
  if (!is_array && first.run)
    report.add_text_fact(
        "status", fmt::format("{}written {} ago", any_is_running ? first.run->state + ", " : "",
                              duration_text(first.age_s)));
  if (!is_array) report.add_text_fact("note", first.note.empty() ? Value() : first.note);
  fact("advice", "advice");
}

}  // namespace

Report make_report(const FileStatus& status, bool why) {
  const Json json = to_json(status);
  Report report{status.file.filename().string(), "parts"};
  report.exit_status = status.exit_status();
  report.add_note(
      fmt::format("{}{}{}", status.file.string(), status.file.empty() ? "" : ": ",
                  status.is_array() ? states_text(status) : status.parts.front().state_text()));
  add_facts(report, status, json);
  report.add(shard_table(status, json));
  add_workers(report, status, json);
  report
      .add(table_of(status, json, "failed_plans", "failed plans",
                    {{"id", "plan"}, {"attempts", "attempts"}, {"error", "error"}}))
      .is_collapsed = status.is_array();
  if (!why) return report;
  const Table& reasons = report.add(table_of_reasons(status));
  if (reasons.rows.empty()) report.add_note("every plan was solved at the first attempt");
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

void ProgressHistory::add(double elapsed_s, const PlanCounts& plans) {
  // Keeps every second point if there are more than a page can show.
  constexpr std::size_t max_points = 1000;
  if (seconds_.size() == max_points)
    for (std::vector<double>* series : {&seconds_, &done_}) {
      for (std::size_t i = 1; 2 * i < max_points; ++i) (*series)[i] = (*series)[2 * i];
      series->resize(max_points / 2);
    }
  seconds_.push_back(elapsed_s);
  done_.push_back(static_cast<double>(plans.solved + plans.failed));
}

Report ProgressHistory::page(const FileStatus& status) const {
  Report page = make_report(status);
  const PlanCounts& plans = status.plans;
  const std::size_t total = plans.solved + plans.failed + plans.pending;
  const double share =
      total > 0 ? static_cast<double>(plans.solved + plans.failed) / static_cast<double>(total) : 0;
  page.title = fmt::format("{:.0f} % of {}", std::floor(100 * share),
                           page.title.empty() ? count_text(total, "plan") : page.title);
  if (seconds_.size() < 2) return page;
  constexpr double hour_s = 3600;
  const bool is_long = seconds_.back() > 2 * hour_s;
  Figure figure{"progress",
                "plans with a result",
                {is_long ? "time since the first update, hours" : "time since the first update, s"},
                {"plans"}};
  figure.y.from = 0;
  figure.y.to = static_cast<double>(total);
  Figure::Series& curve = figure.series.emplace_back();
  curve.mark = Figure::Mark::line;
  for (std::size_t i = 0; i < seconds_.size(); ++i)
    curve.add(is_long ? seconds_[i] / hour_s : seconds_[i], done_[i]);
  // The figure follows the facts.
  const auto first_table = std::ranges::find_if(
      page.elements, [](const auto& part) { return std::holds_alternative<Table>(part); });
  page.elements.insert(first_table, std::move(figure));
  return page;
}

}  // namespace wallheat
