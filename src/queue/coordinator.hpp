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
    int max_attempts = 3;   ///< retryable failures, or lost workers, before a plan is given up
    double silence_s = 30;  ///< then a worker counts as lost
    double start_s = 180;   ///< then one that has not spoken is given up
    double sign_s = 1;      ///< a worker hears from rank 0 no less often
    double stop_s = 10;     ///< how long a stop waits for the last words
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
  /// What it says cannot be understood: nothing from it counts any more.
  void refuse(int worker, const std::string& reason, double now_s) {
    heard(worker, Bye{Bye::Why::refused, reason}, now_s);
  }
  /// Gives plans to workers that have spoken since the last call.
  void feed(double now_s);
  /// To be called several times a second. `slept_s`: how long this process itself was held up, so
  /// that nobody's silence counts.
  void tick(double now_s, double time_left_s, double slept_s = 0);
  void ask_to_stop(const std::string& why, RunEnd end);
  void set_updates(PlanQueue::Plan plan, double updates) { queue_.set_updates(plan, updates); }

  /// After a stop it is known once all workers have left or have had time to: what they say until
  /// then counts.
  [[nodiscard]] std::optional<RunEnd> end() const;
  /// Once, at an end other than `finished`: events for what was being solved.
  void record_abandoned();
  /// Why the last worker was lost, or left: a sentence for a run that has nobody left.
  [[nodiscard]] const std::string& last_reason() const { return last_reason_; }
  [[nodiscard]] const PlanQueue& queue() const { return queue_; }
  /// How many digests are kept, as other answers may come.
  [[nodiscard]] std::size_t kept() const { return first_answers_.size(); }

  Outbox outbox;

 private:
  enum class Stage : std::uint8_t {
    expected,  ///< it may be ready soon
    overdue,   ///< it is not waited for any more; it may come yet
    working,
    silent,
    left
  };
  struct Rank {
    Stage stage = Stage::expected;
    bool listens = false;     ///< it has spoken, and was not given up since
    bool has_spoken = false;  ///< since it was fed: it is in spoken_
    double heard_s = 0;       ///< by the clock that stands while this process is held up
    double sent_s = 0;
    WorkerPointer info;
  };
  /// An attempt that no row tells of yet.
  struct Attempt {
    int worker = 0;
    PlanProgress last;
  };
  struct Answer {
    int worker = 0;
    std::uint64_t digest = 0;
  };

  [[nodiscard]] Rank& at(int worker) { return ranks_.at(static_cast<std::size_t>(worker)); }
  [[nodiscard]] std::size_t count(Stage stage) const {
    return counts_.at(static_cast<std::size_t>(stage));
  }
  void set_time(double now_s);
  void move(Rank& rank, Stage stage);
  Event& tell(Event::Kind kind, int worker);
  Event& tell(Event::Kind kind, int worker, PlanQueue::Plan plan);
  void join(int worker, WorkerReport& report);
  void note(int worker, const std::vector<PlanProgress>& running);
  void start(int worker, PlanQueue::Plan plan);
  void take(int worker, Result& result);
  void take_answer(int worker, Result& result);
  void give(int worker, bool at_last = false);
  void watch(int worker);
  void lose(int worker, Stage stage, const std::string& what, double seconds);
  void remember(const std::string& reason);
  void end_if_nothing_fits();

  Options options_;
  PlanQueue queue_;
  std::vector<Rank> ranks_;              ///< by number; the first is not used
  std::array<std::size_t, 5> counts_{};  ///< of ranks, by stage
  std::vector<int> spoken_;
  std::unordered_map<PlanQueue::Plan, Attempt> attempts_;
  std::unordered_map<PlanQueue::Plan, Answer> first_answers_;  ///< others of these may come
  std::string last_reason_;
  std::string source_away_;  ///< why a worker cannot read the plans; empty if all can
  bool any_was_ready_ = false;
  double now_s_ = 0, slept_s_ = 0, awake_s_ = 0;  ///< the first is the sum of the others
  double looked_s_ = 0, stop_s_ = 0;
  double deadline_s_ = std::numeric_limits<double>::infinity();
  std::optional<RunEnd> stop_;
};

}  // namespace wallheat
