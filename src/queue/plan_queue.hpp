#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "queue/duration_model.hpp"
#include "queue/queue_index.hpp"

namespace wallheat {

/// The coordinator's queue of plans: decides which worker solves which plan. A state machine
/// without clock, messages or files; not thread-safe.
///
/// A plan is queued, leased to at least one worker, solved, or failed. Workers pull: after each
/// report of a worker, assign() returns the plans that the worker gets in addition, the longest
/// that fits into the remaining time first.
///
/// Prefetch: a worker gets short plans before its slots are free, so that messages do not delay it.
/// Prefetched plans make up at most a tenth of a second of work, and at most half of the worker's
/// fair share of the queued plans. Batches therefore shrink to single plans towards the end, and
/// all workers end at about the same time.
///
/// Speculative copies: if no plan is queued, an idle worker gets a second lease of the leased plan
/// that is expected to end last. The first result counts. The plans of a lost worker are queued
/// again; if the worker recovers, its results are accepted like all others.
///
/// Suspects: a plan that has failed, or that was in progress in a solver process or on a worker
/// that died, is a suspect. Suspects are assigned after all other plans, to another worker if one
/// exists, and alone (in quarantine) if the slots of the worker share a process.
///
/// The cost of an event does not depend on the number of plans: queued plans are kept in buckets of
/// similar length, each bucket is a linked list, and the leases of a worker are a short list.
class PlanQueue {
 public:
  struct InitialState {
    float updates = 0;  ///< estimated cell updates; 0: not estimated yet
    int attempts = 0;   ///< in earlier sessions
    int failures = 0;   ///< in earlier sessions
  };
  /// A plan is given up after `max_attempts` retryable failures, or after `max_attempts` workers
  /// were lost while they solved it; the two are counted separately. max_attempts is at most 255.
  PlanQueue(const QueueVector<InitialState>& plans, int max_attempts);

  // Events. An event of an unknown plan, or of a worker that has not become ready, is ignored.

  /// Sets the time of the events that follow, in s on a clock that never goes back.
  void set_time(double now_s) { now_s_ = now_s; }
  /// Sets the estimated work of a plan, in cell updates.
  void set_estimate(QueueIndex plan, double updates);
  /// Sets whether more workers may become ready. While they may, a plan that failed waits for
  /// another worker instead of being retried by the worker on which it failed.
  void set_more_workers_expected(bool expected) { more_are_expected_ = expected; }
  /// Adds a worker that became ready, that recovered, or that switched to another device; it keeps
  /// its leases. `shares_process`: its slots share one solver process, so a plan that kills the
  /// process aborts others, too. Devices of equal type are equally fast.
  void on_worker_ready(int worker, unsigned slots, bool shares_process,
                       const std::string& device_type);
  /// Queues the plans of a worker again. Returns those that are given up, because too many workers
  /// were lost while they solved them.
  std::vector<QueueIndex> on_worker_lost(int worker);
  /// Queues the plans of a worker again that announced that it leaves. None of them becomes a
  /// suspect.
  void on_worker_left(int worker);
  /// Records that a worker started a plan that is leased to it. This counts as an attempt unless
  /// another worker is solving the plan. Returns false if the start is known already.
  bool on_started(int worker, QueueIndex plan);
  enum class Outcome {
    accepted,   ///< the result counts
    duplicate,  ///< another worker has solved the plan already
    retry,      ///< the plan is queued again
    failed      ///< the plan has failed for good
  };
  /// Records a result: accepted or duplicate. `seconds` is the wall time of the plan.
  Outcome on_solved(int worker, QueueIndex plan, double seconds);
  /// Records that an attempt failed: retry or failed, or duplicate if the plan is solved.
  Outcome on_failed(int worker, QueueIndex plan, bool retryable);
  /// Call this before on_failed() if the worker failed the plan because of a system error on its
  /// host. Until the worker has solved a plan that it started after this error, plans that failed
  /// on it are not assigned to it again, unless no other worker remains. Returns the number of
  /// consecutive failures that count against the host. If a plan has failed before in this run, its
  /// file may be the cause; then the failure counts only if the worker has not solved any plan yet.
  int on_host_error(int worker, QueueIndex plan);
  /// Ends the lease of a plan that the worker did not solve. `is_suspect`: the plan was in progress
  /// in a solver process that died while it solved several plans.
  void on_returned(int worker, QueueIndex plan, bool is_suspect);

  /// Chooses further plans for a worker and leases them to it: for its idle slots, and as prefetch.
  /// They may be speculative copies. `allow_same_worker`: also plans that failed on this worker,
  /// which otherwise wait for another one.
  [[nodiscard]] std::vector<QueueIndex> assign(int worker, double time_left_s,
                                               bool allow_same_worker = false);

  /// Never assigns speculative copies: two results of a plan may differ although no device is
  /// faulty.
  void forbid_copies() { allows_copies_ = false; }

  [[nodiscard]] bool has(QueueIndex plan) const {
    return static_cast<std::size_t>(plan) < plans_.size();
  }
  [[nodiscard]] bool finished() const { return unfinished_ == 0; }
  [[nodiscard]] bool any_leased() const { return active_leases_ > 0; }
  [[nodiscard]] std::size_t queued_count() const { return queued_; }
  /// Returns true if at least one worker that is not lost has a lease of the plan.
  [[nodiscard]] bool is_leased(QueueIndex plan) const { return plans_[plan].lease_count > 0; }
  /// Returns the number of attempts over all sessions.
  [[nodiscard]] int attempts(QueueIndex plan) const { return plans_[plan].attempts; }
  /// Returns the number of failures over all sessions.
  [[nodiscard]] int failures(QueueIndex plan) const { return plans_[plan].failures; }
  /// Returns the predicted time of the plan on the worker's device, in s; NaN if it is unknown.
  [[nodiscard]] double predicted_s(int worker, QueueIndex plan) const;
  /// Returns the predicted time until all plans are solved, in s: from the durations of recent
  /// plans, and the elapsed times of the plans in progress. NaN before the first result.
  [[nodiscard]] double seconds_left() const;

 private:
  enum class State : std::uint8_t { queued, leased, solved, failed };
  static constexpr QueueIndex none{std::numeric_limits<std::uint32_t>::max()};
  /// State of one plan. It has 24 bytes, because a run may have tens of millions of plans.
  struct Entry {
    float updates = 0;                    ///< estimated cell updates; 0: not estimated yet
    int last_failed_on = -1;              ///< worker of the last failure; -1: none
    QueueIndex prev = none, next = none;  ///< neighbours in its bucket, while it is queued
    std::uint16_t attempts = 0, failures = 0;
    std::uint8_t lost_workers = 0;
    std::uint8_t lease_count = 0;  ///< leases of workers that are not lost
    std::uint8_t running = 0;      ///< of these, leases that have started
    State state = State::queued;
    [[nodiscard]] int suspicion() const { return failures + lost_workers; }
    [[nodiscard]] bool is_finished() const { return state >= State::solved; }
  };
  /// Queued plans with equal suspicion() whose updates are equal within 1 %, as a linked list.
  struct Bucket {
    QueueIndex first = none, last = none;
  };
  struct Lease {
    QueueIndex plan;
    float expected_end_s;  ///< predicted time of its result
    float started_s = -1;  ///< negative: has not started
    [[nodiscard]] bool has_started() const { return started_s >= 0; }
  };
  struct Worker {
    unsigned slots = 0;  ///< 0: not ready, or departed
    bool shares_process = false, lost = false;
    bool has_solved = false;
    int host_errors = 0;  ///< see on_host_error()
    std::optional<float> last_host_error_s{};
    DurationModel* model = nullptr;  ///< of its device type
    std::vector<Lease> leases;       ///< in the order of assignment
    double mean_plan_s = 0;          ///< moving average over its latest plans
    /// Time of the last failure on this worker.
    double last_failure_s = -std::numeric_limits<double>::infinity();
    /// Returns the index of the plan's lease; leases.size() if the plan is not leased to this
    /// worker.
    [[nodiscard]] std::size_t index_of(QueueIndex plan) const;
    [[nodiscard]] bool holds(QueueIndex plan) const { return index_of(plan) < leases.size(); }
  };
  struct Forecast;

  /// Returns the sort key of a bucket: lowest suspicion first, then the largest work; plans without
  /// an estimate last.
  [[nodiscard]] static std::uint32_t bucket_key(int suspicion, float updates);
  [[nodiscard]] std::uint32_t bucket_key(QueueIndex plan) const {
    return bucket_key(plans_[plan].suspicion(), plans_[plan].updates);
  }
  [[nodiscard]] QueueIndex first_at_or_after(std::uint32_t key) const;
  void enqueue(QueueIndex plan);
  void dequeue(QueueIndex plan);
  [[nodiscard]] bool is_finished(QueueIndex plan) const { return plans_[plan].is_finished(); }
  [[nodiscard]] Worker* find(int id);
  [[nodiscard]] const Worker* find(int id) const;
  void add_lease_holder(const Lease& lease);
  void remove_lease_holder(const Lease& lease);
  bool start(Lease& lease);
  void lease(Worker& worker, QueueIndex plan);
  static void note_success(Worker& worker, QueueIndex plan);
  bool release(Worker* worker, QueueIndex plan);
  void finish(QueueIndex plan, State state);
  /// Calls make(entry), which may move the plan to another bucket.
  template <class Change>
  void change(QueueIndex plan, Change make);
  [[nodiscard]] std::size_t demand(const Worker& worker) const;
  [[nodiscard]] bool takes_back(const Worker& worker) const;
  void assign_queued(int id, Worker& worker, std::size_t most, double time_left_s,
                     bool allow_same_worker, std::vector<QueueIndex>& chosen);
  [[nodiscard]] bool may_be_copied(QueueIndex plan) const;
  void refresh_copy_candidates();
  void assign_copies(Worker& worker, double time_left_s, std::vector<QueueIndex>& chosen);

  int max_attempts_;
  QueueVector<Entry> plans_;
  std::map<std::uint32_t, Bucket> buckets_;      ///< by bucket_key(); without empty buckets
  std::map<std::string, DurationModel> models_;  ///< by device type
  std::vector<Worker> workers_;                  ///< by worker number
  bool allows_copies_ = true;
  /// Leased plans, each with a measure of how much a copy of it helps; the best one is last.
  std::vector<std::pair<double, QueueIndex>> copy_candidates_;
  /// Time at which copy_candidates_ was made.
  double candidates_listed_s_ = -std::numeric_limits<double>::infinity();
  double now_s_ = 0;
  std::size_t queued_ = 0, unfinished_ = 0;
  std::size_t active_leases_ = 0;  ///< leases of workers that are not lost
  std::size_t worker_count_ = 0;   ///< workers that are ready
  double total_slots_ = 0;
  std::size_t estimated_plans_ = 0;  ///< unfinished plans with an estimate
  double estimated_updates_ = 0;     ///< their sum
  bool more_are_expected_ = false;
};

}  // namespace wallheat
