#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "core/gpu_stats.hpp"
#include "core/input_file.hpp"
#include "core/machine.hpp"
#include "queue/messages.hpp"
#include "view/json_forward.hpp"
#include "view/run_status.hpp"

namespace wallheat {

/// The file of --events, for programs: what happened, as JSON lines, one object a line, each with
/// time (UTC) and event. It shows nothing to people and stores no results. Lines are kept in memory
/// until flush().
class EventLog {
 public:
  /// Goes on at the end of a file that exists. Throws RunError if it cannot be opened, or holds
  /// something else.
  explicit EventLog(const std::filesystem::path& file);

  /// Those that change nothing (a repeated answer) have no line.
  void add(const Event& event, const PlanResult& row);
  /// At the end: what a worker's GPU did over the run.
  void add_gpu_usage(const WorkerStatus& worker, const GpuUsage& usage);
  /// The run itself: it begins or ends.
  void add_run_event(const std::string& event);
  /// Writes what has gathered. Throws RunError if the file cannot be written; then it is of no use
  /// any more.
  void flush();

 private:
  void put(const std::string& event, const Json& what);

  std::filesystem::path file_;
  FileDescriptor descriptor_;
  std::string lines_;
};

/// What GPUs did for plans, by id and `seconds` of the result.
using GpuTimesOfPlans = std::map<std::pair<std::string, double>, GpuPlanTimes>;

/// From the results in an event log; lines that are cut short or of something else count for
/// nothing. Throws RunError if the file cannot be read or has no event.
[[nodiscard]] GpuTimesOfPlans read_gpu_times(const std::filesystem::path& events);

}  // namespace wallheat
