#include "core/system_limits.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <system_error>

namespace wallheat {
namespace {

/// Returns the soft limit of this process; nullopt if it is unlimited.
std::optional<rlim_t> limit_of(decltype(RLIMIT_AS) resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

std::string memory_limit() {
  const auto bytes = limit_of(RLIMIT_AS);
  if (!bytes) return "";
  return "memory limit: " + std::to_string(*bytes / 1'000'000) +
         " MB for this process, see 'ulimit -v'";
}

std::string in_parentheses(const std::string& text) {
  return text.empty() ? "" : " (" + text + ")";
}

/// Returns the limits that may prevent the start of threads and processes. A thread also needs
/// memory.
std::string thread_limits() {
  const auto count = limit_of(RLIMIT_NPROC);
  const std::string memory = memory_limit();
  return "limit of processes and threads: " + (count ? std::to_string(*count) : "unlimited") +
         " for this user, see 'ulimit -u'; a container or job may have a lower one, see "
         "'pids.max'" +
         (memory.empty() ? "" : "; " + memory);
}

/// Returns a message without what the standard library would add: the name of its function, and
/// quotes around the path.
std::string file_error_text(const std::filesystem::filesystem_error& error) {
  const int code = error.code().value();
  const bool is_named = !error.path1().empty();
  return (is_named ? error.path1().string() : "a directory") +
         " cannot be examined: " + system_error_text(code) +
         (code == EACCES ? "; check the permissions of its directories" : "");
}

}  // namespace

std::string limit_note(int error) {
  const auto files = limit_of(RLIMIT_NOFILE);
  const auto file_size = limit_of(RLIMIT_FSIZE);
  switch (error) {
    case EAGAIN:
      return in_parentheses(thread_limits());
    case EMFILE:
      return in_parentheses("limit of open files: " + (files ? std::to_string(*files) : "unknown") +
                            " for this process, see 'ulimit -n'");
    case ENFILE:
      return " (limit of open files of the host, see 'sysctl fs.file-max')";
    case ENOMEM:
      return in_parentheses(memory_limit());
    case EFBIG:
      return !file_size ? ""
                        : in_parentheses("file size limit: " + std::to_string(*file_size) +
                                         " bytes, see 'ulimit -f'");
    case EDQUOT:
      return " (quota of disk space or number of files, see 'quota -s')";
    default:
      return "";
  }
}

std::optional<double> processor_time_limit_s() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) return std::nullopt;
  return static_cast<double>(limit.rlim_max);
}

namespace {
constexpr const char* not_enough_memory = "not enough memory";
}  // namespace

ExhaustedResource exhausted_resource(std::string_view error) {
  const auto names = [&](std::string_view text) { return error.find(text) != error.npos; };
  if (names(at_processor_time_limit)) return ExhaustedResource::processor_time;
  if (names(by_out_of_memory_killer) || names(not_enough_memory)) return ExhaustedResource::memory;
  return ExhaustedResource::none;
}

std::string system_error_text(int error) { return std::strerror(error) + limit_note(error); }

std::string exception_text(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return not_enough_memory + limit_note(ENOMEM);
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return file_error_text(*file);
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system == nullptr) return error.what();
  const bool is_thread = system->code().value() == EAGAIN;
  return (is_thread ? "failed to start a thread: " : "") + std::string(system->what()) +
         limit_note(system->code().value());
}

}  // namespace wallheat
