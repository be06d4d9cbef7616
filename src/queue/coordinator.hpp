#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "queue/messages.hpp"
#include "queue/plan_queue.hpp"

namespace wallheat {

/// Why a run has ended.
enum class RunEnd {
  finished,       ///< every plan is solved or has failed
  interrupted,    ///< a stop was requested
  out_of_time,    ///< the time limit was reached, or no remaining plan fits into it
  source_outage,  ///< no worker remains, and at least one left because of a source outage
  no_workers  ///< no worker became ready, all are lost or have left, or the solver command fails
              ///< in the same way for every plan
};

/// Rank 0's state machine: assigns plans to workers and decides which workers are alive.
///
/// The coordinator does no I/O and has no clock. Its driver passes messages and the time in, and
/// moves assignments, stop requests and events out of `outbox`; events are in the order in which
/// they happened. One driver runs it over MPI or in one process (run/coordinator_loop.cpp), another
/// in simulated time (tests/simulation). A driver passes in all messages that have arrived before
/// it calls assign_plans(), so that their results are stored in one batch.
///
/// All times are in seconds, on one clock that starts at 0. Not thread-safe.
class Coordinator {
 public:
  struct Options {
    int max_attempts = 3;             ///< see PlanQueue
    double heartbeat_timeout_s = 30;  ///< a worker without a message for this long is lost
    /// The run stops waiting for a worker that has sent no message by then, or is not ready after
    /// twice as long (Stage::late).
    double startup_timeout_s = 180;
    double heartbeat_interval_s = 1;  ///< longest time between two messages to a worker
    double stop_timeout_s = 10;       ///< how long a stop waits for the workers' last results
    /// Two results of a plan may differ although no device is faulty. Then there are no speculative
    /// copies, and the first result of a plan counts.
    bool is_deterministic = true;
  };
  /// Output since the driver last emptied it.
  struct Outbox {
    /// A worker and the plans assigned to it, longest first; no plans: a heartbeat.
    std::vector<std::pair<int, std::vector<QueueIndex>>> assignments;
    std::vector<int> stop_requests;  ///< workers
    std::vector<Event> events;
  };

  /// Workers are numbered from 1 to `workers`, as their ranks are.
  Coordinator(const QueueVector<PlanQueue::InitialState>& plans, int workers,
              const Options& options);

  /// Messages of a worker, whose number is from 1 to the number of workers; another number throws
  /// std::out_of_range.
  void on_report(int worker, WorkerReport report, double now_s);
  void on_bye(int worker, const Bye& bye, double now_s);
  /// Treats the worker as departed, because a message from it could not be decoded. Its later
  /// messages are ignored.
  void on_invalid_message(int worker, const std::string& reason, double now_s) {
    on_bye(worker, Bye{Bye::Cause::incompatible, reason}, now_s);
  }
  /// Assigns plans to the workers that have reported since the last call.
  void assign_plans(double now_s);
  /// Detects lost workers, sends heartbeats and checks the time limit. Call this several times per
  /// second. `time_left_s` is the time until the run must stop; may be infinite. `stalled_s` is the
  /// part of the time since the last call in which this process could not receive messages; it does
  /// not count towards timeouts.
  void tick(double now_s, double time_left_s, double stalled_s = 0);
  /// Stops the run gracefully: workers abort their plans, and end() returns `end` afterwards. Later
  /// requests are ignored.
  void request_stop(const std::string& why, RunEnd end);
  /// Sets the estimated work of a plan, in cell updates.
  void set_estimate(QueueIndex plan, double updates) { queue_.set_estimate(plan, updates); }

  /// Returns nullopt while the run continues. After a stop was requested, it continues until all
  /// workers have left, or for Options::stop_timeout_s; results that arrive until then count.
  [[nodiscard]] std::optional<RunEnd> end() const;
  /// Emits an `aborted` event for each plan in progress. Call this once, after end() has returned
  /// anything but RunEnd::finished.
  void emit_aborted_events();
  /// Returns the message for RunEnd::no_workers: why the last worker was lost or has left, or why
  /// one has stopped the run.
  [[nodiscard]] const std::string& failure_reason() const { return no_workers_reason_; }
  [[nodiscard]] const PlanQueue& queue() const { return queue_; }
  /// Returns the number of result hashes that are retained to check speculative copies.
  [[nodiscard]] std::size_t retained_hashes() const { return first_results_.size(); }

  Outbox outbox;

 private:
  enum class Stage : std::uint8_t {
    starting,  ///< may become ready soon; the run waits for it
    late,      ///< was not ready in time; may become ready, but the run does not wait for it
    active,
    lost,
    departed
  };
  struct WorkerState {
    Stage stage = Stage::starting;
    bool reachable = false;            ///< has sent a message since the start, or since it was lost
    bool awaiting_assignment = false;  ///< has reported since assign_plans() ran; is in awaiting_
    int host_errors = 0;               ///< the maximum that PlanQueue::on_host_error() returned
    std::string last_host_error{};
    double last_received_s = 0;  ///< in awake time
    double last_sent_s = 0;
    WorkerPointer info;
  };
  /// The attempt at a plan that has got farthest. Kept while no stored row records it.
  struct Attempt {
    int worker = 0;
    PlanProgress progress;
  };
  struct FirstResult {
    int worker = 0;
    std::uint64_t result_hash = 0;
  };

  [[nodiscard]] WorkerState& state_of(int worker) {
    return workers_.at(static_cast<std::size_t>(worker));
  }
  [[nodiscard]] std::size_t count(Stage stage) const {
    return stage_counts_.at(static_cast<std::size_t>(stage));
  }
  void set_time(double now_s);
  void set_stage(WorkerState& worker, Stage stage);
  Event& emit(Event::Kind kind, int worker);
  Event& emit(Event::Kind kind, int worker, QueueIndex plan);
  void activate(int worker, WorkerReport& report);
  void update_progress(int worker, const std::vector<PlanProgress>& running);
  void mark_started(int worker, QueueIndex plan, double seconds);
  void on_result(int worker, TaskResult& result);
  void on_solved(int worker, TaskResult& result);
  void exclude_if_host_is_bad(int worker);
  void assign(int worker, bool allow_same_worker = false);
  void check_liveness(int worker);
  void mark_lost(int worker, Stage stage, const std::string& what, double seconds);
  void record_departure(const std::string& reason);
  void stop_if_nothing_fits();

  Options options_;
  PlanQueue queue_;
  std::vector<WorkerState> workers_;           ///< by number; element 0 is unused
  std::array<std::size_t, 5> stage_counts_{};  ///< workers by stage
  std::vector<int> awaiting_;                  ///< workers, in the order in which they reported
  std::unordered_map<QueueIndex, Attempt> attempts_;
  /// First results of plans of which a speculative copy is still in flight.
  std::unordered_map<QueueIndex, FirstResult> first_results_;
  std::string no_workers_reason_;
  std::string source_outage_reason_;  ///< why a worker cannot read the plans; empty: all can
  bool any_was_ready_ = false;
  // Awake time is the time in which this process could receive messages: awake_s_ = now_s_ -
  // stalled_s_.
  double now_s_ = 0, stalled_s_ = 0, awake_s_ = 0;
  double last_check_s_ = 0;      ///< time of the last check_liveness()
  double stop_requested_s_ = 0;  ///< in awake time
  double deadline_s_ = std::numeric_limits<double>::infinity();
  std::optional<RunEnd> requested_end_;
};

}  // namespace wallheat
