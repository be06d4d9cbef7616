#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "queue/pace.hpp"

namespace wallheat {

/// Who solves what: a state machine without clock, messages and files.
///
/// A plan is open, held, answered or failed. Workers pull: whenever one has spoken, give() says
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
  using Plan = std::uint32_t;
  struct Start {
    float updates = 0;  ///< 0: not known yet
    int attempts = 0;   ///< of earlier sessions
    int failures = 0;
  };
  /// A plan fails for good after `max_attempts` failures that may pass, or lost workers (255 at
  /// most).
  PlanQueue(const std::vector<Start>& plans, int max_attempts);

  // Events. What concerns an unknown plan, or a worker that has not joined, is ignored.

  /// By a clock that goes on; to be called before other events.
  void set_time(double now_s) { now_s_ = now_s; }
  void set_updates(Plan plan, double updates);
  /// While others are on their way, a plan that failed waits for them rather than being tried again
  /// where it failed.
  void expect_more(bool expected) { more_are_expected_ = expected; }
  /// A worker is ready, back, or has another device: it keeps what it was given. `shares_process`:
  /// its lanes share a process, so that a plan that kills it takes others along. `kind`: devices of
  /// one kind are of one speed.
  void joined(int worker, unsigned lanes, bool shares_process, const std::string& kind);
  /// What a silent worker holds is open to others, too. Returns the plans that have failed now, as
  /// too many workers fell silent with them.
  std::vector<Plan> silent(int worker);
  /// It has said that it leaves, so no plan is to blame.
  void gone(int worker);
  /// It has begun with what it was given: an attempt, unless another worker is at it. Returns false
  /// if that is no news.
  bool started(int worker, Plan plan);
  enum class Outcome { first, second, again, failed };
  Outcome answered(int worker, Plan plan, double seconds);
  Outcome failed(int worker, Plan plan, bool retryable);
  /// It comes back unsolved; `shaken`: it was in a process that died with several plans.
  void returned(int worker, Plan plan, bool shaken);

  /// What a worker is to solve now; maybe copies of what others hold. `at_last`: also plans that
  /// failed there and should go elsewhere.
  [[nodiscard]] std::vector<Plan> give(int worker, double time_left_s, bool at_last = false);

  [[nodiscard]] bool has(Plan plan) const { return plan < plans_.size(); }
  [[nodiscard]] bool finished() const { return unfinished_ == 0; }
  [[nodiscard]] bool any_held() const { return leases_ > 0; }
  [[nodiscard]] std::size_t open() const { return open_; }
  /// A worker holds it, and may answer.
  [[nodiscard]] bool is_held(Plan plan) const { return plans_[plan].holders > 0; }
  /// Over all sessions, as are failures.
  [[nodiscard]] int attempts(Plan plan) const { return plans_[plan].attempts; }
  [[nodiscard]] int failures(Plan plan) const { return plans_[plan].failures; }
  /// NaN if nothing is known.
  [[nodiscard]] double predicted_s(int worker, Plan plan) const;
  /// Until the end, by what the latest plans took and those at hand have taken. NaN before the
  /// first result.
  [[nodiscard]] double seconds_left() const;

 private:
  enum class State : std::uint8_t { open, held, answered, failed };
  static constexpr Plan none = std::numeric_limits<Plan>::max();
  /// There may be tens of millions of these: 24 bytes.
  struct Entry {
    float updates = 0;
    int avoid = -1;                    ///< where it failed last
    Plan before = none, after = none;  ///< in its line, while it is open
    std::uint16_t attempts = 0, failures = 0;
    std::uint8_t losses = 0;
    std::uint8_t holders = 0;  ///< that are not silent
    std::uint8_t running = 0;  ///< of these, have started
    State state = State::open;
    [[nodiscard]] int troubles() const { return failures + losses; }
    [[nodiscard]] bool is_finished() const { return state >= State::answered; }
  };
  /// Open plans with as many troubles whose updates are equal within 1 %.
  struct Line {
    Plan first = none, last = none;
  };
  struct Lease {
    Plan plan;
    float end_s;  ///< when it is expected to be answered
    float started_s = -1;
    [[nodiscard]] bool has_started() const { return started_s >= 0; }
  };
  struct Worker {
    unsigned lanes = 0;  ///< 0: it is not here
    bool shares_process = false, silent = false;
    Pace* pace = nullptr;       ///< of its kind
    std::vector<Lease> leases;  ///< in the order in which they were given
    double mean_s = 0;          ///< what its latest plans took
    double failed_s = -std::numeric_limits<double>::infinity();  ///< when a plan failed there last
    [[nodiscard]] std::size_t index_of(Plan plan) const;         ///< in leases
    [[nodiscard]] bool holds(Plan plan) const { return index_of(plan) < leases.size(); }
  };
  struct Forecast;

  /// The lines' order: least troubled first, then the longest; unknown lengths last.
  [[nodiscard]] static std::uint32_t line(int troubles, float updates);
  [[nodiscard]] std::uint32_t line(Plan plan) const {
    return line(plans_[plan].troubles(), plans_[plan].updates);
  }
  [[nodiscard]] Plan first_from(std::uint32_t line) const;
  void open(Plan plan);
  void close(Plan plan);
  [[nodiscard]] bool is_finished(Plan plan) const { return plans_[plan].is_finished(); }
  [[nodiscard]] Worker* find(int id);
  [[nodiscard]] const Worker* find(int id) const;
  void count_holder(const Lease& lease);
  void discount_holder(const Lease& lease);
  bool start(Lease& lease);
  void hold(Worker& worker, Plan plan);
  bool release(Worker* worker, Plan plan);
  void finish(Plan plan, State state);
  /// Makes a change that may give the plan another line.
  template <class Change>
  void change(Plan plan, Change make);
  [[nodiscard]] std::size_t wanted(const Worker& worker) const;
  void give_open(int id, Worker& worker, std::size_t most, double time_left_s, bool at_last,
                 std::vector<Plan>& chosen);
  [[nodiscard]] bool is_copyable(Plan plan) const;
  void list_copyable();
  void give_copies(Worker& worker, double time_left_s, std::vector<Plan>& chosen);

  int max_attempts_;
  std::vector<Entry> plans_;
  std::map<std::uint32_t, Line> lines_;            ///< none of them empty
  std::map<std::string, Pace> paces_;              ///< by kind
  std::vector<Worker> workers_;                    ///< by id
  std::vector<std::pair<double, Plan>> copyable_;  ///< held plans, the best to copy last
  double copyable_s_ = -std::numeric_limits<double>::infinity();  ///< when they were listed
  double now_s_ = 0;
  std::size_t open_ = 0, unfinished_ = 0;
  std::size_t leases_ = 0;  ///< of workers that are not silent
  std::size_t here_ = 0;    ///< workers
  double all_lanes_ = 0;
  std::size_t known_ = 0;  ///< unfinished plans whose updates are known
  double updates_ = 0;     ///< of these
  bool more_are_expected_ = false;
};

}  // namespace wallheat
