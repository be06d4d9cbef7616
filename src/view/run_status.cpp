#include "view/run_status.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <system_error>
#include <utility>

#include "core/bytes.hpp"
#include "io/file_names.hpp"
#include "io/files.hpp"
#include "store/result_path.hpp"
#include "view/gpu_text.hpp"
#include "view/json.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace fs = std::filesystem;

/// nlohmann-json would cut fractions off, and let what is out of range be anything.
template <class Number>
static void get_whole(const Json& json, const char* name, Number& number) {
  const Json& value = json.at(name);
  const bool fits =
      value.is_number_unsigned()
          ? std::in_range<Number>(value.get<std::uint64_t>())
          : value.is_number_integer() && std::in_range<Number>(value.get<std::int64_t>());
  if (!fits) throw DecodeError(fmt::format("{} is no whole number in its range", name));
  number = value.get<Number>();
}

// nlohmann-json finds these by their names and their namespace.

static void to_json(Json& json, const RunningPlan& plan) {
  json = {{"id", plan.id}, {"iterations", plan.iterations}, {"seconds", plan.seconds}};
  if (std::isfinite(plan.delta)) json["delta"] = plan.delta;
}

static void from_json(const Json& json, RunningPlan& plan) {
  json.at("id").get_to(plan.id);
  get_whole(json, "iterations", plan.iterations);
  json.at("seconds").get_to(plan.seconds);
  if (json.contains("delta")) json["delta"].get_to(plan.delta);
}

static void to_json(Json& json, const WorkerStatus& worker) {
  json = {{"rank", worker.rank},       {"host", worker.host},
          {"device", worker.device},   {"threads", worker.threads},
          {"plans", worker.plans},     {"last_heard_s", worker.last_heard_s},
          {"state", worker.state},     {"running_plans", worker.running_plans},
          {"running", worker.running}, {"peak_memory", worker.peak_memory}};
  if (worker.gpu) json["gpu"] = to_json(*worker.gpu);
}

static void from_json(const Json& json, WorkerStatus& worker) {
  get_whole(json, "rank", worker.rank);
  json.at("host").get_to(worker.host);
  json.at("device").get_to(worker.device);
  get_whole(json, "threads", worker.threads);
  get_whole(json, "plans", worker.plans);
  json.at("last_heard_s").get_to(worker.last_heard_s);
  json.at("state").get_to(worker.state);
  json.at("running").get_to(worker.running);
  get_whole(json, "running_plans", worker.running_plans);
  get_whole(json, "peak_memory", worker.peak_memory);
  if (json.contains("gpu")) worker.gpu = gpu_sample_from_json(json["gpu"]);
}

static void to_json(Json& json, const RunStatus& status) {
  json = {{"file", status.file},
          {"started_utc", status.started_utc},
          {"written_utc", status.written_utc},
          {"state", status.state},
          {"host", status.host},
          {"pid", status.pid},
          {"total", status.total},
          {"restored", status.restored},
          {"solved", status.solved},
          {"failed", status.failed},
          {"left", status.left},
          {"plans_per_s", status.plans_per_s}};
  if (status.seconds_left && std::isfinite(*status.seconds_left))
    json["seconds_left"] = *status.seconds_left;
  json["shard"] = status.shard;
  json["worker_states"] = status.worker_states;
  json["workers"] = status.workers;
}

static void from_json(const Json& json, RunStatus& status) {
  json.at("file").get_to(status.file);
  json.at("started_utc").get_to(status.started_utc);
  json.at("written_utc").get_to(status.written_utc);
  json.at("state").get_to(status.state);
  json.at("host").get_to(status.host);
  get_whole(json, "pid", status.pid);
  get_whole(json, "total", status.total);
  get_whole(json, "restored", status.restored);
  get_whole(json, "solved", status.solved);
  get_whole(json, "failed", status.failed);
  get_whole(json, "left", status.left);
  json.at("plans_per_s").get_to(status.plans_per_s);
  if (json.contains("seconds_left")) status.seconds_left = json["seconds_left"].get<double>();
  json.at("shard").get_to(status.shard);
  json.at("workers").get_to(status.workers);
  for (const auto& [state, workers] : json.at("worker_states").items())
    get_whole(json["worker_states"], state.c_str(), status.worker_states[state]);
}

fs::path status_file(const fs::path& result_file) { return status_path(result_path(result_file)); }

Json to_json(const RunStatus& status) { return status; }

std::string to_json_text(const RunStatus& status) {
  // A plan id is whatever bytes a file name holds; replace what is not UTF-8.
  return json_text(to_json(status));
}

RunStatus run_status_from_json(std::string_view text) {
  try {
    return Json::parse(text).get<RunStatus>();
  } catch (const Json::exception& error) {
    throw DecodeError(error.what());
  }
}

void write_run_status(const fs::path& path, const RunStatus& status) {
  std::string text = to_json_text(status);
  for (RunStatus fewer = status; text.size() > largest_status_bytes && !fewer.workers.empty();) {
    fewer.workers.resize(fewer.workers.size() / 2);
    text = to_json_text(fewer);
  }
  try {
    replace_text(path, text);
  } catch (const RunError& error) {
    throw RunError(fmt::format("the status file {}", error.what()));
  }
}

std::optional<RunStatus> read_run_status(const fs::path& path) {
  std::string text;
  try {
    text = read_whole(path);
  } catch (const SystemError& error) {
    if (error.code == ENOENT) return std::nullopt;
    throw RunError(fmt::format("the status file {}", error.what()));
  }
  return run_status_from_json(text);
}

void remove_run_status(const fs::path& path) {
  for (const char* ending : {"", ".new"}) {  // the latter where a kill came between two steps
    std::error_code error;
    fs::path file = path;
    fs::remove(file += ending, error);
    if (error)
      throw RunError(
          fmt::format("the status file {} cannot be removed: {}", file.string(), error.message()));
  }
}

}  // namespace wallheat
