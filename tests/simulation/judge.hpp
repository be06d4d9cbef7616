#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "queue/coordinator.hpp"
#include "simulation/world.hpp"

namespace wallheat {

/// The random parameters of a campaign.
struct Scene {
  QueueVector<TruePlan> plans;
  QueueVector<PlanQueue::InitialState> starts;
  unsigned lanes = 1;
  int max_attempts = 3;
  int slow = 0;                 ///< number of slow workers
  bool shares_process = false;  ///< all slots of a worker share one solver process
  bool faulty_workers = false, all_known = false;
  bool unreadable_plans = false;  ///< some plans cannot be read by any host
  std::set<int> bad_hosts{};      ///< workers that are on bad hosts
  double deadline_s = never, longest_s = 0, shortest_s = never;
};

/// Checks the coordinator: derives the required behaviour from the messages between rank 0 and the
/// network, and throws Violation if the coordinator deviates.
class Judge {
 public:
  Judge(const Scene& scene, const World& world, std::size_t ranks);

  void on_report(int from, WorkerReport report);
  void on_bye(int from, const Bye& bye);
  void on_incompatible(int from);
  void feed();
  void tick(double stalled_s);
  /// Checks the assignments and stop requests of the coordinator, and returns them to be sent.
  Coordinator::Outbox take_outbox();
  void check_end();
  [[nodiscard]] bool is_final(Plan plan) const { return plans_[plan].is_final; }
  [[nodiscard]] bool is_answered(Plan plan) const { return plans_[plan].is_answered; }

  Coordinator coordinator;
  double stop_s = never;

 private:
  struct PlanTruth {
    int attempts = 0, failures = 0, losses = 0, avoid = -1, first_by = 0;
    bool is_answered = false, is_final = false, is_forgotten = false;
    bool is_begun = false;  ///< an attempt has started, and no row is stored for it
    double last_s = 0;      ///< longest reported time of this attempt
    double open_s = never;  ///< time since which the plan has been queued
    int holding = 0;        ///< number of workers that have the plan
    double copied_s = 0;    ///< time of the last change of `holding`
    std::uint64_t digest = 0;
    std::set<int> compared{};  ///< workers whose results can be compared with the first
    [[nodiscard]] bool is_suspect() const { return failures + losses > 0; }
  };
  struct Given {
    Plan plan{};
    bool is_begun = false;
    double begun_s = -never;
  };
  struct WorkerTruth {
    bool has_sent_message = false, joined = false, overdue = false, lost = false, left = false;
    bool has_duration_model = false;
    bool has_solved = false, is_host_bad = false, is_excluded = false;
    int stops = 0;
    int host_errors = 0;           ///< consecutive failures that are evidence against its host
    double host_error_s = -never;  ///< time of the last system error since the last solved plan
    double last_message_s = 0, sent_s = 0, failed_s = -never, idle_since_s = never;
    std::vector<Given> given{};
    [[nodiscard]] bool is_expected() const { return !joined && !overdue && !left; }
    [[nodiscard]] bool is_at_work() const { return joined && !lost && !left; }
    [[nodiscard]] bool has(Plan plan) const {
      return std::any_of(given.begin(), given.end(),
                         [plan](const Given& each) { return each.plan == plan; });
    }
  };
  struct Expected {
    Event::Kind kind;
    int worker = 0;
    Plan plan{};
    int attempts = 0, failures = 0, first = 0;
    double predicted_s = 0;   ///< negative: unknown
    bool may_differ = false;  ///< the first result may be forgotten
  };

  [[nodiscard]] double awake_s() const { return world_.now - stalled_s_; }
  template <class Test>
  [[nodiscard]] int count(Test test) const {
    return static_cast<int>(std::count_if(workers_.begin() + 1, workers_.end(), test));
  }
  [[nodiscard]] int holders(Plan plan) const {
    return count([plan](const WorkerTruth& each) { return !each.lost && each.has(plan); });
  }
  void expect(Event::Kind kind, int worker, Plan plan = {}, double predicted_s = -1);
  void begin(int worker, Plan plan);
  void note(int worker, const std::vector<PlanProgress>& running);
  void give_back(int worker, Plan plan);
  void forget_first(Plan plan);
  void resolve(int worker, const TaskResult& result, double predicted_s);
  void lose(int worker);
  void on_host_error(int worker, const PlanTruth& plan);
  void on_solved(int worker, double begun_s);
  void exclude_if_bad(int worker);
  void take_events();
  void compare(const Event& event);
  void check_assignment(int to, Plan number);
  void check_worker(int number);
  void check_invariants();

  const Scene& scene_;
  const World& world_;
  QueueVector<PlanTruth> plans_;
  std::vector<WorkerTruth> workers_;
  std::deque<Expected> expected_;
  bool is_source_away_ = false, is_pace_known_ = false;
  double departure_s_ = 0;  ///< time since which no worker was lost or left
  double stalled_s_ = 0, stop_awake_s_ = 0, quiet_s_ = 0, copies_s_ = 0;
  double forgotten_s_ = 0;  ///< last time at which no unneeded first results were kept
};

}  // namespace wallheat
