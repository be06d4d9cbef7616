#include "simulation/cluster/child.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <mutex>
#include <utility>

#include "isolation/plan_job.hpp"
#include "wallheat/error.hpp"

namespace wallheat::simulation {
namespace {

constexpr Seconds begin_s = 0.0005;
constexpr int most_lanes = 8;

/// The process itself, which events of the world refer to after the worker has let go of it.
class SolverSimulation : public std::enable_shared_from_this<SolverSimulation> {
 public:
  SolverSimulation(Campaign& campaign, Process& process, const TrueWorker& worker, Random random,
                   std::function<void()> die, JobSettings settings)
      : campaign_(campaign),
        process_(process),
        worker_(worker),
        random_(random),
        die_(std::move(die)),
        settings_(std::move(settings)),
        lanes_(settings_.lanes == 0 ? 2 : settings_.lanes),
        said_(most_lanes),
        changed_(process.make_condition()) {}

  void load() {
    const Options& options = campaign_.options();
    const Seconds time = random_.exponential(options.start_s);
    if (worker_.faults && random_.chance(options.start_hangs)) {
      campaign_.reached("a solver process never gets ready");
      return;
    }
    if (worker_.faults && random_.chance(options.start_deaths)) {
      campaign_.reached("a solver process dies while it loads");
      return in(time, [this] { end("was killed by SIGKILL"); });
    }
    in(time, [this] { say(0, Ready{settings_.host, settings_.device, lanes_, {}}); });
  }

  void take(std::size_t lane, const Task& task) {
    in(begin_s, [this, lane, task] { begin(lane, task); });
  }

  SolverEvent wait(std::size_t lane, const std::stop_token& stop, SilenceLeft& left) {
    std::unique_lock lock(mutex_);
    const auto begun = process_.now();
    const auto timeout = std::isinf(left.count())
                             ? Runtime::Clock::duration::max()
                             : std::chrono::duration_cast<Runtime::Clock::duration>(
                                   left + std::chrono::nanoseconds(1));
    const bool any =
        changed_->wait_for(lock, stop, std::max(timeout, Runtime::Clock::duration(0)),
                           [&] { return !said_.at(lane).empty() || !ending_.empty(); });
    left -= process_.now() - begun;
    if (!said_.at(lane).empty()) {
      FromWorker message = std::move(said_.at(lane).front());
      said_.at(lane).pop_front();
      return message;
    }
    if (any) return Died{ending_};
    if (stop.stop_requested()) return Stopped{};
    return TimedOut{};
  }

  void end(const std::string& how) {
    if (!ending_.empty()) return;
    ending_ = how;
    changed_->notify();
  }

 private:
  /// Unless it has ended by then.
  template <class Action>
  void in(Seconds time, Action action) {
    World& world = process_.world();
    world.at(world.now() + time, [self = shared_from_this(), action] {
      if (self->ending_.empty()) action();
    });
  }

  void say(std::size_t lane, FromWorker message) {
    // As the bytes that it would be.
    said_.at(lane).push_back(decode_from_worker(encode(message)));
    changed_->notify();
  }

  void fail(std::size_t lane, const Task& task, const std::string& reason, bool may_pass) {
    PlanResult result = pending_result(settings_, task);
    result.status = PlanStatus::failed;
    result.error = fmt::format("plan {}: {}", task.id, reason);
    result.may_pass = may_pass;
    say(lane, WorkerReport{{}, {result}});
  }

  void answer(std::size_t lane, const Task& task, Seconds took) {
    PlanResult result = pending_result(settings_, task);
    result.status = PlanStatus::converged;
    result.statistics.mean_temp = Campaign::true_value(task.index);
    if (worker_.lies && random_.chance(0.5)) {
      campaign_.reached("a device lies");
      result.statistics.mean_temp += 1;
    }
    if (worker_.stranger) result.statistics.mean_temp += 1000;
    result.iterations = 100;
    result.seconds = took;
    campaign_.answer_given(task.index, result.statistics.mean_temp, process_.world().now());
    say(lane, WorkerReport{{}, {result}});
  }

  /// What nobody has asked for: a message out of place, or the answer to another plan.
  void babble(std::size_t lane, const Task& task) {
    if (random_.chance(0.5)) return say(lane, Leaving{});
    PlanResult result = pending_result(settings_, {task.index + 1, "another"});
    result.status = PlanStatus::converged;
    say(lane, WorkerReport{{}, {result}});
  }

  /// The same progress again and again.
  void repeat(std::size_t lane, std::uint32_t plan) {
    in(campaign_.options().plan_s, [this, lane, plan] {
      say(lane, Heartbeat{{{plan, 1, 0.5, 1}}});
      repeat(lane, plan);
    });
  }

  void begin(std::size_t lane, const Task& task) {
    const Options& options = campaign_.options();
    World& world = process_.world();
    PlanResult away = pending_result(settings_, task);
    say(lane, WorkerReport{{task.index}, {}});
    if (world.now() >= worker_.source_away_from) {
      campaign_.reached("the plans are out of reach");
      away.error = "the plans are out of reach";
      return in(begin_s, [this, lane, away] { say(lane, WorkerReport{{}, {away}}); });
    }
    const Seconds takes =
        plan_seconds(campaign_, worker_, task.index) * (1 + 0.02 * random_.fraction());
    const Seconds some = takes * random_.fraction();
    const auto strikes = [&](double probability, const char* state) {
      const bool struck = worker_.faults && random_.chance(probability);
      if (struck) campaign_.reached(state);
      return struck;
    };
    switch (campaign_.plans().at(task.index).sort) {
      case TruePlan::Sort::good:
        break;
      case TruePlan::Sort::bad_input:
        campaign_.reached("a plan's input is bad");
        return in(begin_s, [this, lane, task] { fail(lane, task, "bad input", false); });
      case TruePlan::Sort::deadly:
        campaign_.reached("a plan kills its solver process");
        return in(some, [this] { end("was killed by SIGSEGV"); });
      case TruePlan::Sort::endless:
        campaign_.reached("a plan makes no progress");
        return repeat(lane, task.index);
      case TruePlan::Sort::worker_killer:
        if (!worker_.faults) break;
        campaign_.reached("a plan kills its worker");
        return in(some, [this] { die_(); });
    }
    if (strikes(options.solver_deaths, "a solver process dies by chance"))
      return in(some, [this] { end("was killed by SIGKILL"); });
    if (strikes(options.solver_hangs, "a solver process hangs by chance")) return;
    if (strikes(options.solver_babble, "a solver process says the wrong thing"))
      return in(some, [this, lane, task] { babble(lane, task); });
    if (strikes(options.device_faults, "a device fails"))
      return in(some, [this, lane] { say(lane, Farewell{"its device failed", false}); });
    if (strikes(options.passing_failures, "a plan fails by chance"))
      return in(some, [this, lane, task] { fail(lane, task, "not enough memory", true); });
    Seconds step = takes / 3;
    if (settings_.plan_timeout_s > 0)
      step = std::max({std::min({step, 0.25, settings_.plan_timeout_s / 4}), takes / 100, 1e-6});
    for (int k = 1; k * step < takes; ++k)
      in(k * step, [this, lane, index = task.index, k, step] {
        say(lane, Heartbeat{{{index, k, 0.5, k * step}}});
      });
    in(takes, [this, lane, task, takes] { answer(lane, task, takes); });
  }

  Campaign& campaign_;
  Process& process_;
  const TrueWorker& worker_;
  Random random_;
  std::function<void()> die_;
  JobSettings settings_;
  std::uint32_t lanes_;
  std::mutex mutex_;
  std::vector<std::deque<FromWorker>> said_;  ///< by lane
  std::string ending_;
  std::unique_ptr<Runtime::Condition> changed_;
};

class SimulatedSolver : public SolverChild {
 public:
  explicit SimulatedSolver(std::shared_ptr<SolverSimulation> simulation)
      : simulation_(std::move(simulation)) {
    simulation_->load();
  }
  SimulatedSolver(const SimulatedSolver&) = delete;
  SimulatedSolver& operator=(const SimulatedSolver&) = delete;
  ~SimulatedSolver() override { simulation_->end("was killed at the end"); }
  void send(std::size_t lane, const Bytes& message) override {
    const ToWorker decoded = decode_to_worker(message);
    simulation_->take(lane, std::get<Assign>(decoded).tasks.at(0));
  }
  SolverEvent wait(std::size_t lane, const std::stop_token& stop, SilenceLeft& left) override {
    return simulation_->wait(lane, stop, left);
  }
  bool kill_and_reap() override {
    simulation_->end("was killed by SIGKILL");
    return true;
  }
  bool is_gone() override { return true; }

 private:
  std::shared_ptr<SolverSimulation> simulation_;
};

}  // namespace

Seconds plan_seconds(const Campaign& campaign, const TrueWorker& worker, std::uint32_t plan) {
  const Options& options = campaign.options();
  return campaign.plans().at(plan).seconds * std::pow(options.kind_factor, worker.kind) *
         worker.slowness;
}

StartSolver simulated_solvers(Campaign& campaign, Process& process, const TrueWorker& worker,
                              std::uint64_t seed, std::function<void()> die) {
  const auto random = std::make_shared<Random>(seed);
  return [&campaign, &process, &worker, random, die = std::move(die)](const JobSettings& settings) {
    return std::make_unique<SimulatedSolver>(std::make_shared<SolverSimulation>(
        campaign, process, worker, Random(random->next()), die, settings));
  };
}

}  // namespace wallheat::simulation
