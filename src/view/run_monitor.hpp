#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "queue/messages.hpp"
#include "view/event_log.hpp"
#include "view/run_progress.hpp"
#include "view/run_status.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"

namespace wallheat {

/// How progress is shown: a bar that is redrawn, a log line every few seconds, or not at all.
enum class ProgressStyle { bar, lines, none };

/// Tells what a run is doing: people by sentences and progress, observers by the status file,
/// programs by the event log, which is one of its parts. It stores no results and decides nothing.
class RunMonitor {
 public:
  using Clock = RunProgress::Clock;
  /// `status` says what the run is; the rest of it is filled in here.
  RunMonitor(Log& log, ProgressStyle style, std::optional<EventLog> events, RunStatus status,
             RunProgress::IdOf id_of, const RunTally& start, LiveStatus& live_status,
             bool has_ranks, const std::function<Clock::time_point()>& now = Clock::now);
  ~RunMonitor() { flush_events(); }
  RunMonitor(const RunMonitor&) = delete;
  RunMonitor& operator=(const RunMonitor&) = delete;

  void on_event(const Event& event, const PlanResult& row = {});
  /// To be called several times a second: what is shown of the run is to be true. seconds_left may
  /// be NaN.
  void tick(double seconds_left);

  /// Ends the display, logs what each worker did, and flushes the event log.
  void finish(const std::string& event);

  [[nodiscard]] const RunProgress& progress() const { return progress_; }
  /// What the run is doing, with a word of the caller's for it; seconds_left may be NaN.
  [[nodiscard]] RunStatus status(const std::string& state, double seconds_left) const;
  /// How fast plans are solved, always in the unit in which it was told first.
  [[nodiscard]] std::string rate_text() const;

 private:
  void log_event(const Event& event, const PlanResult& row);
  void log_event(const PlanResult& stored);
  void show_workers();
  [[nodiscard]] std::string name_of(int rank, const std::string& host) const;
  [[nodiscard]] std::string progress_text(double seconds_left) const;
  /// An event log that cannot be written is done without, and this is said.
  void flush_events();

  Log& log_;
  ProgressStyle style_;
  std::optional<EventLog> events_;
  RunStatus status_;  // as it began, but for its state
  RunProgress progress_;
  LiveStatus& live_status_;
  std::function<Clock::time_point()> now_;
  std::size_t implausible_temperatures_ = 0;  // plans
  std::size_t far_from_steady_ = 0;           // plans
  mutable std::optional<RateUnit> rate_unit_;
  Clock::time_point status_written_;
  Clock::time_point shown_ = now_();
  Clock::time_point last_ready_;
  std::vector<WorkerInfo> shown_workers_;
};

}  // namespace wallheat
