#pragma once

#include <span>
#include <string>
#include <vector>

#include "queue/link.hpp"
#include "queue/protocol.hpp"
#include "queue/worker.hpp"

namespace wallheat {

/// Where results go. After store() returns they are on disk.
class ResultSink {
 public:
  virtual ~ResultSink() = default;
  virtual void store(std::span<const PlanResult> results) = 0;
  /// Called every now and then: whoever reads along may see what is new.
  virtual void publish() = 0;
};

/// One worker as rank 0 knows it.
struct WorkerInfo {
  int rank = 0;
  std::string host;
  std::string device;
  std::vector<int> bound_cpus;  ///< one entry a solver thread; -1 where it is not bound
  bool shared = false;          ///< it shares cores with another worker for want of cores
};

/// Hears what happens, in order; for logs and progress.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void on_workers_ready(const std::vector<WorkerInfo>& workers) = 0;
  virtual void on_leased(const WorkerInfo& worker, const Task& task) = 0;
  virtual void on_started(const WorkerInfo& worker, const Task& task) = 0;
  /// The result is on disk.
  virtual void on_stored(const PlanResult& result) = 0;
  /// Its plans are pending again.
  virtual void on_worker_left(const WorkerInfo& worker, const std::string& reason) = 0;
  virtual void on_interrupted() = 0;
  /// Called every few milliseconds; seconds_left is NaN while it cannot be estimated.
  virtual void on_tick(double seconds_left) = 0;
};

/// One plan to be solved and how often it was tried before.
struct QueuedPlan {
  Task task;
  std::int32_t attempts = 0;
};

struct CoordinatorParts {
  std::vector<QueuedPlan> plans;
  DeviceChoice device = DeviceChoice::automatic;
  int threads_per_worker = 0;  ///< 0: all cores of the placement
  ResultSink* sink = nullptr;
  RunObserver* observer = nullptr;
  Interrupted interrupted;
};

enum class RunEnd { finished, interrupted };

/// Rank 0's part of a run: places the workers, hands out plans, stores results. The workers stay
/// until they are dismissed. Throws RunError where workers do not report, cannot be placed, or all
/// have left; and whatever the sink throws.
[[nodiscard]] RunEnd coordinate(Link& link, const CoordinatorParts& parts);

/// Tells all workers to go home. Rank 0 must do so once, however it ends.
void dismiss_workers(Link& link);

}  // namespace wallheat
