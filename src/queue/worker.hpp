#pragma once

#include <functional>
#include <string>
#include <vector>

#include "queue/link.hpp"
#include "queue/task_pool.hpp"

namespace wallheat {

/// True once the process was asked to stop (SIGINT, SIGTERM, SIGUSR1).
using Interrupted = std::function<bool()>;

/// One solver thread, ready to work.
struct ThreadParts {
  PlanJob job;
  std::vector<int> bound_cpus;  ///< read back from the system
};

/// What a worker is made of; the application supplies it.
struct WorkerParts {
  Machine machine;
  /// Called in each solver thread: binds it and makes its solver.
  std::function<ThreadParts(const Placement&, std::size_t thread)> prepare_thread;
  /// A short text for the device that a placement gives, for tables and rows.
  std::function<std::string(const Placement&)> device_name;
  Interrupted interrupted;
};

/// A worker's life, from Hello to Finish. When it is interrupted, cannot prepare its threads or
/// fails otherwise, it takes leave of rank 0 with the reason, gives everything back, and waits for
/// Finish. Throws only where the link itself fails.
void run_worker(Link& link, const WorkerParts& parts);

}  // namespace wallheat
