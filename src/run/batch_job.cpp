#include "run/batch_job.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <regex>
#include <sstream>
#include <utility>

#include "core/text.hpp"
#include "mpi/mpi_environment.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace {

std::optional<std::size_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const unsigned long number = std::strtoul(text, &end, 10);
  if (end == text || *end != '\0')
    throw UsageError(fmt::format("invalid {}={} from the scheduler; use --shard and --time-limit",
                                 variable, text));
  return number;
}

/// Returns the position of a task in its Slurm array. Slurm provides the smallest and the largest
/// number of the tasks and their count, but not their numbers. Throws UsageError if numbers between
/// are left out.
Shard shard_in_slurm_array(std::size_t task) {
  const auto first = number_in("SLURM_ARRAY_TASK_MIN");
  const auto last = number_in("SLURM_ARRAY_TASK_MAX");
  const auto count = number_in("SLURM_ARRAY_TASK_COUNT");
  if (first && last && count && *first <= task && task <= *last && *last - *first == *count - 1)
    return {task - *first + 1, *count};
  throw UsageError(
      fmt::format("cannot determine the position of task {} in this Slurm array, because its "
                  "indices are not consecutive; use --shard K/N, or submit with --array=1-N",
                  task));
}

/// Returns the value of a variable; an empty string if it is not set.
std::string text_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

/// Returns the value of a field in a line of `scontrol show job --oneliner`; an empty string if the
/// line has no such field.
std::string field_of(const std::string& record, const std::string& name) {
  std::istringstream words(record);
  for (std::string word; words >> word;)
    if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
  return {};
}

}  // namespace

std::optional<Shard> BatchJob::shard() {
  if (const auto task = number_in("SLURM_ARRAY_TASK_ID")) {
    try {
      const Shard shard = shard_in_slurm_array(*task);
      // Thousands of workers must not query the scheduler at once, and they need no shard.
      const bool is_proved = launched_rank() != 0 || is_task_of_array(*task);
      return is_proved ? std::optional(shard) : std::nullopt;
    } catch (const UsageError&) {
      if (is_task_of_array(*task)) throw;
      return std::nullopt;
    }
  }
  const auto index = number_in("LSB_JOBINDEX");  // 0 outside of an array
  if (!index || *index == 0) return std::nullopt;
  // LSF provides the last index, but neither the first, nor whether all between exist.
  if (number_in("LSB_JOBINDEX_END") == 1U) return Shard{1, 1};
  throw UsageError(
      "LSF does not provide the size of this job array; use --shard, for an array [1-N] with "
      "--shard \"$LSB_JOBINDEX/N\"");
}

bool BatchJob::is_task_of_array(std::size_t task) {
  const std::string job = text_in("SLURM_JOB_ID");
  const std::string array = text_in("SLURM_ARRAY_JOB_ID");
  if (job.empty() || job == array) return true;  // the last task has the ID of its array
  const std::string ignored = fmt::format("ignoring SLURM_ARRAY_TASK_ID={}", task);
  if (array.empty()) {  // Slurm sets both, or none
    warnings_.push_back(fmt::format(
        "{}: without SLURM_ARRAY_JOB_ID, job {} is not a task of a job array", ignored, job));
    return false;
  }
  const SchedulerOutput& record = slurm_record();
  if (!record.failure.empty()) {
    warnings_.push_back(fmt::format(
        "cannot check whether job {} is task {} of job array {} ({}); assuming that it is; if the "
        "job only inherited these variables, use --shard none",
        job, task, array, record.failure));
    return true;
  }
  if (field_of(record.text, "ArrayJobId") == array &&
      field_of(record.text, "ArrayTaskId") == std::to_string(task))
    return true;
  warnings_.push_back(
      fmt::format("{}: job {} inherited it from a task of job array {}", ignored, job, array));
  return false;
}

const SchedulerOutput& BatchJob::slurm_record() {
  if (slurm_record_) return *slurm_record_;
  const std::string job = text_in("SLURM_JOB_ID");
  slurm_record_ = run_scheduler_command({"scontrol", "show", "job", "--oneliner", job});
  // The ID of the last task of an array is that of the array, for which all tasks are printed.
  std::istringstream lines(std::exchange(slurm_record_->text, {}));
  for (std::string line; std::getline(lines, line);)
    if (field_of(line, "JobId") == job) slurm_record_->text = line;
  if (slurm_record_->text.empty() && slurm_record_->failure.empty())
    slurm_record_->failure = "scontrol printed nothing about the job";
  return *slurm_record_;
}

void BatchJob::warn_of_unknown_end(const std::string& job, const std::string& reason) {
  warnings_.push_back(
      fmt::format("the end of job {} is unknown ({}), so the run will not stop before it; use "
                  "--time-limit",
                  job, reason));
}

std::optional<BatchJob::TimePoint> BatchJob::end_in_slurm(const std::string& job) {
  constexpr std::size_t year_3000 = 32'503'680'000;  // long before the clock overflows
  const auto time = [](std::size_t since_1970_s) {
    return TimePoint(std::chrono::seconds(static_cast<std::int64_t>(since_1970_s)));
  };
  if (const auto end = number_in("SLURM_JOB_END_TIME"); end && *end < year_3000) return time(*end);
  const SchedulerOutput& record = slurm_record();
  const std::string end = field_of(record.text, "EndTime");
  if (end == "Unknown" && field_of(record.text, "TimeLimit") == "UNLIMITED") return std::nullopt;
  if (const auto seconds = parse_number<std::size_t>(end); seconds && *seconds < year_3000)
    return time(*seconds);
  warn_of_unknown_end(
      job, record.failure.empty() ? fmt::format("scontrol: EndTime={}", end) : record.failure);
  return std::nullopt;
}

std::optional<BatchJob::TimePoint> BatchJob::end_in_lsf(const std::string& job) {
  // With the ID of an array alone, LSF would print all of its elements.
  const std::size_t index = number_in("LSB_JOBINDEX").value_or(0);
  const std::string element = index > 0 ? fmt::format("{}[{}]", job, index) : job;
  // "2:05 L" means two hours and five minutes to the run limit; "-" means that there is none. E or
  // X marks an estimate, at which no job is killed.
  const SchedulerOutput left =
      run_scheduler_command({"bjobs", "-noheader", "-o", "time_left", element});
  std::smatch found;
  if (std::regex_search(left.text, found, std::regex("^ *([0-9]{1,6}):([0-9]{1,2}) *L")))
    return std::chrono::system_clock::now() + std::chrono::hours(std::stol(found[1])) +
           std::chrono::minutes(std::stol(found[2]));
  if (!std::regex_search(left.text, std::regex("^ *(-|[0-9]+:[0-9]+ *[EX])")))
    warn_of_unknown_end(element,
                        left.failure.empty() ? "bjobs printed no time_left" : left.failure);
  return std::nullopt;
}

std::optional<BatchJob::TimePoint> BatchJob::end() {
  if (const std::string job = text_in("SLURM_JOB_ID"); !job.empty()) return end_in_slurm(job);
  if (const std::string job = text_in("LSB_JOBID"); !job.empty()) return end_in_lsf(job);
  return std::nullopt;
}

}  // namespace wallheat
