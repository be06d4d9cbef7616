#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

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

  void add(const Event& event, const PlanResult& row);
  [[nodiscard]] std::size_t left() const { return total - restored - given_up - solved - failed; }
};

/// Tells people, the event log and the status file what a run is doing.
class RunMonitor {
 public:
  using Clock = std::chrono::steady_clock;
  using IdOf = std::function<std::string(std::uint32_t plan)>;
  /// `status` says what the run is; the rest of it is filled in here. `id_of` knows the plans of
  /// the queue.
  RunMonitor(Log& log, ProgressStyle style, std::optional<EventLog> events, RunStatus status,
             IdOf id_of, const RunTally& start, LiveStatus& live_status,
             std::function<Clock::time_point()> now = Clock::now);
  ~RunMonitor() { flush_events(); }
  RunMonitor(const RunMonitor&) = delete;
  RunMonitor& operator=(const RunMonitor&) = delete;

  void hear(const Event& event, const PlanResult& row = {});
  /// To be called several times a second: what is shown of the run is to be true. seconds_left may
  /// be NaN.
  void tick(double seconds_left);

  /// Ends the display, logs what each worker did, and flushes the event log.
  void finish(const std::string& event);

  [[nodiscard]] const RunTally& tally() const { return tally_; }
  /// What the run is doing, with a word of the caller's for it; seconds_left may be NaN.
  [[nodiscard]] RunStatus status(const std::string& state, double seconds_left) const;
  /// The plans that were at hand when the run had to stop.
  [[nodiscard]] const std::vector<Event>& abandoned() const { return abandoned_; }
  /// Wall seconds since the run began.
  [[nodiscard]] double elapsed_s() const { return seconds_since(start_); }
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
  struct WorkerShare {
    WorkerStatus status;
    ThreadTime spent;
    Clock::time_point heard;
    GpuUsage gpu;
    GpuSeconds gpu_seconds;
  };
  void say(const Event& event, const PlanResult& row);
  void say(const PlanResult& stored);
  void follow(const Event& event, const PlanResult& row);
  void follow(WorkerShare& share, const WorkerReport& report);
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
  IdOf id_of_;
  RunTally tally_;
  std::size_t odd_temperatures_ = 0;  // plans
  std::size_t early_stops_ = 0;       // plans
  Clock::time_point status_written_;
  LiveStatus& live_status_;
  std::function<Clock::time_point()> now_;
  Clock::time_point start_ = now_();
  Clock::time_point shown_ = start_;
  Clock::time_point last_ready_;
  std::vector<WorkerInfo> ready_;  // those shown first, then by rank
  std::size_t shown_workers_ = 0;  // of these
  std::vector<Event> abandoned_;
  std::map<int, WorkerShare> shares_;  // by rank
};

}  // namespace wallheat
