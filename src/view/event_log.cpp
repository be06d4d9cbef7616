#include "view/event_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string_view>

#include "view/gpu_text.hpp"
#include "view/json.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

Json line(const std::string& event) { return {{"time", utc_now()}, {"event", event}}; }

void add_line(std::string& lines, const Json& json) {
  // A plan id is whatever bytes a file name holds; replace what is not UTF-8.
  lines += json_line(json) + '\n';
}

void add_worker(Json& json, const WorkerInfo& worker) {
  json["rank"] = worker.rank;
  json["host"] = worker.host;
  json["device"] = worker.device;
}

Json result_line(const std::string& event, const PlanResult& result) {
  Json json = line(event);
  json["id"] = result.id;
  json["rank"] = result.rank;
  json["host"] = result.host;
  json["device"] = result.device;
  json["status"] = to_string(result.status);
  json["seconds"] = result.seconds;
  json["attempts"] = result.attempts;
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

void EventLog::worker(const std::string& event, const WorkerInfo& worker) {
  Json json = line(event);
  add_worker(json, worker);
  json["threads"] = worker.threads;
  json["cpus"] = worker.bound_cpus;
  if (worker.gpu) {
    json["gpu"] = {{"ordinal", worker.gpu->ordinal},
                   {"name", worker.gpu->name},
                   {"uuid", worker.gpu->uuid},
                   {"memory_bytes", worker.gpu->memory_bytes},
                   {"numa", worker.gpu->numa}};
  }
  add_line(lines_, json);
}

void EventLog::worker_left(const WorkerInfo& worker, const std::string& reason) {
  Json json = line("worker_left");
  add_worker(json, worker);
  json["reason"] = reason;
  add_line(lines_, json);
}

void EventLog::plan(const std::string& event, const WorkerInfo& worker, const Task& task) {
  Json json = line(event);
  json["id"] = task.id;
  add_worker(json, worker);
  add_line(lines_, json);
}

void EventLog::result(const PlanResult& result) {
  if (result.status == PlanStatus::failed) return failure("failure", result);
  Json json = result_line("result", result);
  json["iterations"] = result.iterations;
  json["last_delta"] = result.last_delta;
  add_line(lines_, json);
}

void EventLog::failure(const std::string& event, const PlanResult& result) {
  Json json = result_line(event, result);
  json["failures"] = result.failures;
  json["error"] = result.error;
  add_line(lines_, json);
}

void EventLog::abandoned(const AbandonedPlan& plan) {
  Json json = line("abandoned");
  json["id"] = plan.task.id;
  json["attempts"] = plan.attempts;
  json["seconds"] = plan.last.seconds;
  json["iterations"] = plan.last.iterations;
  add_line(lines_, json);
}

void EventLog::gpu_sample(const WorkerInfo& worker, const GpuSample& sample) {
  Json json = line("gpu_sample");
  add_worker(json, worker);
  json.update(to_json(sample));
  add_line(lines_, json);
}

void EventLog::gpu_usage(const WorkerInfo& worker, const GpuUsage& usage, std::size_t plans) {
  Json json = line("gpu_usage");
  add_worker(json, worker);
  json.update(to_json(usage, plans));
  add_line(lines_, json);
}

void EventLog::run(const std::string& event, const std::string& reason) {
  Json json = line(event);
  if (!reason.empty()) json["reason"] = reason;
  add_line(lines_, json);
}

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

}  // namespace wallheat
