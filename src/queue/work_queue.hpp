#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "queue/cost_model.hpp"
#include "queue/pending_plans.hpp"

namespace wallheat {

/// What the queue wants a worker to be told.
struct Order {
  enum class Kind { assign, retract };
  Kind kind = Kind::assign;
  int worker = 0;
  std::vector<std::uint32_t> plans;  ///< assign: solve these, in this order
  std::size_t count = 0;             ///< retract: give back up to this many that were not started
  friend bool operator==(const Order&, const Order&) = default;
};

/// Decides which worker solves which plan. A pure state machine: events go in, orders come out; it
/// knows no messages and no files, and time only as what it is told has passed.
///
/// A plan is pending, leased (waiting at a worker, then running), answered or failed. Longest plans
/// go first, as far as they are known (see set_work). Each worker has as many plans running as it
/// has threads and some more waiting, so that it never waits for an answer; short plans wait in
/// larger numbers. When nothing is pending, plans that wait behind a busy worker are retracted for
/// an idle one; when nothing waits either, idle workers get speculative copies of plans that others
/// still solve. Workers may be of several kinds, as fast as they like: each kind's times are learnt
/// on their own, so that batches, time limits and the end of the run follow each worker's own pace.
///
/// A plan leaves the leased state with its first answer. Another worker that still solves it keeps
/// a thread busy with a late copy: a second answer that can be compared, but that nothing waits
/// for. A failed plan that is answered after all, by a worker that was thought lost, is answered.
/// Whatever a worker says that it runs is leased to it, though nobody gave it to it of late.
///
/// An event costs O(log n) for n workers and plans; orders() costs as much for each worker that
/// changed since the last call and for each plan that it hands out. Where time is so short that
/// nobody may have a plan, each worker that would have it is asked once for each plan that comes
/// back: 0.3 ms where there are 1,000. Where threads are idle and nothing is pending for them, it
/// looks at all leases; where these are many, only now and then.
class WorkQueue {
 public:
  struct Item {
    std::uint32_t plan = 0;
    std::int32_t failures = 0;  ///< of earlier sessions
  };
  /// Takes the plans in the order in which they should be started, other things being equal.
  /// `max_attempts`: so many failures that may pass, or so many lost workers, a plan may cost.
  explicit WorkQueue(const std::vector<Item>& plans, int max_attempts = 3);
  WorkQueue(WorkQueue&&) = default;
  WorkQueue& operator=(WorkQueue&&) = delete;
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  ~WorkQueue() = default;

  // Events. Each is tolerant of what a late or repeated message may say. `id` is a worker's,
  // `number` a plan's.

  /// `kind` names its device: devices of one name are of one speed.
  void worker_joined(int id, std::size_t threads, const std::string& kind = {});
  /// It gets nothing more, and gives back what it has by and by.
  void worker_leaving(int id);
  /// It is gone, as it said: its plans are pending again, and no plan is to blame.
  void worker_left(int id);
  /// It is gone without a word. Its plans are pending again, but for those that have now lost
  /// max_attempts workers: these have failed, and are returned.
  std::vector<std::uint32_t> worker_lost(int id);
  void time_passed(double seconds) { clock_s_ += seconds; }

  /// It runs there, and has for `since_s`. Returns false if this is a speculative copy: another
  /// worker is at the plan already.
  bool plan_started(int id, std::uint32_t number, double since_s = 0);
  enum class Answer {
    first,
    repeated,  ///< another worker was first; the answers should be equal
    unknown    ///< nobody asked for it
  };
  /// The seconds that a plan is predicted to take this worker; NaN where nothing is known.
  [[nodiscard]] double predicted_s(int worker, std::uint32_t number) const;
  /// `seconds` is what the worker took.
  Answer plan_finished(int id, std::uint32_t number, double seconds);
  enum class Failure {
    final,
    to_be_tried_again,
    of_a_copy  ///< somebody else solved it, or it is nobody's plan
  };
  /// `may_pass`: another try, best elsewhere, may do better.
  Failure plan_failed(int id, std::uint32_t number, bool may_pass);
  /// Whether workers are on their way that have not joined yet. Until they have, a plan that failed
  /// waits for them rather than being tried again where it failed.
  void expect_more_workers(bool expected);
  /// The answer to a retraction: these plans, maybe none, come back unstarted.
  void plans_returned(int id, const std::vector<std::uint32_t>& plans);
  /// How much work a plan is expected to be, in cell updates.
  void set_work(std::uint32_t number, double updates);

  /// What is to be said now; the queue counts it as said. Nothing is handed out that would, as far
  /// as can be told, not end within `time_left_s`.
  [[nodiscard]] std::vector<Order> orders(
      double time_left_s = std::numeric_limits<double>::infinity());

  /// Its place in the list that the queue was made of; nothing where it is not in that.
  [[nodiscard]] std::optional<std::size_t> position(std::uint32_t number) const;
  /// True where every plan is answered or has failed.
  [[nodiscard]] bool all_finished() const { return unfinished_ == 0; }
  /// True while some worker has plans or late copies, so that another order may come without any
  /// news but theirs.
  [[nodiscard]] bool any_busy() const;
  /// How good the predictions of plans' times were, on all kinds of devices.
  [[nodiscard]] PredictionQuality prediction_quality() const;
  /// True where the plan is answered and somebody is still at it.
  [[nodiscard]] bool is_late_copy(std::uint32_t number) const;
  /// All failures of a plan so far, earlier sessions included.
  [[nodiscard]] std::int32_t failures(std::uint32_t number) const;
  /// Estimated seconds until the end, by what the latest plans took and those at hand have taken;
  /// NaN before the first result. O(n) for n kinds of devices and, up to 10,000, plans that workers
  /// have.
  [[nodiscard]] double seconds_left() const;

 private:
  enum class State : std::uint8_t { pending, leased, answered, failed };
  static constexpr int no_worker = -1;

  struct Worker;
  struct Lease {
    Worker* worker = nullptr;
    Lease* next = nullptr;  ///< another worker's lease of the plan
    double started_s = 0;   ///< on the queue's clock; given, where it is not running
    bool running = false;
  };
  /// There may be tens of millions of these: small members only.
  struct Plan {
    Lease* leases = nullptr;  ///< the first of all; late copies where it is finished
    float updates = 0;        ///< 0 where not known
    std::int32_t failures = 0;
    int failed_at = no_worker;  ///< the worker of the last failure: to be tried elsewhere
    std::uint16_t lost_workers = 0;
    State state = State::pending;
    [[nodiscard]] bool finished() const {
      return state == State::answered || state == State::failed;
    }
    [[nodiscard]] std::size_t holders() const;
  };
  struct Worker {
    int id = 0;
    std::size_t threads = 1;
    CostModel* cost = nullptr;                        ///< in costs_
    std::unordered_map<std::uint32_t, Lease> leases;  ///< of all that it has, late copies included
    std::size_t running = 0;                          ///< of its leases
    double mean_s = 0;  ///< moving average of its plans' seconds; 0 before the first
    double failed_s = -std::numeric_limits<double>::infinity();  ///< when a plan failed there last
    bool retracting = false;
    bool leaving = false;
    bool counted = false;      ///< in the sums and sets over all workers; else in changed_
    bool passed_over = false;  ///< it would take plans, and none was for it: it is in passed_over_
    [[nodiscard]] double speed() const;  ///< mean seconds a plan, infinite where not known
    [[nodiscard]] std::size_t load() const { return leases.size(); }
    [[nodiscard]] std::size_t waiting() const { return leases.size() - running; }
    [[nodiscard]] std::size_t idle() const {
      return !leaving && load() < threads ? threads - load() : 0;
    }
    /// How many plans it should have waiting.
    [[nodiscard]] std::size_t prefetch() const;
    /// How many more should wait there, where its threads have `count` more than its load.
    [[nodiscard]] std::size_t room(std::size_t count) const;
    /// How many of those waiting can be taken back.
    [[nodiscard]] std::size_t spare() const;
    [[nodiscard]] bool takes_more() const { return !passed_over && (idle() > 0 || room(0) > 0); }
  };
  struct FastestFirst {
    bool operator()(const Worker* a, const Worker* b) const {
      return std::pair(a->speed(), a->id) < std::pair(b->speed(), b->id);
    }
  };
  using WorkerSet = std::set<Worker*, FastestFirst>;
  struct Candidate {
    double left_s;
    std::uint32_t number;
    friend auto operator<=>(const Candidate&, const Candidate&) = default;
  };

  [[nodiscard]] Plan* find(std::uint32_t number);
  [[nodiscard]] const Plan* find(std::uint32_t number) const;
  [[nodiscard]] Plan& plan_of(std::uint32_t number) { return plans_[position_of_[number]]; }
  [[nodiscard]] Worker* find_worker(int id);
  [[nodiscard]] PendingPlans::Key key(const Plan& plan) const;
  [[nodiscard]] static double expected_s(const Plan& plan, const Worker& worker);
  [[nodiscard]] double left_s(const Plan& plan, const Lease& lease) const;
  [[nodiscard]] static double start_delay_s(const Worker& worker);
  /// Whether plans that failed there last are kept for others.
  [[nodiscard]] bool waits_for_others(const Worker& worker) const;
  void add_pending(Plan& plan);
  void remove_pending(Plan& plan);
  Lease& hold(std::uint32_t number, Plan& plan, Worker& worker);
  static void unlink(Plan& plan, const Lease& lease);
  void release(std::uint32_t number, Plan& plan, int id);
  void finish(Plan& plan, State state);
  void lease(std::uint32_t number, Worker& worker, Order& order);
  std::vector<std::uint32_t> remove_worker(int id, bool is_lost);

  void change(Worker& worker);
  void count_changed();
  void ask_again();

  [[nodiscard]] bool feed(double time_left_s, std::vector<Order>& orders);
  void assign(Worker& worker, std::size_t count, bool any_plan, double time_left_s,
              std::vector<Order>& orders);
  void retract_for_the_idle(std::vector<Order>& orders);
  void list_copyable();
  [[nodiscard]] Order copies_for(Worker& worker, double time_left_s);
  void copy_for_the_idle(double time_left_s, std::vector<Order>& orders);

  int max_attempts_;
  std::vector<Plan> plans_;                 ///< by position
  std::vector<std::uint32_t> numbers_;      ///< by position
  std::vector<std::uint32_t> position_of_;  ///< by number; not_here: not in this queue
  PendingPlans pending_;
  std::size_t unfinished_;
  double known_updates_ = 0;     ///< of unfinished plans
  std::size_t known_plans_ = 0;  ///< unfinished plans whose work is known

  std::map<std::string, CostModel> costs_;   ///< by device; references stay valid
  std::unordered_map<int, Worker> workers_;  ///< references stay valid
  bool more_are_expected_ = false;
  double clock_s_ = 0;
  std::size_t leases_ = 0;      ///< of all workers
  std::size_t retracting_ = 0;  ///< workers

  // orders() looks only at workers that changed, and finds the others it needs here.
  std::vector<int> changed_;
  std::size_t all_prefetch_ = 0;
  std::size_t all_spare_ = 0;
  std::size_t idle_threads_ = 0;  ///< of workers that were not passed over
  WorkerSet idle_;                ///< workers with idle threads
  WorkerSet unsaturated_;         ///< workers that take more
  std::vector<int> passed_over_;
  double asked_again_s_ = 0;
  double last_time_left_s_ = 0;

  /// Leased plans of which idle workers may get a copy, what takes longest from now first: those
  /// that one worker has, those that two have. They may have others by now.
  std::array<std::deque<Candidate>, 2> copyable_;
  double copyable_s_ = -std::numeric_limits<double>::infinity();  ///< when they were listed
};

}  // namespace wallheat
