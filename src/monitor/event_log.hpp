#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "core/gpu_stats.hpp"
#include "core/input_file.hpp"
#include "core/machine.hpp"
#include "monitor/run_status.hpp"
#include "queue/messages.hpp"
#include "view/json_forward.hpp"

namespace wallheat {

/// Event log for other programs (--events): appends JSON lines, one object per line, each with
/// `time` (UTC) and `event`. Buffers lines until flush(). Not thread-safe.
class EventLog {
 public:
  /// Opens the file and appends to it if it exists. Throws RunError if the file cannot be opened,
  /// or if it contains something other than events.
  explicit EventLog(const std::filesystem::path& file);

  /// Adds a line for an event. Duplicate results, and reports without a GPU sample, have no line.
  void add(const Event& event, const PlanResult& row);
  /// Adds a line with the usage of a worker's GPU over the run. Call this at the end of the run.
  void add_gpu_usage(const WorkerStatus& worker, const GpuUsage& usage);
  /// Adds a line for the start or the end of the run.
  void add_run_event(const std::string& event);
  /// Writes the buffered lines. Throws RunError if the file cannot be written; do not use the log
  /// after that.
  void flush();

 private:
  void put(const std::string& event, const Json& what);

  std::filesystem::path file_;
  FileDescriptor descriptor_;
  std::string lines_;
};

/// GPU times of plans, by plan ID and `seconds` of the result.
using GpuTimesOfPlans = std::map<std::pair<std::string, double>, GpuPlanTimes>;

/// Reads the GPU times of the results in an event log. Skips incomplete lines and lines of other
/// versions. Throws RunError if the file cannot be read or does not contain any event.
[[nodiscard]] GpuTimesOfPlans read_gpu_times(const std::filesystem::path& events);

}  // namespace wallheat
