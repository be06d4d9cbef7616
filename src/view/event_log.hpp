#pragma once

#include <filesystem>
#include <string>

#include "core/file_descriptor.hpp"
#include "queue/coordinator.hpp"

namespace wallheat {

/// What happened, as JSON lines: one object a line, each with time (UTC) and event. They are kept
/// in memory until flush().
class EventLog {
 public:
  /// Goes on at the end of a file that exists. Throws RunError if it cannot be opened, or holds
  /// something else.
  explicit EventLog(const std::filesystem::path& file);

  void worker(const std::string& event, const WorkerInfo& worker);
  void worker_left(const WorkerInfo& worker, const std::string& reason);
  void plan(const std::string& event, const WorkerInfo& worker, const Task& task);
  void result(const PlanResult& result);
  /// A failure that is not the last word, or one that was found out later.
  void failure(const std::string& event, const PlanResult& result);
  void abandoned(const AbandonedPlan& plan);
  void gpu_sample(const WorkerInfo& worker, const GpuSample& sample);
  /// At the end: what a worker's GPU did over the run, in which it solved so many plans.
  void gpu_usage(const WorkerInfo& worker, const GpuUsage& usage, std::size_t plans);
  void run(const std::string& event, const std::string& reason = {});
  /// Writes what has gathered. Throws RunError if the file cannot be written; then it is of no use
  /// any more.
  void flush();

 private:
  std::filesystem::path file_;
  FileDescriptor descriptor_;
  std::string lines_;
};

}  // namespace wallheat
