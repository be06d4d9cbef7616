#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "monitor/event_log.hpp"
#include "monitor/run_progress.hpp"
#include "monitor/run_status.hpp"
#include "queue/messages.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"

namespace wallheat {

/// Reports what a run is doing: to the user by log messages and progress, to other hosts by the
/// status file, and to programs by the event log. Does not store results, and makes no decisions.
/// Not thread-safe.
class RunMonitor {
 public:
  using Clock = RunProgress::Clock;
  /// `status` contains the start time and the host of the run; the monitor fills in the other
  /// fields. `start` is the tally before the first event. `has_ranks`: messages call the workers
  /// ranks. References must outlive the monitor.
  RunMonitor(Log& log, ProgressStyle style, std::optional<EventLog> events, RunStatus status,
             RunProgress::IdOf id_of, const RunTally& start, LiveStatus& live_status,
             bool has_ranks, const std::function<Clock::time_point()>& now = Clock::now);
  ~RunMonitor() { flush_events(); }
  RunMonitor(const RunMonitor&) = delete;
  RunMonitor& operator=(const RunMonitor&) = delete;

  void on_event(const Event& event, const PlanResult& row = {});
  /// Updates progress display, status file and event log. Call this several times per second.
  /// `seconds_left` is the predicted time to completion in s; NaN if unknown.
  void tick(double seconds_left);

  /// Ends the progress display, logs what each worker did, adds `event` to the event log and
  /// flushes it.
  void finish(const std::string& event);

  [[nodiscard]] const RunProgress& progress() const { return progress_; }
  /// Returns the status of the run with this state. `seconds_left` is in s; NaN if unknown.
  [[nodiscard]] RunStatus status(const std::string& state, double seconds_left) const;
  /// Returns the throughput in plans, always in the unit of the first call that had a solved plan.
  [[nodiscard]] std::string rate_text() const;

 private:
  void log_event(const Event& event, const PlanResult& row);
  void log_event(const PlanResult& stored);
  void show_workers();
  [[nodiscard]] std::string name_of(int rank, const std::string& host) const;
  [[nodiscard]] std::string progress_text(double seconds_left) const;
  /// Writes the event log. If that fails, logs a warning and continues without an event log.
  void flush_events();

  Log& log_;
  ProgressStyle style_;
  std::optional<EventLog> events_;
  RunStatus status_;  // as at the start of the run, except for `state`
  RunProgress progress_;
  LiveStatus& live_status_;
  std::function<Clock::time_point()> now_;
  std::size_t implausible_temperatures_ = 0;  // plans
  std::size_t far_from_steady_ = 0;           // plans
  std::string far_from_steady_remark_;        // about these plans
  mutable std::optional<RateUnit> rate_unit_;
  Clock::time_point status_written_;
  Clock::time_point shown_ = now_();
  Clock::time_point last_ready_;
  std::vector<WorkerInfo> shown_workers_;
};

}  // namespace wallheat
