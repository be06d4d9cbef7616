#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

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

/// Decides which worker solves which plan. A pure state machine: events go in, orders come out; it
/// knows no clock, no messages and no files.
///
/// A plan is pending, leased (waiting at a worker, then running) or finished. Each worker has as
/// many plans running as it has threads and some more waiting, so that it never waits for an
/// answer; short plans wait in larger numbers. When nothing is pending, plans that wait behind a
/// busy worker are recalled for an idle one.
class WorkQueue {
 public:
  /// Takes the plans in the order in which they should be started.
  explicit WorkQueue(const std::vector<std::uint32_t>& plans);

  // Events. Each is tolerant of what a late or repeated message may say.
  void worker_joined(int worker, std::size_t threads);
  /// Its plans are pending again. Returns those that were running or waiting there.
  std::vector<std::uint32_t> worker_left(int worker);
  void plan_started(int worker, std::uint32_t plan);
  /// Returns false where the plan was finished already: the caller drops the result.
  bool plan_finished(int worker, std::uint32_t plan, double seconds);
  /// The answer to a recall: these plans, maybe none, come back unstarted.
  void plans_returned(int worker, const std::vector<std::uint32_t>& plans);

  /// What is to be said now; the queue counts it as said.
  [[nodiscard]] std::vector<Order> orders();

  [[nodiscard]] bool all_finished() const { return unfinished_ == 0; }
  /// Estimated seconds until the end at the present rate; NaN before the first result.
  [[nodiscard]] double seconds_left() const;

 private:
  enum class State : std::uint8_t { pending, waiting, running, finished };
  struct Plan {
    State state = State::pending;
    int worker = -1;
  };
  struct Worker {
    std::size_t threads = 1;
    std::size_t waiting = 0;
    std::size_t running = 0;
    double mean_s = 0;  ///< moving average of its plans' seconds; 0 before the first
    bool recalling = false;
    [[nodiscard]] std::size_t load() const { return waiting + running; }
    [[nodiscard]] std::size_t idle() const { return load() < threads ? threads - load() : 0; }
    /// How many plans it should have waiting.
    [[nodiscard]] std::size_t prefetch() const;
  };

  void unlease(Plan& plan);
  void put_back(std::uint32_t plan);
  [[nodiscard]] Order assign(int worker, std::size_t count);
  void recall_for_the_idle(std::vector<Order>& orders);

  std::deque<std::uint32_t> pending_;
  std::unordered_map<std::uint32_t, Plan> plans_;
  std::map<int, Worker> workers_;
  std::size_t unfinished_;
};

}  // namespace wallheat
