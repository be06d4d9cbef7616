#include "monitor/event_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string_view>

#include "core/interruption.hpp"
#include "core/result_columns.hpp"
#include "core/system_limits.hpp"
#include "monitor/gpu_text.hpp"
#include "view/json.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

Json with(Json fields, const Json& more) {
  fields.update(more);
  return fields;
}

Json of_worker(int rank, const std::string& host, const std::string& device) {
  return {{"rank", rank}, {"host", host}, {"device", device}};
}

Json of(const WorkerInfo& worker) {
  return of_worker(worker.rank, worker.properties.host, worker.properties.device);
}

Json equipment_of(const WorkerProperties& properties) {
  Json json{{"threads", properties.slots}, {"cpus", properties.bound_cpus}};
  if (const auto& gpu = properties.gpu)
    json["gpu"] = {{"ordinal", gpu->ordinal},
                   {"name", gpu->name},
                   {"uuid", gpu->uuid},
                   {"memory_bytes", gpu->memory_bytes},
                   {"numa", gpu->numa}};
  return json;
}

Json of(const PlanResult& result) {
  Json json = of_worker(result.rank, result.host, result.device);
  json.update({{"id", result.id},
               {"status", to_string(result.status)},
               {"seconds", result.seconds},
               {"attempts", result.attempts}});
  if (result.status == PlanStatus::failed) {
    json.update({{"failures", result.failures}, {"error", result.error}});
  } else {
    const auto iterations = known_iterations(result);
    json.update({{"iterations", iterations ? Json(*iterations) : Json()},
                 {"last_delta", result.last_delta}});
  }
  return json;
}

/// Throws RunError if the file is not an event log, because the user may have named another file by
/// mistake.
void refuse_other_content(const std::filesystem::path& file) {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(file, missing)) return;
  constexpr std::string_view line_start = R"({"time":)";
  std::string found(line_start.size(), '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(found.data(), static_cast<std::streamsize>(found.size()));
  found.resize(static_cast<std::size_t>(stream.gcount()));
  if (!line_start.starts_with(found))
    throw RunError(file.string() + " is not an event log; choose another file for --events");
}

}  // namespace

EventLog::EventLog(const std::filesystem::path& file) : file_(file) {
  refuse_other_content(file);
  descriptor_ = FileDescriptor(retry_if_interrupted([&] {
    return ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_CLOEXEC, 0666);
  }));
  if (descriptor_.get() < 0)
    throw RunError("the event log " + file.string() +
                   " cannot be opened: " + system_error_text(errno));
  // A killed run may have left an incomplete last line: start a new line after it.
  std::ifstream written(file, std::ios::binary | std::ios::ate);
  if (written && written.tellg() > 0 && written.seekg(-1, std::ios::end) && written.get() != '\n')
    lines_ = "\n";
}

void EventLog::put(const std::string& event, const Json& what) {
  lines_ +=
      json_line(with({{"time", utc_now()}, {"event", event}, {"session_id", session_id_}}, what)) +
      '\n';
}

void EventLog::add_run_start(const std::string& session_id) {
  session_id_ = session_id;
  put("run_started", Json::object());
}

void EventLog::add(const Event& event, const PlanResult& result) {
  using enum Event::Kind;
  switch (event.kind) {
    case worker_ready:
      return put("worker_ready", with(of(*event.worker), equipment_of(event.worker->properties)));
    case worker_recovered:
      return put("worker_back", with(of(*event.worker), equipment_of(event.worker->properties)));
    case worker_departed:
    case worker_excluded:
      return put("worker_left", with(of(*event.worker), {{"reason", event.reason}}));
    case worker_lost:
      return put("worker_left",
                 with(of(*event.worker),
                      {{"reason", "no heartbeat for " + duration_text(event.seconds)}}));
    case started:
      return put("start", with(of(*event.worker), {{"id", result.id}, {"seconds", event.seconds}}));
    case worker_report:
      if (const auto& gpu = event.report->gpu_sample)
        put("gpu_sample", with(of(*event.worker), to_json(*gpu)));
      return;
    case finished:
    case plan_given_up: {
      Json json = of(result);
      if (!event.gpu_times.kernel.empty()) json["gpu"] = event.gpu_times;
      if (event.program_start_s > 0) json["program_start_s"] = event.program_start_s;
      return put(result.status == PlanStatus::failed ? "failure" : "result", json);
    }
    case attempt_failed:
      return put("failed_try", of(result));
    case conflict:
      return put("conflict", of(result));
    case stopping:
      return put("stopping", {{"reason", event.reason}});
    case aborted:
      return put("abandoned", {{"id", result.id},
                               {"attempts", result.attempts},
                               {"seconds", event.progress.seconds},
                               {"iterations", event.progress.iterations}});
    case duplicate_result:
      return;
  }
}

void EventLog::add_gpu_usage(const WorkerStatus& worker, const GpuUsage& usage) {
  put("gpu_usage",
      with(of_worker(worker.rank, worker.host, worker.device), to_json(usage, worker.plans)));
}

void EventLog::add_run_end(const std::string& event) { put(event, Json::object()); }

void EventLog::flush() {
  for (std::string_view left = lines_; !left.empty();) {
    const ssize_t written =
        retry_if_interrupted([&] { return ::write(descriptor_.get(), left.data(), left.size()); });
    if (written < 0)
      throw RunError("the event log " + file_.string() +
                     " cannot be written: " + system_error_text(errno));
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  lines_.clear();
}

std::vector<GpuTimesOfPlans> read_gpu_times(const std::filesystem::path& events,
                                            const std::vector<Attributes>& sessions) {
  std::ifstream lines(events);
  if (!lines)
    throw RunError("the event log " + events.string() +
                   " cannot be read: " + system_error_text(errno));
  std::vector<GpuTimesOfPlans> times(sessions.size());
  std::map<std::string, GpuTimesOfPlans*> by_id;
  for (std::size_t i = 0; i < sessions.size(); ++i)
    if (const auto id = sessions[i].find("session_id"); id != sessions[i].end())
      by_id[id->second] = &times[i];
  bool any_event = false;
  for (std::string text; std::getline(lines, text);) {
    const Json event = Json::parse(text, nullptr, false);
    try {
      const auto plans = by_id.find(event.at("session_id").get<std::string>());
      if (plans == by_id.end()) continue;
      any_event = true;
      if (!event.contains("gpu") || event.at("event") != "result") continue;
      GpuPlanTimes of_plan;
      for_each_member<GpuPlanTimes>(
          [&](const auto& member) { event.at("gpu").at(member.name).get_to(member.of(of_plan)); });
      (*plans->second)[event.at("id").get<std::string>()] = of_plan;
    } catch (const Json::exception&) {
      // an incomplete line, or an event of another version
    }
  }
  if (!any_event)
    throw RunError(events.string() +
                   " contains no events of the sessions of the result file; specify the file that "
                   "its run wrote with --events");
  return times;
}

}  // namespace wallheat
