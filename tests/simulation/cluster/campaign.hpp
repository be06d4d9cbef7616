#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "queue/coordinator.hpp"
#include "simulation/cluster/options.hpp"
#include "simulation/cluster/world.hpp"
#include "simulation/outcome.hpp"
#include "simulation/random.hpp"
#include "view/run_monitor.hpp"

namespace wallheat::simulation {

/// What a plan really is.
struct TruePlan {
  enum class Sort { good, bad_input, deadly, endless, worker_killer };
  Sort sort = Sort::good;
  Seconds seconds = 0;  ///< on the fastest kind of device
  bool stored_otherwise = false;
};

/// The campaign as it really is: its plans, what a disk keeps of it from session to session, and
/// what was really done. Every promise is checked against this.
class Campaign {
 public:
  Campaign(std::uint64_t seed, const Options& options, Reached& reached);

  struct Row {
    PlanStatus status = PlanStatus::pending;
    std::int32_t attempts = 0;
    std::int32_t failures = 0;
    double value = 0;
    std::string error;
  };

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const std::vector<TruePlan>& plans() const { return plans_; }
  [[nodiscard]] static double true_value(std::uint32_t plan) { return 10.0 + plan; }
  [[nodiscard]] static std::string id(std::uint32_t plan) { return "p" + std::to_string(plan); }

  /// As a resume finds them.
  [[nodiscard]] std::vector<QueuedPlan> plans_to_solve() const;
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

  // What happens.
  void job_called(std::uint32_t plan) { ++jobs_.at(plan); }
  void answer_given(std::uint32_t plan, double value, Seconds time);
  /// When the last plan was answered for the first time.
  [[nodiscard]] Seconds last_first_answer_s() const { return last_first_answer_s_; }
  /// Onto the disk, all at once.
  std::vector<PlanResult> keep(std::span<const PlanResult> results);
  void acknowledge(const PlanResult& result);

  /// Nothing makes a worker leave or fall silent but its own death.
  [[nodiscard]] bool all_workers_stay() const;
  /// Nothing but plans that kill their solver process makes a plan fail.
  [[nodiscard]] bool only_deadly_plans_fail() const;
  void reached(const std::string& state) { ++reached_[state]; }
  /// The first violation counts.
  void violated(const std::string& invariant, const std::string& details);
  [[nodiscard]] const std::optional<Violation>& violation() const { return violation_; }

 private:
  void check(const PlanResult& result, const Row& before);

  Options options_;
  Reached& reached_;
  std::vector<TruePlan> plans_;
  std::vector<Row> rows_;
  std::vector<std::int32_t> jobs_;         ///< how often a solver thread was given each plan
  std::vector<std::set<double>> answers_;  ///< that some worker gave
  Seconds last_first_answer_s_ = 0;
  std::optional<Violation> violation_;
};

/// Looks at one session from rank 0's side: stores for it, and hears what it tells.
class Witness : public ResultSink {
 public:
  Witness(Campaign& campaign, Process& rank0, Random random, bool with_faults);

  std::vector<PlanResult> store(std::span<const PlanResult> results) override;
  void hear(const Event& event);

  /// From now on a monitor hears all that the witness hears, and is to count the same.
  void hear_with(RunMonitor& monitor) { monitor_ = &monitor; }
  void hang_disk_until(Seconds time) { disk_hangs_until_ = std::max(disk_hangs_until_, time); }
  /// Those that rank 0 gives plans, as it has told, and since when.
  [[nodiscard]] const std::map<int, Seconds>& at_work() const { return ready_; }
  [[nodiscard]] Seconds disk_hangs_until() const { return disk_hangs_until_; }
  [[nodiscard]] bool finished(std::uint32_t plan) const { return stored_.contains(plan); }
  [[nodiscard]] bool refused(int rank) const { return gone_.contains(rank); }
  /// When it was heard that each worker was ready.
  [[nodiscard]] const std::map<int, Seconds>& ready_s() const { return ready_s_; }

 private:
  void worker_ready(int rank);
  void leased(int rank, const Task& task);
  void stored(const PlanResult& result);
  void repeated(const PlanResult& result);
  void failed_try(const PlanResult& result);
  void conflict(const PlanResult& failed);
  void worker_left(int rank, const std::string& reason);
  void worker_lost(const WorkerInfo& worker, double silent_s);
  void tick(double seconds_left);
  void expect(bool kept, const char* invariant, const std::string& details);

  Campaign& campaign_;
  Process& rank0_;
  Random random_;
  bool with_faults_;
  RunMonitor* monitor_ = nullptr;
  std::map<int, Seconds> ready_;  ///< workers that get work, since when
  std::set<int> gone_;            ///< for good
  std::map<std::uint32_t, std::set<int>> leased_;
  /// The worker of its last failure, and when.
  std::map<std::uint32_t, std::pair<int, Seconds>> failed_at_;
  Seconds disk_hangs_until_ = 0;
  /// Plans that were handed to whom they failed at, unless they have failed elsewhere since, of
  /// which the same batch tells later.
  std::map<std::uint32_t, std::string> doubts_;
  std::map<int, std::set<std::uint32_t>> runs_;  ///< what each worker has started
  std::map<std::uint32_t, int> lost_workers_;    ///< that were at a plan
  std::set<std::uint32_t> stored_;
  std::set<std::uint32_t> answered_;
  std::set<std::uint32_t> conflicts_;
  bool stopping_ = false;
  std::map<int, Seconds> ready_s_;
};

}  // namespace wallheat::simulation
