#include "view/event_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "view/gpu_text.hpp"
#include "view/json.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

Json line(const std::string& event, const Json& what = Json::object()) {
  Json json{{"time", utc_now()}, {"event", event}};
  json.update(what);
  return json;
}

Json worker_line(const std::string& event, int rank, const std::string& host,
                 const std::string& device, const Json& what) {
  Json json = line(event, {{"rank", rank}, {"host", host}, {"device", device}});
  json.update(what);
  return json;
}

Json worker_line(const std::string& event, const WorkerInfo& worker, const Json& what) {
  return worker_line(event, worker.rank, worker.facts.host, worker.facts.device, what);
}

Json joining_line(const std::string& event, const WorkerInfo& worker) {
  const WorkerFacts& facts = worker.facts;
  Json json = worker_line(event, worker, {{"threads", facts.lanes}, {"cpus", facts.bound_cpus}});
  if (const auto& gpu = facts.gpu)
    json["gpu"] = {{"ordinal", gpu->ordinal},
                   {"name", gpu->name},
                   {"uuid", gpu->uuid},
                   {"memory_bytes", gpu->memory_bytes},
                   {"numa", gpu->numa}};
  return json;
}

Json leaving_line(const WorkerInfo& worker, const std::string& reason) {
  return worker_line("worker_left", worker, {{"reason", reason}});
}

Json result_line(const std::string& event, const PlanResult& result) {
  Json json = line(event, {{"id", result.id},
                           {"rank", result.rank},
                           {"host", result.host},
                           {"device", result.device},
                           {"status", to_string(result.status)},
                           {"seconds", result.seconds},
                           {"attempts", result.attempts}});
  if (result.status == PlanStatus::failed) {
    json.update({{"failures", result.failures}, {"error", result.error}});
  } else {
    json.update({{"iterations", result.iterations}, {"last_delta", result.last_delta}});
  }
  if (const DeviceTimes& times = result.device_times; !times.kernel.empty())
    json["gpu"] = to_json(times);
  return json;
}

/// Lines are added to events, and to nothing else that a slip of the hand may name.
void refuse_other_content(const std::filesystem::path& file) {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(file, missing)) return;
  constexpr std::string_view beginning = R"({"time":)";
  std::string found(beginning.size(), '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(found.data(), static_cast<std::streamsize>(found.size()));
  found.resize(static_cast<std::size_t>(stream.gcount()));
  if (!beginning.starts_with(found))
    throw RunError(file.string() + " holds something else than events; name another by --events");
}

}  // namespace

EventLog::EventLog(const std::filesystem::path& file) : file_(file) {
  refuse_other_content(file);
  descriptor_ = FileDescriptor(
      ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_CLOEXEC, 0666));
  if (descriptor_.get() < 0)
    throw RunError("the event log " + file.string() + " cannot be opened: " + std::strerror(errno));
  // A kill may have cut the last line short: it must not spoil the next.
  std::ifstream written(file, std::ios::binary | std::ios::ate);
  if (written && written.tellg() > 0 && written.seekg(-1, std::ios::end) && written.get() != '\n')
    lines_ = "\n";
}

void EventLog::put(const Json& json) { lines_ += json_line(json) + '\n'; }

void EventLog::add(const Event& event, const PlanResult& result) {
  using enum Event::Kind;
  switch (event.kind) {
    case worker_ready:
      return put(joining_line("worker_ready", *event.worker));
    case worker_back:
      return put(joining_line("worker_back", *event.worker));
    case worker_left:
      return put(leaving_line(*event.worker, event.reason));
    case worker_lost:
      return put(leaving_line(*event.worker, "silent for " + duration_text(event.seconds)));
    case started:
      return put(worker_line("start", *event.worker, {{"id", result.id}}));
    case heard:
      if (const auto& gpu = event.report->gpu)
        put(worker_line("gpu_sample", *event.worker, to_json(*gpu)));
      return;
    case stored:
    case lost:
      return put(result_line(result.status == PlanStatus::failed ? "failure" : "result", result));
    case failed_try:
      return put(result_line("failed_try", result));
    case conflict:
      return put(result_line("conflict", result));
    case stopping:
      return put(line("stopping", {{"reason", event.reason}}));
    case abandoned:
      return put(line("abandoned", {{"id", result.id},
                                    {"attempts", result.attempts},
                                    {"seconds", event.last.seconds},
                                    {"iterations", event.last.iterations}}));
    case repeated:
      return;
  }
}

void EventLog::gpu_usage(const WorkerStatus& worker, const GpuUsage& usage) {
  put(worker_line("gpu_usage", worker.rank, worker.host, worker.device,
                  to_json(usage, worker.plans)));
}

void EventLog::run(const std::string& event) { put(line(event)); }

void EventLog::flush() {
  for (std::string_view left = lines_; !left.empty();) {
    const ssize_t written = ::write(descriptor_.get(), left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      throw RunError("the event log " + file_.string() +
                     " cannot be written: " + std::strerror(errno));
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  lines_.clear();
}

PlanDeviceTimes device_times_in(const std::filesystem::path& events) {
  std::ifstream lines(events);
  if (!lines)
    throw RunError("the event log " + events.string() + " cannot be read: " + std::strerror(errno));
  PlanDeviceTimes times;
  bool any_event = false;
  for (std::string text; std::getline(lines, text);) {
    const Json event = Json::parse(text, nullptr, false);
    if (!event.is_object() || !event.contains("event")) continue;
    any_event = true;
    try {
      if (event.contains("gpu") && event.at("event") == "result")
        times[{event.at("id").get<std::string>(), event.at("seconds").get<double>()}] =
            device_times_from_json(event.at("gpu"));
    } catch (const Json::exception&) {
      // of another version
    }
  }
  if (!any_event)
    throw RunError(events.string() + " holds no event; name what a run wrote by --events");
  return times;
}

}  // namespace wallheat
