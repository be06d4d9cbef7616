#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/id_list.hpp"
#include "queue/event.hpp"
#include "view/console.hpp"
#include "view/event_log.hpp"
#include "view/gpu_text.hpp"
#include "view/run_status.hpp"
#include "view/thread_time.hpp"

namespace wallheat {

/// How progress is shown: a bar that is redrawn, a log line every few seconds, or not at all.
enum class ProgressStyle { bar, lines, none };

/// What has become of the plans of a run so far.
struct RunTally {
  std::size_t total = 0;
  std::size_t restored = 0;  ///< answers of earlier sessions
  std::size_t given_up = 0;  ///< failed too often in earlier sessions, and not tried again
  std::size_t solved = 0;
  std::size_t failed = 0;
  std::size_t failed_tries = 0;  ///< failures that were not the last word
  ThreadTime spent;              ///< on this session's plans
  double failed_seconds = 0;     ///< of these, spent on failures
  double repeated_seconds = 0;   ///< spent on answers that another worker had given before
  double abandoned_seconds = 0;  ///< spent on plans that the end cut short
  std::set<std::uint32_t> failed_plans{};  ///< each may still be answered

  void add(const Event& event);
  [[nodiscard]] std::size_t left() const { return total - restored - given_up - solved - failed; }
};

/// Tells people, the event log and the status file what a run is doing.
class RunMonitor {
 public:
  /// `status` says what the run is; the rest of it is filled in here. `ids` are those of the
  /// whole campaign.
  RunMonitor(Log& log, ProgressStyle style, std::optional<EventLog> events, RunStatus status,
             TextList ids, const RunTally& start, LiveStatus& live_status,
             Runtime& runtime = system_runtime());
  ~RunMonitor() { flush_events(); }
  RunMonitor(const RunMonitor&) = delete;
  RunMonitor& operator=(const RunMonitor&) = delete;

  void hear(const Event& event);

  /// Ends the display, logs what each worker did, and flushes the event log.
  void finish(const std::string& event);

  [[nodiscard]] const RunTally& tally() const { return tally_; }
  /// What the run is doing, with a word of the caller's for it; seconds_left may be NaN.
  [[nodiscard]] RunStatus status(const std::string& state, double seconds_left) const;
  /// The plans that were at hand when the run had to stop.
  [[nodiscard]] const std::vector<Event>& abandoned() const { return abandoned_; }
  /// Wall seconds since the run began.
  [[nodiscard]] double elapsed_s() const { return seconds_since(start_); }
  /// A sentence on how good the predictions were; empty where there were too few.
  [[nodiscard]] const std::string& predictions() const { return predictions_; }
  /// Of all workers that got ready.
  [[nodiscard]] std::size_t solver_threads() const;
  /// Threads of CPU workers, and one for each GPU.
  [[nodiscard]] std::size_t plans_at_once() const;
  /// What each GPU did, as lines of text; empty where none told anything.
  [[nodiscard]] std::vector<std::string> gpu_table() const;
  /// What each kernel of the GPUs took, as lines of text; empty if no plan was solved by one.
  [[nodiscard]] std::vector<std::string> kernel_table() const { return kernels_.table(); }
  /// What plans on GPUs took; all 0 where there were none.
  [[nodiscard]] GpuSeconds gpu_seconds() const;
  /// The workers that got ready, as lines of text; empty where none has.
  [[nodiscard]] std::vector<std::string> worker_table(bool with_memory) const;
  /// The most memory that each worker's process has held, in bytes, by rank; 0: unknown.
  [[nodiscard]] std::map<int, std::int64_t> peak_memory() const;

 private:
  using Clock = Runtime::Clock;
  struct WorkerShare {
    WorkerStatus status;
    ThreadTime spent;
    Clock::time_point heard;
    GpuUsage gpu;
    GpuSeconds gpu_seconds;
  };
  void say(const Event& event);
  void say(const PlanResult& stored);
  void follow(const Event& event);
  void follow(WorkerShare& share, const Heartbeat& heartbeat);
  void judge_predictions(const PredictionQuality& quality);
  void tick(double seconds_left);
  void show_workers();
  /// An event log that cannot be written is done without, and this is said.
  void flush_events();
  /// Of a worker that was not known yet, too.
  WorkerShare& share_of(int rank);
  [[nodiscard]] double seconds_since(Clock::time_point time) const;
  [[nodiscard]] std::vector<int> ranks_to_tell_of() const;
  [[nodiscard]] std::string progress_text(double seconds_left) const;

  Log& log_;
  ProgressStyle style_;
  KernelTimes kernels_;
  std::optional<EventLog> events_;
  RunStatus status_;  // as it began, but for its state
  TextList ids_;
  RunTally tally_;
  std::size_t odd_temperatures_ = 0;  // plans
  std::size_t early_stops_ = 0;       // plans
  Clock::time_point status_written_;
  LiveStatus& live_status_;
  Runtime& runtime_;
  Clock::time_point start_ = runtime_.now();
  Clock::time_point shown_ = start_;
  Clock::time_point last_ready_;
  std::vector<WorkerInfo> ready_;  // those shown first, then by rank
  std::size_t shown_workers_ = 0;  // of these
  std::vector<Event> abandoned_;
  std::string predictions_;
  std::map<int, WorkerShare> shares_;  // by rank
};

}  // namespace wallheat
