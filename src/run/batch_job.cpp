#include "run/batch_job.hpp"

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iomanip>
#include <limits>
#include <regex>
#include <sstream>
#include <vector>

#include "io/child_process.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace {

// A handler may touch it, and the threads of a worker read it.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a handler has nothing else
std::atomic<bool> stop_flag = false;
static_assert(std::atomic<bool>::is_always_lock_free);

/// Returns true if this process was started with the signal ignored.
bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void install_stop_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_flag = true; };
  sigemptyset(&action.sa_mask);
  // HDF5 and other libraries do not repeat a system call that a signal interrupts.
  action.sa_flags = SA_RESTART;
  // The signals by which schedulers announce a limit: SIGUSR1; SIGUSR2 of LSF at the run limit;
  // SIGXCPU at a limit of processor time.
  for (const int signal : {SIGUSR1, SIGUSR2, SIGXCPU}) sigaction(signal, &action, nullptr);
  // A signal that is ignored at the start stays ignored: SIGHUP under `nohup`, and SIGINT in the
  // background jobs of a script, which a Ctrl-C for the script does not concern.
  // Schedulers and mpirun may both pass a SIGTERM on: a second one must not kill.
  for (const int signal : {SIGHUP, SIGTERM})
    if (!is_ignored(signal)) sigaction(signal, &action, nullptr);
  action.sa_flags |= static_cast<int>(SA_RESETHAND);
  if (!is_ignored(SIGINT)) sigaction(SIGINT, &action, nullptr);
}

bool stop_requested() { return stop_flag; }

namespace {

std::optional<std::size_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const unsigned long number = std::strtoul(text, &end, 10);
  if (end == text || *end != '\0')
    throw UsageError(
        fmt::format("the scheduler's {}={} is no number; give --shard and --time-limit yourself",
                    variable, text));
  return number;
}

/// What a scheduler's own command prints; empty if it cannot be asked.
std::string asked(const std::vector<std::string>& command) {
  try {
    return run_and_capture(command).value_or(ProgramOutput{}).stdout_text;
  } catch (const RunError&) {
    return {};
  }
}

/// Slurm tells the smallest and the largest number of an array's tasks and how many there are, but
/// not which. Throws UsageError if some are left out between.
Shard shard_in_slurm_array(std::size_t task) {
  const auto first = number_in("SLURM_ARRAY_TASK_MIN");
  const auto last = number_in("SLURM_ARRAY_TASK_MAX");
  const auto count = number_in("SLURM_ARRAY_TASK_COUNT");
  if (first && last && count && *first <= task && task <= *last && *last - *first == *count - 1)
    return {task - *first + 1, *count};
  throw UsageError(
      fmt::format("the position of task {} in this Slurm array is not known, as its numbers do not "
                  "follow one another; give --shard K/N, or submit --array=1-N",
                  task));
}

using TimePoint = std::chrono::system_clock::time_point;

std::optional<TimePoint> end_in_slurm() {
  constexpr std::size_t year_3000 = 32'503'680'000;  // long before the clock overflows
  if (const auto end = number_in("SLURM_JOB_END_TIME"); end && *end < year_3000)
    return TimePoint(std::chrono::seconds(static_cast<std::int64_t>(*end)));
  const char* job = std::getenv("SLURM_JOB_ID");
  if (job == nullptr) return std::nullopt;
  const std::string answer = asked({"scontrol", "show", "job", "--oneliner", job});
  std::smatch found;
  // "Unknown" if there is no limit.
  if (!std::regex_search(answer, found, std::regex("\\bEndTime=([0-9T:-]+)"))) return std::nullopt;
  std::tm local{};
  local.tm_isdst = -1;
  std::istringstream text(found[1].str());
  text >> std::get_time(&local, "%Y-%m-%dT%H:%M:%S");
  if (!text) return std::nullopt;
  return std::chrono::system_clock::from_time_t(std::mktime(&local));
}

std::optional<TimePoint> end_in_lsf() {
  const char* job = std::getenv("LSB_JOBID");
  if (job == nullptr) return std::nullopt;
  // By the ID of an array alone, LSF would tell of all its elements.
  const std::size_t index = number_in("LSB_JOBINDEX").value_or(0);
  const std::string element = index > 0 ? fmt::format("{}[{}]", job, index) : job;
  // "2:05 L": two hours and five minutes to the run limit; "-" if there is none.
  const std::string answer = asked({"bjobs", "-noheader", "-o", "time_left", element});
  std::smatch found;
  if (!std::regex_search(answer, found, std::regex("^([0-9]+):([0-9]+) *L"))) return std::nullopt;
  return std::chrono::system_clock::now() + std::chrono::hours(std::stol(found[1])) +
         std::chrono::minutes(std::stol(found[2]));
}

}  // namespace

std::optional<Shard> shard_from_job_array() {
  if (const auto task = number_in("SLURM_ARRAY_TASK_ID")) return shard_in_slurm_array(*task);
  const auto index = number_in("LSB_JOBINDEX");  // 0 outside of an array
  if (!index || *index == 0) return std::nullopt;
  // LSF tells the last index, not the first, nor whether all between exist.
  if (number_in("LSB_JOBINDEX_END") == 1U) return Shard{1, 1};
  throw UsageError(
      "LSF does not tell how many jobs this array has; give --shard, for an array [1-N] as "
      "--shard \"$LSB_JOBINDEX/N\"");
}

std::chrono::seconds parse_duration(const std::string& text) {
  std::smatch found;
  const auto number = [&](std::size_t group) {
    return found[group].matched ? std::stol(found[group]) : 0L;
  };
  // As Slurm reads them: hours, minutes and seconds; minutes and seconds; days, hours and, unless
  // they are left out, minutes and seconds.
  static const std::regex clock("(?:([0-9]{1,6}):)?([0-9]{1,6}):([0-9]{1,2})");
  static const std::regex days("([0-9]{1,5})-([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2}))?)?");
  static const std::regex units(
      "(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,9})s?)?");
  // A clock that counts nanoseconds from 1970 ends in 2262.
  const auto bounded = [&](std::chrono::seconds duration) {
    if (duration > std::chrono::hours(24 * 36525))
      throw UsageError("'" + text + "' is longer than a century; for no limit say none");
    return duration;
  };
  if (std::regex_match(text, found, clock) && (!found[1].matched || number(2) < 60) &&
      number(3) < 60)
    return bounded(std::chrono::hours(number(1)) + std::chrono::minutes(number(2)) +
                   std::chrono::seconds(number(3)));
  const bool is_in_days =
      std::regex_match(text, found, days) && number(2) < 24 && number(3) < 60 && number(4) < 60;
  if (is_in_days || (!text.empty() && std::regex_match(text, found, units)))
    return bounded(std::chrono::hours(24 * number(1) + number(2)) +
                   std::chrono::minutes(number(3)) + std::chrono::seconds(number(4)));
  throw UsageError("'" + text +
                   "': invalid duration; examples: 5400 (seconds), 90m, 1h30m, 1:30:00, 90:00 "
                   "(minutes), 1-12:00:00 (days-hours)");
}

std::optional<TimePoint> job_deadline() {
  if (const auto end = end_in_slurm()) return end;
  return end_in_lsf();
}

}  // namespace wallheat
