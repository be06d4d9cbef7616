#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "wallheat/cost_model.hpp"

namespace wallheat {

/// What the queue wants a worker to be told.
struct Order {
  enum class Kind { assign, recall };
  Kind kind = Kind::assign;
  int worker = 0;
  std::vector<std::uint32_t> plans;  ///< assign: solve these, in this order
  std::size_t count = 0;             ///< recall: give back up to this many that were not started
  friend bool operator==(const Order&, const Order&) = default;
};

/// When the queue gives up on a plan or a worker.
struct QueueRules {
  int max_attempts = 3;          ///< failures that may pass, or lost workers, a plan may cost
  double worker_timeout_s = 30;  ///< a worker that says nothing for so long is lost
};

/// Decides which worker solves which plan. A pure state machine: events go in, orders come out; it
/// knows no messages and no files, and time only as what it is told has passed.
///
/// A plan is pending, leased (waiting at a worker, then running) or finished. Longest plans go
/// first, as far as they are known (see set_work). Each worker has as many plans running as it has
/// threads and some more waiting, so that it never waits for an answer; short plans wait in larger
/// numbers. When nothing is pending, plans that wait behind a busy worker are recalled for an idle
/// one; when nothing waits either, idle workers get copies of what others are still at. Workers may
/// be of several kinds, as fast as they like: each kind's times are learnt on their own, so that
/// batches, time limits and the end of the run follow each worker's own pace.
class WorkQueue {
 public:
  struct Item {
    std::uint32_t plan = 0;
    std::int32_t failures = 0;  ///< of earlier sessions
  };
  /// Takes the plans in the order in which they should be started, other things being equal.
  explicit WorkQueue(const std::vector<Item>& plans, QueueRules rules = {});
  WorkQueue(WorkQueue&&) = default;

  // Events. Each is tolerant of what a late or repeated message may say.

  /// `kind` names its device: devices of one name are of one speed.
  void worker_joined(int worker, std::size_t threads, const std::string& kind = {});
  /// It says good-bye: its plans are pending again, and no plan is to blame.
  void worker_left(int worker);
  /// It is gone without a word. Its plans are pending again, but for those that have now lost
  /// max_attempts workers: these are finished, and returned.
  std::vector<std::uint32_t> worker_lost(int worker);
  /// It said something.
  void worker_heard(int worker);
  /// So much time passed in which messages were taken in. Returns the workers that were silent for
  /// too long.
  std::vector<int> time_passed(double seconds);

  /// Returns false where this is a copy: another worker is at the plan already.
  bool plan_started(int worker, std::uint32_t plan);
  enum class Answer {
    first,
    repeated,  ///< another worker was first; the answers should be equal
    unknown    ///< nobody asked for it
  };
  Answer plan_finished(int worker, std::uint32_t plan, double seconds);
  enum class Failure {
    final,
    to_be_tried_again,
    of_a_copy  ///< somebody else solved it, or it is nobody's plan
  };
  /// `may_pass`: another try, best elsewhere, may do better.
  Failure plan_failed(int worker, std::uint32_t plan, bool may_pass);
  /// The answer to a recall: these plans, maybe none, come back unstarted.
  void plans_returned(int worker, const std::vector<std::uint32_t>& plans);
  /// How much work a plan is expected to be, in cell updates.
  void set_work(std::uint32_t plan, double updates);

  /// What is to be said now; the queue counts it as said. Nothing is handed out that would, as far
  /// as can be told, not end within `time_left_s`.
  [[nodiscard]] std::vector<Order> orders(
      double time_left_s = std::numeric_limits<double>::infinity());

  [[nodiscard]] bool all_finished() const { return unfinished_ == 0; }
  /// Plans waiting or running somewhere.
  [[nodiscard]] std::size_t leased() const { return unfinished_ - pending_.size(); }
  /// How good the predictions of plans' times were, on all kinds of devices.
  [[nodiscard]] PredictionQuality prediction_quality() const;
  /// True where some worker has the plan, be it finished or not.
  [[nodiscard]] bool is_held(std::uint32_t plan) const { return held_.contains(plan); }
  /// All failures of a plan so far, earlier sessions included.
  [[nodiscard]] std::int32_t failures(std::uint32_t plan) const;
  /// Estimated seconds until the end at the present rate; NaN before the first result.
  [[nodiscard]] double seconds_left() const;

 private:
  enum class State : std::uint8_t { pending, leased, finished };
  struct Holder {
    int worker = 0;
    bool running = false;
    double started_s = 0;  ///< on the queue's clock
  };
  struct Plan {
    State state = State::pending;
    std::uint32_t position = 0;
    std::int32_t failures = 0;
    std::int32_t lost_workers = 0;
    int failed_at = -1;  ///< the worker of the last failure: to be tried elsewhere
    double updates = 0;  ///< 0 where not known
    std::vector<Holder> holders;
  };
  struct Worker {
    std::size_t threads = 1;
    CostModel* cost = nullptr;  ///< its kind's, in costs_
    std::size_t waiting = 0;
    std::size_t running = 0;
    double mean_s = 0;  ///< moving average of its plans' seconds; 0 before the first
    bool recalling = false;
    double silent_s = 0;
    [[nodiscard]] std::size_t load() const { return waiting + running; }
    [[nodiscard]] std::size_t idle() const { return load() < threads ? threads - load() : 0; }
    /// How many plans it should have waiting.
    [[nodiscard]] std::size_t prefetch() const;
  };
  /// Orders the pending plans: untroubled before failed, long before short.
  using Key = std::tuple<std::int32_t, double, std::uint32_t, std::uint32_t>;

  [[nodiscard]] static Key key(std::uint32_t number, const Plan& plan);
  [[nodiscard]] static double expected_s(const Plan& plan, const Worker& worker);
  [[nodiscard]] double left_s(const Plan& plan, const Holder& holder) const;
  [[nodiscard]] std::vector<int> fastest_first() const;
  [[nodiscard]] double start_delay_s(const Worker& worker) const;
  void put_back(std::uint32_t number, Plan& plan);
  void release(std::uint32_t number, Plan& plan, int worker);
  void finish(std::uint32_t number, Plan& plan);
  [[nodiscard]] std::vector<std::uint32_t> held_by(int worker) const;
  void lease(std::uint32_t number, int worker, Order& order);
  void assign(int worker, std::size_t count, double time_left_s, std::vector<Order>& orders);
  void recall_for_the_idle(std::vector<Order>& orders);
  void copy_for_the_idle(std::vector<Order>& orders, double time_left_s);

  QueueRules rules_;
  std::set<Key> pending_;
  std::unordered_map<std::uint32_t, Plan> plans_;
  std::unordered_set<std::uint32_t> held_;  ///< plans with holders, finished ones included
  std::map<int, Worker> workers_;
  std::size_t unfinished_;
  std::map<std::string, CostModel> costs_;  ///< by kind of device; references stay valid
  double known_updates_ = 0;                ///< of unfinished plans
  std::size_t known_plans_ = 0;             ///< unfinished plans whose work is known
  double clock_s_ = 0;
};

}  // namespace wallheat
