#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "core/plural.hpp"
#include "report/attributes.hpp"
#include "report/file_status.hpp"
#include "view/gpu_text.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

std::string running_text(const PlanCounts& plans) {
  return plans.running > 0 ? fmt::format(", {} of them running", plans.running) : "";
}

/// "4 parts, 1 killed (3), 3 closed", with the numbers of the parts.
std::string states_text(const FileStatus& status) {
  if (!status.is_array()) return std::string(to_string(status.state()));
  constexpr std::size_t most_named = 10;
  std::map<RunState, std::vector<std::size_t>> numbers;
  for (const PartStatus& part : status.parts) numbers[part.state].push_back(part.shard.number);
  std::string text = counted(status.parts.size(), "part");
  for (const auto& [state, parts] : numbers) {
    text += fmt::format(", {} {}", parts.size(), to_string(state));
    if (state != RunState::closed && parts.size() <= most_named)
      text += fmt::format(" ({})", fmt::join(parts, ", "));
  }
  return text;
}

/// What parts have, whose names stand in front; people see it if it has a name.
Table table_of(const FileStatus& status, const char* key, const char* name,
               std::vector<Table::Column> columns) {
  columns.insert(columns.begin(), {"part", status.is_array() ? "part" : ""});
  if (std::string_view(name).empty())
    for (Table::Column& column : columns) column.name.clear();
  Table table{key, name, std::move(columns)};
  table.most_shown = 40;
  return table;
}

Table table_of_parts(const FileStatus& status) {
  std::vector<Table::Column> columns;
  for (const char* name : {"state", "solved", "failed", "pending", "running", "why"})
    columns.push_back({name, name});
  for (const char* key : {"shard", "plans_per_s", "seconds_left", "solver", "host", "pid", "job",
                          "since", "run_state", "status_age_s", "note"})
    columns.push_back({key, ""});
  Table table = table_of(status, "parts", status.is_array() ? "parts" : "", std::move(columns));
  for (const PartStatus& part : status.parts) {
    const auto& [solved, failed, pending, running, rate, left] = part.plans;
    const LockHolder& writer = part.writer;
    table.rows.push_back({part.name(), to_string(part.state), solved, failed, pending, running,
                          why_attention(part), part.shard.text(), rate, left, part.solver,
                          writer.host, writer.pid, writer.job, writer.since,
                          part.run ? Value(part.run->state) : Value(),
                          part.run ? Value(part.age_s) : Value(), part.note});
  }
  // People see first those that they have to see to.
  constexpr std::size_t why = 6;
  std::ranges::stable_sort(table.rows, {},
                           [](const Table::Row& row) { return row[why] == Value(""); });
  return table;
}

/// People see those of a single file.
void add_workers(Report& report, const FileStatus& status) {
  const bool any_lives = status.state() == RunState::being_written;
  const auto heading = [&](const char* living, const char* dead) {
    return status.is_array() ? "" : any_lives ? living : dead;
  };
  Table workers = table_of(status, "workers", heading("workers", "workers, when last heard of"),
                           {{"rank", "rank"},
                            {"host", "host"},
                            {"device", "device"},
                            {"threads", "threads"},
                            {"plans", "plans"},
                            {"peak_memory", "memory", {Form::bytes}},
                            {"state", "state"},
                            {"last_heard_s", "heard ago", {Form::duration}},
                            {"running", "running"},
                            {"", "GPU"}});
  Table plans =
      table_of(status, "running_plans", heading("plans at workers", "plans at workers then"),
               {{"rank", "rank"},
                {"worker", "worker"},
                {"id", "plan"},
                {"seconds", "for", {Form::duration}},
                {"iterations", "iterations"},
                {"delta", "delta", {Form::digits, 2, "°C"}}});
  bool any_gpu = false;
  for (const PartStatus& part : status.parts)
    for (const WorkerStatus& worker : part.workers()) {
      any_gpu = any_gpu || worker.gpu;
      const GpuSample gpu = worker.gpu.value_or(GpuSample{});
      workers.rows.push_back(
          {part.name(), worker.rank, worker.host, worker.device, worker.threads, worker.plans,
           worker.peak_memory > 0 ? Value(worker.peak_memory) : Value(), worker.state,
           worker.last_heard_s + part.since_status_s(), worker.running_plans, gpu_text(gpu)});
      for (const GpuReading& reading : gpu_readings)
        workers.rows.back().push_back(gpu.*reading.value);
      for (const RunningPlan& plan : worker.running)
        plans.rows.push_back({part.name(), worker.rank, worker.state, plan.id,
                              plan.seconds + part.since_status_s(), plan.iterations, plan.delta});
    }
  if (!any_gpu) workers.columns.back().name.clear();
  for (const GpuReading& reading : gpu_readings) workers.columns.push_back({reading.name, ""});
  report.add(std::move(workers));
  report.add(std::move(plans));
}

Table table_of_failures(const FileStatus& status) {
  Table table = table_of(status, "failed_plans", status.is_array() ? "" : "failed plans",
                         {{"id", "plan"}, {"attempts", "starts"}, {"error", "why"}});
  for (const PartStatus& part : status.parts)
    for (const PlanResult& plan : part.failures)
      table.rows.push_back({part.name(), plan.id, plan.attempts, plan.error});
  return table;
}

Table table_of_reasons(const FileStatus& status) {
  Table table = table_of(status, "why", "why", {{"id", "plan"}, {"reason", "reason"}});
  table.most_shown = std::numeric_limits<std::size_t>::max();
  for (const PartStatus& part : status.parts) add_reasons(part, table.rows);
  return table;
}

void add_facts(Report& report, const FileStatus& status) {
  const PartStatus& first = status.parts.front();
  const PlanCounts& plans = status.plans;
  const bool is_array = status.is_array();
  const bool any_lives = status.state() == RunState::being_written;
  std::map<std::string, std::size_t> workers;
  for (const PartStatus& part : status.parts)
    if (part.lives() && part.run)
      for (const auto& [state, count] : part.run->worker_states) workers[state] += count;
  std::vector<std::string> states;
  for (const auto& [state, count] : workers) states.push_back(fmt::format("{} {}", count, state));
  const auto fact = [&](const char* key, const char* name, Value value, Style style = {},
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
  if (plans.plans_per_s && (any_lives || *plans.plans_per_s > 0))
    fact("", "rate", rate_text(*plans.plans_per_s) + (any_lives ? "" : " at last"));
  fact("seconds_left", "left", plans.seconds_left, {Form::duration},
       is_array ? " of the parts that are being written" : "");
  fact("workers_by_state", "workers", fmt::format("{}", fmt::join(states, ", ")));
  if (!is_array && first.run)
    fact("", "status",
         fmt::format("{}written {} ago", any_lives ? first.run->state + ", " : "",
                     duration_text(first.age_s)));
  if (!is_array) fact("", "note", first.note);
  fact("advice", "advice", advice_on(status));
}

}  // namespace

Report report_of(const FileStatus& status, bool why) {
  Report report{status.file.filename().string(), "parts"};
  report.exit_status = status.exit_status();
  report.add(Note{
      fmt::format("{}{}{}", status.file.string(), status.file.empty() ? "" : ": ",
                  status.is_array() ? states_text(status) : state_text(status.parts.front()))});
  add_facts(report, status);
  report.add(table_of_parts(status));
  add_workers(report, status);
  report.add(table_of_failures(status));
  if (!why) return report;
  const Table& reasons = report.add(table_of_reasons(status));
  if (reasons.rows.empty()) report.add_note("every plan was solved at its first start");
  return report;
}

std::string line_of(const FileStatus& status) {
  const PlanCounts& plans = status.plans;
  return fmt::format(
      "{} {}: {} solved, {} failed, {} pending{}{}{}", utc_now(), states_text(status), plans.solved,
      plans.failed, plans.pending, running_text(plans),
      plans.plans_per_s.value_or(0) > 0 ? ", " + rate_text(*plans.plans_per_s) : "",
      plans.seconds_left ? fmt::format(", {} left", duration_text(*plans.seconds_left)) : "");
}

}  // namespace wallheat
