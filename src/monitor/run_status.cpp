#include "monitor/run_status.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <concepts>
#include <span>
#include <system_error>
#include <utility>

#include "core/codec.hpp"
#include "io/files.hpp"
#include "store/result_file_names.hpp"
#include "store/result_path.hpp"
#include "view/json.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace fs = std::filesystem;

/// Reads a value, and leaves the member unchanged if the value has another type. nlohmann-json
/// alone would truncate fractions, and convert numbers that are out of range to arbitrary values.
template <class Value>
static void read(const Json& json, Value& member) {
  if constexpr (requires { member.has_value(); }) {
    if (!json.is_null()) read(json, member.emplace());
  } else if constexpr (std::integral<Value>) {
    if (json.is_number_integer() && std::in_range<Value>(json.get<std::int64_t>()))
      member = json.get<Value>();
  } else if constexpr (requires { typename Value::mapped_type; }) {
    for (const auto& [key, value] : json.items()) read(value, member[key]);
  } else {
    try {
      json.get_to(member);
    } catch (const Json::type_error&) {  // the member is unchanged
    }
  }
}

/// Reads a structure from an object with its members. nlohmann-json calls this function, also for
/// the elements of lists.
template <HasMembers T>
static void from_json(const Json& json, T& structure) {
  for_each_member<T>([&](const auto& member) {
    if (const auto found = json.find(member.name); found != json.end())
      read(*found, member.of(structure));
  });
}

constexpr const char* mark_name = "about";  // the first name in the file

/// True if wallheat wrote the file, also if a power loss left it empty or with zeros. Returns true
/// if it does not exist.
static bool is_own_status(const fs::path& path) {
  static const std::string all = status_json({});
  static const std::string mark = all.substr(0, all.find(',') + 1);
  const auto file = open_unless_errno(ENOENT, path, O_RDONLY);
  if (!file) return true;
  std::string start(std::min<std::size_t>(file->size(), mark.size()), '\0');
  if (!file->read_at(0, std::as_writable_bytes(std::span(start)))) return false;
  return start.empty() || start.front() == '\0' || start == mark;
}

void require_own_status(const fs::path& path) {
  try {
    if (is_own_status(path)) return;
  } catch (const SystemError& error) {
    throw RunError(fmt::format("the status file {}", error.what()));
  }
  throw RunError(
      fmt::format("{} is not a status file of wallheat; move or remove it", path.string()));
}

fs::path status_file(const fs::path& result_file) { return status_path(result_path(result_file)); }

std::string status_json(const RunStatus& status) {
  Json json = {{mark_name, "status of a run of wallheat"}};
  json.update(Json(status));
  // Plan IDs may contain any bytes; json_text() replaces those that are not UTF-8.
  return json_text(json);
}

RunStatus run_status_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw DecodeError("not a JSON object");
  return json.get<RunStatus>();
}

/// Overwrites the status file in place, which needs no space for another file. Leaves the workers
/// out, so that the text fits into the blocks of the old one. A reader may see a mixture of both.
static void overwrite_status(const fs::path& path, RunStatus status) {
  status.workers.clear();
  const File file(path, O_WRONLY);
  std::string text = status_json(status);
  text.resize(std::max<std::size_t>(text.size(), file.size()), ' ');
  file.write_at(0, std::as_bytes(std::span(text)));
}

void write_run_status(const fs::path& path, const RunStatus& status) {
  require_own_status(path);
  try {
    try {
      // A user who may read the result file may also read its status.
      replace_file_atomically(path, status_json(status), fs::path(path).replace_extension());
    } catch (const SystemError&) {
      // On a full disk, or if the user's quota of files is exhausted, results are still stored in
      // existing files. An old status would look like a run that hangs.
      if (!file_exists(path)) throw;
      overwrite_status(path, status);
    }
  } catch (const RunError& error) {
    throw RunError(fmt::format("the status file {}", error.what()));
  }
}

std::optional<RunStatus> read_run_status(const fs::path& path) {
  std::string text;
  try {
    text = read_file(path);
  } catch (const SystemError& error) {
    if (error.code == ENOENT) return std::nullopt;
    throw RunError(fmt::format("the status file {}", error.what()));
  }
  try {
    return run_status_from_json(text);
  } catch (const DecodeError& error) {
    throw RunError(fmt::format("the status file {} is damaged: {}", path.string(), error.what()));
  }
}

void remove_run_status(const fs::path& path) {
  try {
    remove_temporary_files(path);
    if (is_own_status(path)) remove_file(path);
  } catch (const SystemError& error) {
    throw RunError(fmt::format("the status file {}", error.what()));
  }
}

void LiveStatus::set(RunStatus status, bool repeats) {
  {
    const std::scoped_lock lock(mutex_);
    status_ = std::move(status);
    is_new_ = true;
    repeats_ = repeats;
  }
  changed_.notify_all();
  if (!thread_) thread_.emplace([this](const std::stop_token& stop) { write_loop(stop); });
}

void LiveStatus::write_loop(const std::stop_token& stop) {
  bool failed = false;  // whether the warning was logged
  std::unique_lock lock(mutex_);
  while (changed_.wait_for(lock, stop, status_interval, [this] { return is_new_; }) ||
         !stop.stop_requested()) {
    if (!std::exchange(is_new_, false) && !repeats_) continue;
    RunStatus status = status_;
    lock.unlock();
    status.written_utc = utc_now();
    try {
      write_run_status(file_, status);
    } catch (const RunError& error) {
      if (!std::exchange(failed, true)) log_.warn("{}", error.what());
    }
    lock.lock();
  }
}

}  // namespace wallheat
