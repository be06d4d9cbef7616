#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/program.hpp"
#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "monitor/file_status.hpp"
#include "store/merge.hpp"
#include "view/advice.hpp"
#include "view/json.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

/// Returns what the user should do next.
std::string next_step_text(const FileStatus& status) {
  const ShardFileStatus& first = status.parts.front();
  const bool is_merged = !status.is_array() && merged_parts(first.session);
  const auto resume_text = [&](const std::string& more = "") -> std::string {
    if (status.is_array())
      return "submit the array again" + (more.empty() ? "" : " with" + more) +
             " when all its jobs have ended";
    return is_merged ? "run '" + resume_command(first.file.string()) + more + "'"
                     : resume_hint + more;
  };
  const std::string or_repair =
      status.is_array() ? "" : ", or compact the file with 'wallheat repair'";
  const bool is_left = std::ranges::any_of(status.parts, [](const ShardFileStatus& part) {
    return !part.is_running() && part.exit_status() == exit_incomplete;
  });
  switch (status.state()) {
    case RunState::being_written:
      if (is_left) return "wait; " + resume_text();
      if (status.is_array() || first.age_s <= max_status_age_s) return "wait";
      return fmt::format(
          "wait; but its last status is {} old: check whether it is suspended or waiting for a "
          "file system",
          duration_text(first.age_s));
    case RunState::killed:
    case RunState::failed:
      return "all stored results are kept; to resume, " + resume_text() + or_repair;
    case RunState::unknown:
      return fmt::format("check whether process {} on host {} is still running; if not, {}{}",
                         first.writer.pid, first.writer.host, resume_text(), or_repair);
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
  if (status.plans.pending > 0) return "to resume, " + resume_text();
  if (status.plans.failed > 0) {
    std::set<ExhaustedResource> resources;
    for (const ShardFileStatus& part : status.parts)
      for (const PlanResult& plan : part.failures) resources.insert(exhausted_resource(plan.error));
    return failed_plans_advice(resources, is_solver_command(first.solver)) + ", then " +
           resume_text(retry_failed_suffix);
  }
  if (status.is_array() && !status.file.empty())
    return "combine the shard files with 'wallheat merge'";
  return is_left ? "all plans are solved; compact the file and its journals with 'wallheat repair'"
                 : "nothing to do";
}

/// Returns why a part needs the attention of the user; an empty string if it does not.
std::string attention_reason(const ShardFileStatus& part) {
  std::vector<std::string> reasons;
  if (part.state == RunState::killed || part.state == RunState::unknown ||
      part.state == RunState::failed)
    reasons.push_back(part.state_text());
  if (part.new_plans > 0)
    reasons.push_back(fmt::format("lacks {} of the longer list of another shard file",
                                  count_text(part.new_plans, "plan")));
  if (part.state == RunState::closed && part.plans.pending > part.new_plans)
    reasons.emplace_back("stopped early");
  if (part.state == RunState::closed && !part.is_whole) reasons.emplace_back("is not compacted");
  if (!part.failures.empty()) reasons.push_back(part.failures.front().error);
  return fmt::format("{}", fmt::join(reasons, "; "));
}

Json json_or_null(const std::optional<double>& number) { return number ? Json(*number) : Json(); }
Json json_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

/// Returns "2 working, 1 lost": the workers of runs in progress.
std::string worker_states_text(const FileStatus& status) {
  std::map<std::string, std::size_t> workers;
  for (const ShardFileStatus& part : status.parts)
    if (part.is_running() && part.run)
      for (const auto& [state, count] : part.run->worker_states) workers[state] += count;
  std::vector<std::string> states;
  for (const auto& [state, count] : workers) states.push_back(fmt::format("{} {}", count, state));
  return fmt::format("{}", fmt::join(states, ", "));
}

Json part_json(const ShardFileStatus& part) {
  const auto& [solved, failed, pending, running, rate, left] = part.plans;
  const LockHolder& writer = part.writer;
  return {{"part", part.name()},
          {"state", to_string(part.state)},
          {"solved", solved},
          {"failed", failed},
          {"pending", pending},
          {"running", running},
          {"why", attention_reason(part)},
          {"shard", part.shard.text()},
          {"plans_per_s", json_or_null(rate)},
          {"seconds_left", json_or_null(left)},
          {"solver", part.solver},
          {"host", writer.host},
          {"pid", writer.pid},
          {"job", writer.job},
          {"since", writer.since},
          {"run_state", part.run ? Json(part.run->state) : Json()},
          {"status_age_s", part.run ? Json(part.age_s) : Json()},
          {"note", part.note}};
}

Json worker_json(const ShardFileStatus& part, const WorkerStatus& worker) {
  Json json{{"part", part.name()},
            {"rank", worker.rank},
            {"host", worker.host},
            {"device", worker.device},
            {"threads", worker.threads},
            {"plans", worker.plans},
            {"peak_memory", worker.peak_memory > 0 ? Json(worker.peak_memory) : Json()},
            {"state", worker.state},
            {"last_heard_s", worker.last_heard_s + part.status_age_if_running_s()},
            {"running", worker.running_plans}};
  const GpuSample gpu = worker.gpu.value_or(GpuSample{});
  json.update(Json(gpu));
  return json;
}

}  // namespace

Json to_json(const FileStatus& status) {
  const PlanCounts& plans = status.plans;
  Json parts = Json::array();
  Json workers = Json::array();
  Json running_plans = Json::array();
  Json failed_plans = Json::array();
  for (const ShardFileStatus& part : status.parts) {
    parts.push_back(part_json(part));
    for (const WorkerStatus& worker : part.workers()) {
      workers.push_back(worker_json(part, worker));
      for (const RunningPlan& plan : worker.running)
        running_plans.push_back({{"part", part.name()},
                                 {"rank", worker.rank},
                                 {"worker", worker.state},
                                 {"id", plan.id},
                                 {"seconds", plan.seconds + part.status_age_if_running_s()},
                                 {"iterations", plan.iterations},
                                 {"delta", plan.delta}});
    }
    for (const PlanResult& plan : part.failures)
      failed_plans.push_back({{"part", part.name()},
                              {"id", plan.id},
                              {"attempts", plan.attempts},
                              {"error", plan.error}});
  }
  return {{"file", json_or_null(status.file.string())},
          {"state", to_string(status.state())},
          {"total", plans.solved + plans.failed + plans.pending},
          {"solved", plans.solved},
          {"failed", plans.failed},
          {"pending", plans.pending},
          {"running", plans.running},
          {"solver", json_or_null(status.parts.front().solver)},
          {"plans_per_s", json_or_null(plans.plans_per_s)},
          {"seconds_left", json_or_null(plans.seconds_left)},
          {"workers_by_state", json_or_null(worker_states_text(status))},
          {"advice", next_step_text(status)},
          {"parts", parts},
          {"workers", workers},
          {"running_plans", running_plans},
          {"failed_plans", failed_plans}};
}

}  // namespace wallheat
