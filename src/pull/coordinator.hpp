#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pull/event.hpp"
#include "pull/messages.hpp"
#include "pull/plan_queue.hpp"

namespace wallheat::pull {

/// How a run has ended.
enum class RunEnd {
  finished,
  interrupted,  ///< it was asked to stop
  out_of_time,  ///< the time limit was reached, or nothing that is left fits in
  source_away,  ///< the plans cannot be read for the time being
  nobody_left   ///< no worker came, or all have left or are silent; why: last_reason()
};

/// Rank 0 without I/O: messages and time go in; plans for workers and events, in true order, come
/// out. One loop drives it over MPI and in one process, another in the simulation: it takes in all
/// messages that are at hand, then has those fed that have spoken.
class Coordinator {
 public:
  struct Options {
    int max_attempts = 3;   ///< failures that may pass, or lost workers, before a plan is given up
    double silence_s = 30;  ///< then a worker counts as lost
    double start_s = 180;   ///< then one that has not spoken is not waited for
    double sign_s = 1;      ///< a worker hears from rank 0 no less often
    double stop_s = 10;     ///< so long a stop waits for the last words
  };
  struct Outbox {  ///< emptied by whoever drives
    /// The plans that a worker gets, the longest first; none: a sign of life.
    std::vector<std::pair<int, std::vector<PlanQueue::Plan>>> work;
    std::vector<int> stops;
    std::vector<Event> events;
  };

  /// `workers` have the numbers from 1 on. Times are seconds of one clock that begins at 0.
  Coordinator(const std::vector<PlanQueue::Start>& plans, int workers, const Options& options);

  void heard(int worker, WorkerReport report, double now_s);
  void heard(int worker, const Bye& bye, double now_s);
  /// Plans for those that have spoken since the last time. To be left out while storing is far
  /// behind.
  void feed(double now_s);
  /// To be called several times a second; `slept_s`: this process itself was held up for so long,
  /// so nobody's silence counts.
  void tick(double now_s, double time_left_s, double slept_s = 0);
  void ask_to_stop(const std::string& why, RunEnd end);
  void set_updates(PlanQueue::Plan plan, double updates) { queue_.set_updates(plan, updates); }

  /// After a stop, once all have left or have had time to: what they say till then counts.
  [[nodiscard]] std::optional<RunEnd> end() const;
  /// Once, at an end other than `finished`: events for what was being solved.
  void record_abandoned();
  /// Why the last worker was lost, or left.
  [[nodiscard]] const std::string& last_reason() const;
  [[nodiscard]] const PlanQueue& queue() const { return queue_; }
  /// Digests that are kept, as other answers may come.
  [[nodiscard]] std::size_t kept() const;

  Outbox outbox;

 private:
  PlanQueue queue_;
};

}  // namespace wallheat::pull
