#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "queue/event.hpp"
#include "view/console.hpp"
#include "view/event_log.hpp"
#include "view/gpu_text.hpp"
#include "view/run_status.hpp"
#include "view/run_tally.hpp"
#include "view/thread_time.hpp"
#include "view/time_text.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// How progress is shown: a bar that is redrawn, a log line every few seconds, or not at all.
enum class ProgressStyle { bar, lines, none };

/// Tells people, the event log and the status file what a run is doing.
class RunMonitor {
 public:
  using Clock = std::chrono::steady_clock;
  using IdOf = std::function<std::string(std::uint32_t plan)>;
  /// `status` says what the run is; the rest of it is filled in here. `id_of` knows the plans of
  /// the queue. A run of one process has workers, but no ranks that anybody knows of.
  RunMonitor(Log& log, ProgressStyle style, std::optional<EventLog> events, RunStatus status,
             IdOf id_of, const RunTally& start, LiveStatus& live_status, bool has_ranks,
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
  /// Wall seconds since the run began, until it was finished: what the last line, the session and
  /// `status` count plans by.
  [[nodiscard]] double elapsed_s() const {
    return std::chrono::duration<double>(finished_.value_or(now_()) - start_).count();
  }
  /// How fast plans are solved, always in the unit in which it was told first.
  [[nodiscard]] std::string rate_text() const;
  /// What the session's attributes say of plans and workers, and of rank 0 the most memory that its
  /// process has held, in bytes; 0: unknown.
  [[nodiscard]] Attributes session_attributes(std::int64_t peak_memory) const;

 private:
  struct WorkerShare {
    WorkerStatus status;
    ThreadTime spent;
    Clock::time_point heard;
    GpuUsage gpu;
  };
  void say(const Event& event, const PlanResult& row);
  void say(const PlanResult& stored);
  void spend(const PlanResult& row);
  void follow(const Event& event, const PlanResult& row);
  void follow(WorkerShare& share, const WorkerReport& report);
  void show_workers();
  [[nodiscard]] std::string name_of(int rank, const std::string& host) const;
  /// The workers that got ready, as lines of text; empty if none has.
  [[nodiscard]] std::vector<std::string> worker_table(bool with_memory) const;
  /// What each GPU did, as lines of text; empty if none told anything.
  [[nodiscard]] std::vector<std::string> gpu_table() const;
  [[nodiscard]] double plans_per_s() const {
    return static_cast<double>(tally_.solved) / elapsed_s();
  }
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
  GpuSeconds gpu_seconds_;
  std::optional<EventLog> events_;
  RunStatus status_;  // as it began, but for its state
  IdOf id_of_;
  RunTally tally_;
  std::size_t odd_temperatures_ = 0;  // plans
  std::size_t early_stops_ = 0;       // plans
  Clock::time_point status_written_;
  LiveStatus& live_status_;
  bool has_ranks_;
  const char* worker_word_ = has_ranks_ ? "rank" : "worker";
  mutable std::optional<RateUnit> rate_unit_;
  std::function<Clock::time_point()> now_;
  Clock::time_point start_ = now_();
  Clock::time_point shown_ = start_;
  std::optional<Clock::time_point> finished_;
  Clock::time_point last_ready_;
  std::vector<WorkerInfo> ready_;  // those shown first, then by rank
  std::size_t shown_workers_ = 0;  // of these
  std::vector<Event> abandoned_;
  std::map<int, WorkerShare> shares_;  // by rank
};

}  // namespace wallheat
