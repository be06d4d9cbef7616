#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/gpu_stats.hpp"
#include "core/input_file.hpp"
#include "core/machine.hpp"
#include "monitor/run_status.hpp"
#include "queue/messages.hpp"
#include "view/json_forward.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// Event log for other programs (--events): appends JSON lines, one object per line, each with
/// `time` (UTC), `event` and `session_id`. Several sessions, also of different result files, may
/// write to one log, even at the same time. Buffers lines until flush(). Not thread-safe.
class EventLog {
 public:
  /// Opens the file and appends to it if it exists. Throws RunError if the file cannot be opened,
  /// or if it contains something other than events.
  explicit EventLog(const std::filesystem::path& file);

  /// Adds a line for the start of the run. `session_id` is that of ResultStore::session_id(); the
  /// following lines contain it. Call this before any other function.
  void add_run_start(const std::string& session_id);
  /// Adds a line for an event. Duplicate results, and reports without a GPU sample, have no line.
  void add(const Event& event, const PlanResult& row);
  /// Adds a line with the usage of a worker's GPU over the run. Call this at the end of the run.
  void add_gpu_usage(const WorkerStatus& worker, const GpuUsage& usage);
  /// Adds a line for the end of the run.
  void add_run_end(const std::string& event);
  /// Writes the buffered lines. Throws RunError if the file cannot be written; do not use the log
  /// after that.
  void flush();

 private:
  void put(const std::string& event, const Json& what);

  std::filesystem::path file_;
  FileDescriptor descriptor_;
  std::string session_id_;
  std::string lines_;
};

/// GPU times of the plans of a session, by plan ID. If a plan has several results in the session,
/// these are the times of the last one, which is also the one that the result file contains.
using GpuTimesOfPlans = std::map<std::string, GpuPlanTimes>;

/// Reads the GPU times of the results of these sessions, which are those of a result file, in an
/// event log. Returns the times of each session, by its index. Skips incomplete lines, the lines of
/// other sessions, and lines of other versions, which have no session ID. Throws RunError if the
/// file cannot be read, or does not contain any event of these sessions.
[[nodiscard]] std::vector<GpuTimesOfPlans> read_gpu_times(const std::filesystem::path& events,
                                                          const std::vector<Attributes>& sessions);

}  // namespace wallheat
