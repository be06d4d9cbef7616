#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "io/scheduler_command.hpp"
#include "store/shard.hpp"

namespace wallheat {

/// The job of Slurm or LSF that this process belongs to, as the environment describes it. Asks the
/// scheduler at most once, about facts that the environment variables do not determine. Not
/// thread-safe.
class BatchJob {
 public:
  using TimePoint = std::chrono::system_clock::time_point;

  /// Returns the position of this job among those of its job array; nullopt outside of an array.
  /// On rank 0, asks the scheduler whether the variables of an array belong to this job: a job that
  /// is submitted from an array task inherits the variables of that task. Throws UsageError if the
  /// position is unknown.
  [[nodiscard]] std::optional<Shard> shard();
  /// Returns when the scheduler will end this job. Returns nullopt outside of a job, or if the job
  /// has no time limit; also, with a warning, if the end cannot be determined.
  [[nodiscard]] std::optional<TimePoint> end();
  /// Messages for the log about everything that could not be determined.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  [[nodiscard]] bool is_task_of_array(std::size_t task);
  /// Returns what `scontrol show job` prints of this job, as one line.
  [[nodiscard]] const SchedulerOutput& slurm_record();
  [[nodiscard]] std::optional<TimePoint> end_in_slurm(const std::string& job);
  [[nodiscard]] std::optional<TimePoint> end_in_lsf(const std::string& job);
  void warn_of_unknown_end(const std::string& job, const std::string& reason);

  std::optional<SchedulerOutput> slurm_record_;
  std::vector<std::string> warnings_;
};

}  // namespace wallheat
