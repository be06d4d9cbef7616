#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>

#include "core/runtime.hpp"
#include "view/console.hpp"
#include "view/run_status.hpp"

namespace wallheat {

/// The status of a run, which is its sign of life: a launcher or another host takes a run whose
/// status grows old for dead. Whoever reports often writes it each time; while a run starts and
/// ends, nothing is reported for a long time, and a thread repeats it.
class LiveStatus {
 public:
  /// `write` replaces the status; where it throws RunError, this is said once.
  LiveStatus(std::function<void(const RunStatus&)> write, Log& log,
             Runtime& runtime = system_runtime());
  ~LiveStatus() { rest(); }
  LiveStatus(const LiveStatus&) = delete;
  LiveStatus& operator=(const LiveStatus&) = delete;

  void write(const RunStatus& status);
  /// Writes it now and every status_interval until the next call of any function here.
  void keep(RunStatus status);
  /// Writes no more.
  void rest() { thread_.reset(); }

 private:
  void write_now(const RunStatus& status);
  void repeat(RunStatus& status, const std::stop_token& stop);

  std::function<void(const RunStatus&)> write_;
  Log& log_;
  Runtime& runtime_;
  bool failed_ = false;  // said once
  std::mutex mutex_;
  std::unique_ptr<Runtime::Condition> never_;
  std::unique_ptr<Runtime::Thread> thread_;
};

}  // namespace wallheat
