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

namespace wallheat {

/// Who solves what: a state machine without clock, messages and files.
///
/// A plan is open, held, answered or failed. Workers pull: whenever one has spoken, assign() says
/// what it gets more, the longest plan that fits first. Short plans wait at it in advance, a tenth
/// of a second's worth, but never more than half of its fair share of what is open; so batches
/// shrink to single plans and all end at about the same time. When nothing is open, an idle worker
/// gets a copy of the held plan that is expected to take longest: the first answer counts. What a
/// silent worker holds is open to all as well; if it speaks again, its answers are as good as any.
/// A plan that failed or was at a worker that died is troubled: it comes last, to another worker if
/// there is one, and alone if lanes share a process.
///
/// An event costs the same for ten plans and for ten millions: open plans stand in lines of about
/// one length, each plan knows its neighbours in its line, and a worker's leases are a short list.
class PlanQueue {
 public:
  using Index = std::uint32_t;
  struct InitialState {
    float updates = 0;  ///< 0: not known yet
    int attempts = 0;   ///< of earlier sessions
    int failures = 0;
  };
  /// A plan fails for good after `max_attempts` failures that may pass, or lost workers (255 at
  /// most).
  PlanQueue(const std::vector<InitialState>& plans, int max_attempts);

  // Events. What concerns an unknown plan, or a worker that has not joined, is ignored.

  /// By a clock that goes on; to be called before other events.
  void set_time(double now_s) { now_s_ = now_s; }
  void set_estimate(Index plan, double updates);
  /// While others are on their way, a plan that failed waits for them rather than being tried again
  /// where it failed.
  void set_more_workers_expected(bool expected) { more_are_expected_ = expected; }
  /// A worker is ready, back, or has another device: it keeps what it was given. `shares_process`:
  /// its lanes share a process, so that a plan that kills it takes others along. `kind`: devices of
  /// one kind are of one speed.
  void on_worker_ready(int worker, unsigned slots, bool shares_process, const std::string& kind);
  /// What a silent worker holds is open to others, too. Returns the plans that have failed now, as
  /// too many workers fell silent with them.
  std::vector<Index> on_worker_lost(int worker);
  /// It has said that it leaves, so no plan is to blame.
  void on_worker_left(int worker);
  /// It has begun with what it was given: an attempt, unless another worker is at it. Returns false
  /// if that is no news.
  bool on_started(int worker, Index plan);
  enum class Outcome { accepted, duplicate, retry, failed };
  Outcome on_solved(int worker, Index plan, double seconds);
  Outcome on_failed(int worker, Index plan, bool retryable);
  /// Call this before on_failed() if the worker failed the plan because of a system error on its
  /// host. Until the worker solves a plan that it started later, it gets plans back that failed
  /// there only if no other worker remains. Returns the number of failures in a row that are
  /// evidence against the host. A plan that has failed before in this run is not evidence, because
  /// its file may be what cannot be read, unless the worker has not solved any plan.
  int on_host_error(int worker, Index plan);
  /// It comes back unsolved; `is_suspect`: it was in a process that died with several plans.
  void on_returned(int worker, Index plan, bool is_suspect);

  /// What a worker is to solve now; maybe copies of what others hold. `allow_same_worker`: also
  /// plans that failed there and should go elsewhere.
  [[nodiscard]] std::vector<Index> assign(int worker, double time_left_s,
                                          bool allow_same_worker = false);

  [[nodiscard]] bool has(Index plan) const { return plan < plans_.size(); }
  [[nodiscard]] bool finished() const { return unfinished_ == 0; }
  [[nodiscard]] bool any_leased() const { return active_leases_ > 0; }
  [[nodiscard]] std::size_t queued_count() const { return queued_; }
  /// A worker holds it, and may answer.
  [[nodiscard]] bool is_leased(Index plan) const { return plans_[plan].lease_count > 0; }
  /// Over all sessions, as are failures.
  [[nodiscard]] int attempts(Index plan) const { return plans_[plan].attempts; }
  [[nodiscard]] int failures(Index plan) const { return plans_[plan].failures; }
  /// NaN if nothing is known.
  [[nodiscard]] double predicted_s(int worker, Index plan) const;
  /// Until the end, by what the latest plans took and those at hand have taken. NaN before the
  /// first result.
  [[nodiscard]] double seconds_left() const;

 private:
  enum class State : std::uint8_t { queued, leased, solved, failed };
  static constexpr Index none = std::numeric_limits<Index>::max();
  /// There may be tens of millions of these: 24 bytes.
  struct Entry {
    float updates = 0;
    int last_failed_on = -1;         ///< where it failed last
    Index prev = none, next = none;  ///< in its line, while it is open
    std::uint16_t attempts = 0, failures = 0;
    std::uint8_t lost_workers = 0;
    std::uint8_t lease_count = 0;  ///< that are not silent
    std::uint8_t running = 0;      ///< of these, have started
    State state = State::queued;
    [[nodiscard]] int suspicion() const { return failures + lost_workers; }
    [[nodiscard]] bool is_finished() const { return state >= State::solved; }
  };
  /// Open plans with as many troubles whose updates are equal within 1 %.
  struct Bucket {
    Index first = none, last = none;
  };
  struct Lease {
    Index plan;
    float expected_end_s;  ///< when it is expected to be answered
    float started_s = -1;
    [[nodiscard]] bool has_started() const { return started_s >= 0; }
  };
  struct Worker {
    unsigned slots = 0;  ///< 0: it is not here
    bool shares_process = false, lost = false;
    bool has_solved = false;
    int host_errors = 0;  ///< see on_host_error()
    std::optional<float> last_host_error_s{};
    DurationModel* model = nullptr;  ///< of its kind
    std::vector<Lease> leases;       ///< in the order in which they were given
    double mean_plan_s = 0;          ///< what its latest plans took
    double last_failure_s =
        -std::numeric_limits<double>::infinity();          ///< when a plan failed there last
    [[nodiscard]] std::size_t index_of(Index plan) const;  ///< in leases
    [[nodiscard]] bool holds(Index plan) const { return index_of(plan) < leases.size(); }
  };
  struct Forecast;

  /// The lines' order: least troubled first, then the longest; unknown lengths last.
  [[nodiscard]] static std::uint32_t bucket_key(int suspicion, float updates);
  [[nodiscard]] std::uint32_t bucket_key(Index plan) const {
    return bucket_key(plans_[plan].suspicion(), plans_[plan].updates);
  }
  [[nodiscard]] Index first_at_or_after(std::uint32_t line) const;
  void enqueue(Index plan);
  void dequeue(Index plan);
  [[nodiscard]] bool is_finished(Index plan) const { return plans_[plan].is_finished(); }
  [[nodiscard]] Worker* find(int id);
  [[nodiscard]] const Worker* find(int id) const;
  void add_lease_holder(const Lease& lease);
  void remove_lease_holder(const Lease& lease);
  bool start(Lease& lease);
  void lease(Worker& worker, Index plan);
  static void note_success(Worker& worker, Index plan);
  bool release(Worker* worker, Index plan);
  void finish(Index plan, State state);
  /// Makes a change that may give the plan another line.
  template <class Change>
  void change(Index plan, Change make);
  [[nodiscard]] std::size_t demand(const Worker& worker) const;
  [[nodiscard]] bool takes_back(const Worker& worker) const;
  void assign_queued(int id, Worker& worker, std::size_t most, double time_left_s,
                     bool allow_same_worker, std::vector<Index>& chosen);
  [[nodiscard]] bool may_be_copied(Index plan) const;
  void refresh_copy_candidates();
  void assign_copies(Worker& worker, double time_left_s, std::vector<Index>& chosen);

  int max_attempts_;
  std::vector<Entry> plans_;
  std::map<std::uint32_t, Bucket> buckets_;                ///< none of them empty
  std::map<std::string, DurationModel> models_;            ///< by kind
  std::vector<Worker> workers_;                            ///< by id
  std::vector<std::pair<double, Index>> copy_candidates_;  ///< held plans, the best to copy last
  double candidates_listed_s_ =
      -std::numeric_limits<double>::infinity();  ///< when they were listed
  double now_s_ = 0;
  std::size_t queued_ = 0, unfinished_ = 0;
  std::size_t active_leases_ = 0;  ///< of workers that are not silent
  std::size_t worker_count_ = 0;   ///< workers
  double total_slots_ = 0;
  std::size_t estimated_plans_ = 0;  ///< unfinished plans whose updates are known
  double estimated_updates_ = 0;     ///< of these
  bool more_are_expected_ = false;
};

}  // namespace wallheat
