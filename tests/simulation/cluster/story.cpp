#include "simulation/cluster/story.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/answer.hpp"
#include "isolation/solver_pool.hpp"
#include "queue/coordinator.hpp"
#include "simulation/cluster/campaign.hpp"
#include "simulation/cluster/child.hpp"
#include "simulation/cluster/watches.hpp"
#include "simulation/cluster/world.hpp"
#include "simulation/random.hpp"
#include "wallheat/error.hpp"

namespace wallheat::simulation {
namespace {

constexpr Seconds solver_start_limit_s = 120;  // of a solver pool, three tries
constexpr Seconds leave_timeout_s = 60;        // more than what ranks wait for each other's leave
constexpr std::size_t no_bound = std::numeric_limits<std::size_t>::max() / 2;
constexpr std::uint64_t most_events = 20'000'000;

/// One start of the campaign, from rank 0's first breath to the last worker's end.
class Session {
 public:
  Session(World& world, Campaign& campaign, std::uint64_t seed, int number, bool with_faults)
      : world_(world),
        campaign_(campaign),
        options_(campaign.options()),
        random_(mixed(seed, 10'000 + static_cast<std::uint64_t>(number))),
        with_faults_(with_faults),
        ranks_(static_cast<int>(options_.workers) + 1),
        begun_s_(world.now()) {
    timeouts_.worker_s = options_.worker_timeout_s;
    timeouts_.most_heartbeat_s = options_.worker_timeout_s / 10;
    for (int rank = 0; rank < ranks_; ++rank) {
      processes_.push_back(std::make_unique<Process>(world, rank, timeouts_.heartbeat_s() / 4));
      stop_heard_s_.push_back(for_ever_s);
    }
    world.connect(&processes_, {options_.delay_s / 2, options_.delay_s / 2},
                  options_.credits > 0 ? static_cast<std::size_t>(options_.credits) : no_bound);
    threads_.emplace(world, campaign.plans().size(), static_cast<std::size_t>(options_.workers),
                     static_cast<std::size_t>(options_.threads));
    witness_.emplace(campaign, rank0(), Random(random_.next()), with_faults);
    status_.emplace(campaign, rank0());
    status_->judge([this] { return std::max(rank0_stopped_until_, witness_->disk_hangs_until()); });
    make_workers();
    if (with_faults_) plan_faults();
    begin_rank0();
    for (int rank = 1; rank < ranks_; ++rank) begin_worker(rank);
  }

  void run() {
    const Seconds patience = patience_s();
    const Seconds begun = world_.now();
    const auto done = [&] {
      return std::all_of(processes_.begin(), processes_.end(),
                         [](const auto& process) { return process->ended(); });
    };
    while (!done() && !campaign_.violation()) {
      if (world_.events() > most_events ||
          !world_.step(std::max(faults_end_s_, begun) + patience)) {
        std::string who;
        for (const auto& process : processes_)
          if (!process->ended()) who += fmt::format(" {}", process->rank());
        campaign_.violated("every session ends", fmt::format("after {:.0f} s rank(s){} still run",
                                                             world_.now() - begun_s_, who));
      }
    }
    if (!campaign_.violation()) check_end();
  }

 private:
  [[nodiscard]] Process& process(int rank) { return *processes_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Process& rank0() { return process(0); }

  void make_workers() {
    for (int rank = 0; rank < ranks_; ++rank) {
      Random random(random_.next());
      auto worker = std::make_unique<TrueWorker>();
      worker->kind = random.whole(0, static_cast<int>(options_.kinds) - 1);
      worker->faults = with_faults_;
      const bool slow = random.chance(options_.slow_workers);
      if (with_faults_ && slow) worker->slowness = random.over_magnitudes(2, 20);
      worker->lies = random.chance(options_.liars) && with_faults_;
      if (random.chance(options_.source_away) && with_faults_)
        worker->source_away_from = world_.now() + random.fraction() * expected_s();
      workers_.push_back(std::move(worker));
    }
  }

  /// About the time that the campaign needs.
  [[nodiscard]] Seconds expected_s() const {
    Seconds sum = 0;
    for (const TruePlan& plan : campaign_.plans()) sum += plan.seconds;
    return options_.load_s + options_.start_s + sum / (options_.workers * options_.threads);
  }

  /// Whoever needs longer than this has got stuck.
  [[nodiscard]] Seconds patience_s() const {
    Seconds all = 0;
    for (std::uint32_t plan = 0; plan < campaign_.plans().size(); ++plan) all += slowest_s(plan);
    const Seconds a_try = longest_plan_s() + plan_timeout_s() + 2 * solver_start_limit_s;
    const double tries = 3 * (options_.max_attempts + 1);
    return 1000 + (tries + 3) * all +
           tries * static_cast<double>(campaign_.plans().size()) * a_try + 4 * timeouts_.start_s +
           20 * timeouts_.rank0_s() + 100 * options_.store_s + 10 * options_.load_s +
           1000 * options_.delay_s;
  }

  [[nodiscard]] Seconds slowest_s(std::uint32_t plan) const {
    Seconds slowest = 0;
    for (const auto& worker : workers_)
      slowest = std::max(slowest, plan_seconds(campaign_, *worker, plan));
    return slowest;
  }
  [[nodiscard]] Seconds longest_plan_s() const {
    Seconds longest = 0;
    for (std::uint32_t plan = 0; plan < campaign_.plans().size(); ++plan)
      longest = std::max(longest, slowest_s(plan));
    return longest;
  }
  [[nodiscard]] Seconds plan_timeout_s() const { return options_.plan_timeout * longest_plan_s(); }

  void until(Seconds time) { faults_end_s_ = std::max(faults_end_s_, time); }

  /// What may strike now and then.
  struct Fault {
    double mean_times;
    void (Session::*strike)(Random&);
  };

  void plan_faults() {
    const std::array faults{
        Fault{options_.pauses, &Session::stop_and_continue_a_rank},
        Fault{options_.stalls, &Session::silence_a_way},
        Fault{options_.deaths, &Session::kill_a_worker},
        Fault{random_.chance(options_.rank0_dies) ? 1.0 : 0.0, &Session::kill_rank0},
        Fault{options_.disk_hangs, &Session::hang_the_disk},
        Fault{options_.nonsense, &Session::say_nonsense},
    };
    for (const Fault& fault : faults) plan(fault);
    plan_steps();
    Random random(random_.next());
    if (random.chance(options_.stop_request)) ask_to_stop(random);
    if (random.chance(options_.deadline)) {
      deadline_s_ = world_.now() + options_.deadline_part * expected_s();
      until(deadline_s_);
      world_.at(deadline_s_, [this] {
        if (!over_) rank0().poke();
      });
    }
  }

  /// Each time it strikes at a time of its own.
  void plan(const Fault& fault) {
    Random random(random_.next());
    const int times = static_cast<int>(random.exponential(fault.mean_times) + random.fraction());
    for (int k = 0; k < times && fault.mean_times > 0; ++k) {
      const Seconds time = world_.now() + 1.5 * random.fraction() * expected_s();
      until(time);
      Random own(random.next());
      world_.at(time, [this, strike = fault.strike, own]() mutable {
        if (!over_) (this->*strike)(own);
      });
    }
  }

  void stop_and_continue_a_rank(Random& random) {
    const int rank = random.whole(0, ranks_ - 1);
    const Seconds end = world_.now() + random.fraction() * options_.pause_s;
    until(end);
    if (rank == 0) rank0_stopped_until_ = std::max(rank0_stopped_until_, end);
    campaign_.reached(rank == 0 ? "rank 0 is stopped and continued"
                                : "a worker is stopped and continued");
    process(rank).pause_until(end);
  }

  void silence_a_way(Random& random) {
    const int worker = random.whole(1, ranks_ - 1);
    const bool from_worker = random.chance(0.5);
    const Seconds end = world_.now() + random.fraction() * options_.stall_s;
    until(end);
    campaign_.reached(from_worker ? "a worker is not heard" : "a worker does not hear");
    world_.block(from_worker ? worker : 0, from_worker ? 0 : worker, end);
  }

  void kill_a_worker(Random& random) { die(random.whole(1, ranks_ - 1), random.fraction()); }

  void kill_rank0(Random& random) {
    if (rank0().ended()) return;
    campaign_.reached("rank 0 dies");
    rank0_died_ = true;
    die(0, random.fraction());
    if (options_.orphans > 0) return;
    for (int rank = 1; rank < ranks_; ++rank) die(rank, 0);
  }

  void hang_the_disk(Random& random) {
    const Seconds end = world_.now() + random.fraction() * options_.disk_hang_s;
    until(end);
    witness_->hang_disk_until(end);
  }

  /// In place of a rank that lives.
  void say_nonsense(Random& random) {
    const int worker = random.whole(1, ranks_ - 1);
    if (process(worker).ended() || rank0().ended()) return;
    if (random.chance(0.4)) {
      Heartbeat heartbeat;
      for (int k = random.whole(1, 3); k > 0; --k)
        heartbeat.running.push_back({static_cast<std::uint32_t>(random.next()), 1, 0.5, 1});
      campaign_.reached("a heartbeat names any plans");
      return world_.forge(worker, 0, encode(heartbeat));
    }
    const bool from_worker = random.chance(0.7);
    campaign_.reached(from_worker ? "a worker speaks as another version would"
                                  : "rank 0 speaks as another version would");
    world_.forge(from_worker ? worker : 0, from_worker ? 0 : worker, Bytes(7, std::byte{0xff}));
  }

  /// Some workers die or are stopped soon after a step of theirs.
  void plan_steps() {
    for (int rank = 1; rank < ranks_; ++rank) {
      Random random(random_.next());
      const bool dies = random.chance(options_.step_deaths);
      const bool stops = random.chance(options_.step_pauses);
      const auto step = static_cast<std::size_t>(random.whole(0, 4));
      const Seconds after = random.chance(0.5) ? 0 : random.exponential(timeouts_.worker_s / 2);
      const Seconds pause = random.over_magnitudes(0.005, 1) * longest_step_pause_s();
      if (dies || stops) strikes_.push_back({rank, step, dies, after, pause});
    }
    world_.watch([this](int from, const Bytes& message) {
      switch (static_cast<std::size_t>(message.front())) {
        case FromWorker(Hello{}).index():
          return at_step(from, 1);
        case FromWorker(wallheat::Ready{}).index():
          return at_step(from, 2);
        case FromWorker(Leaving{}).index():
          return at_step(from, 3);
        case FromWorker(Farewell{}).index():
          return at_step(from, 4);
        default:
          break;
      }
    });
  }

  [[nodiscard]] Seconds longest_step_pause_s() const { return 20 * timeouts_.worker_s; }

  void at_step(int rank, std::size_t step) {
    static constexpr std::array names{"before it reports", "before it is ready", "when it is ready",
                                      "while it leaves", "after its farewell"};
    for (const StepStrike& strike : strikes_) {
      if (strike.rank != rank || strike.step != step) continue;
      until(world_.now() + strike.after_s);
      world_.at(world_.now() + strike.after_s, [this, strike] {
        Process& process = this->process(strike.rank);
        if (over_ || process.ended()) return;
        const bool refused = strike.step == 1 && witness_->refused(strike.rank);
        campaign_.reached(fmt::format("a worker {} {}", strike.dies ? "dies" : "is stopped",
                                      refused ? "after its refusal" : names.at(strike.step)));
        if (strike.dies) return die(strike.rank, 0.5);
        until(world_.now() + strike.pause_s);
        process.pause_until(world_.now() + strike.pause_s);
      });
    }
  }

  void ask_to_stop(Random& random) {
    const Seconds time = world_.now() + 1.2 * random.fraction() * expected_s();
    for (int rank = 0; rank < ranks_; ++rank) {
      const Seconds heard = time + random.fraction() * options_.stop_skew_s;
      until(heard);
      stop_heard_s_[static_cast<std::size_t>(rank)] = heard;
      world_.at(heard, [this, rank] {
        if (!over_) process(rank).poke();
      });
    }
  }

  void die(int rank, double part_of_mail) {
    Process& process = this->process(rank);
    if (process.ended()) return;
    campaign_.reached("a process dies");
    process.kill();
    world_.lose_mail_of(rank, part_of_mail);
  }

  void begin_rank0() {
    rank0().begin([this] {
      const auto link = world_.link(rank0());
      const auto in_background = [&](const std::function<void()>& work) {
        keep_workers_waiting(*link, timeouts_, work, rank0());
      };
      try {
        in_background([&] {
          status_->starts();
          rank0().sleep(options_.load_s);
          witness_->hear_with(status_->solves());
        });
        const CoordinatorParts parts = coordinator_parts();
        coordinates_ = true;
        judge_idleness();
        if (!parts.plans.empty()) end_ = coordinate(*link, parts);
        coordinates_ = false;
        coordinated_s_ = world_.now();
        in_background([&] {
          status_->closes();
          rank0().sleep(options_.load_s);
          status_->ends();
        });
      } catch (const std::exception& error) {
        coordinates_ = false;
        status_->ends();
        error_ = error.what();
      }
      unheard_ = dismiss_workers(*link, std::chrono::seconds{5}, rank0());
      rank0_ended_ = true;
    });
  }

  /// Now and then. Where time is short, or the run is to stop, threads idle with reason.
  void judge_idleness() {
    const Seconds longest = timeouts_.worker_s + 10 + 40 * options_.delay_s +
                            20 * options_.store_s + 2 * timeouts_.heartbeat_s();
    world_.at(world_.now() + longest / 4, [this, longest] {
      if (over_ || !coordinates_ || rank0().ended() || rank0().dying() || deadline_s_ < for_ever_s)
        return;
      if (world_.now() > stop_heard_s_[0]) return;
      std::map<int, Seconds> workers;
      for (const auto& [rank, since] : witness_->at_work()) {
        const Process& process = this->process(rank);
        if (!process.ended() && !process.dying())
          workers.emplace(rank, std::max(since, faults_end_s_));
      }
      std::vector<std::uint32_t> plans;
      for (const QueuedPlan& plan : campaign_.plans_to_solve())
        if (!witness_->finished(plan.index)) plans.push_back(plan.index);
      const auto longest_of = [&](std::uint32_t plan) {
        // What failed may wait for others that are busy, or that get ready.
        return longest + (campaign_.rows()[plan].failures > 0 ? 60 + 2 * timeouts_.start_s : 0);
      };
      if (const auto idle = threads_->idle_for_long(workers, plans, longest_of))
        campaign_.violated("no thread idles for long while a plan waits", *idle);
      judge_idleness();
    });
  }

  [[nodiscard]] CoordinatorParts coordinator_parts() {
    CoordinatorParts parts;
    for (std::uint32_t plan = 0; plan < campaign_.plans().size(); ++plan)
      parts.ids.push_back(Campaign::id(plan));
    parts.plans = campaign_.plans_to_solve();
    parts.settings = {{"version", "1"}};
    if (!parts.plans.empty()) parts.samples = {{Campaign::id(parts.plans.front().index), "cells"}};
    parts.max_attempts = static_cast<int>(options_.max_attempts);
    parts.timeouts = timeouts_;
    parts.elapsed_s = [this] { return world_.now() - begun_s_; };
    if (deadline_s_ < for_ever_s) parts.time_left_s = [this] { return deadline_s_ - world_.now(); };
    parts.new_estimates = [this, told = false]() mutable {
      std::vector<std::pair<std::uint32_t, double>> estimates;
      if (std::exchange(told, true)) return estimates;
      for (std::uint32_t plan = 0; plan < campaign_.plans().size(); ++plan) {
        Random random(random_.next());
        const double error = std::exp(options_.estimate_error * random.normal());
        if (random.chance(options_.estimates))
          estimates.emplace_back(plan, campaign_.plans()[plan].seconds * 1e9 * error);
      }
      return estimates;
    };
    parts.differences = [](const PlanResult& first, const PlanResult& second) {
      return differences({first}, {second});
    };
    parts.sink = &*witness_;
    parts.observer = [this](const Event& event) { witness_->hear(event); };
    parts.interrupted = [this] { return world_.now() >= stop_heard_s_[0]; };
    parts.runtime = &rank0();
    return parts;
  }

  void begin_worker(int rank) {
    const auto number = static_cast<std::size_t>(rank);
    Random random(random_.next());
    const auto strikes = [&](double probability) {
      return random.chance(probability) && with_faults_;
    };
    if (strikes(options_.silent_starts)) {
      campaign_.reached("a worker never reports");
      return;
    }
    auto parts = std::make_unique<WorkerParts>();
    parts->machine = machine(rank);
    const bool other_settings = strikes(options_.strangers);
    parts->settings = {{"version", other_settings ? "2" : "1"}};
    if (strikes(options_.link_errors)) {
      campaign_.reached("a worker's link fails");
      processes_[number]->break_link_at(world_.now() + random.fraction() * expected_s());
    }
    const bool other_plans = strikes(options_.other_plans);
    workers_[number]->stranger = other_settings || other_plans;
    parts->sample = [other_plans](const Task&) { return other_plans ? "other" : "cells"; };
    const bool fails = strikes(options_.open_failures);
    const bool hangs = strikes(options_.open_hangs);
    parts->open = [this, rank, fails, hangs, seed = random.next()](const Placement&) {
      return open(rank, fails, hangs, seed);
    };
    parts->interrupted = [this, number] { return world_.now() >= stop_heard_s_[number]; };
    parts->timeouts = timeouts_;
    parts->runtime = processes_[number].get();
    const Seconds setup =
        std::min(3.0, random.exponential(options_.setup_s));  // dismissal waits 5 s
    processes_[number]->begin(
        [this, rank, setup, kept = std::shared_ptr<WorkerParts>(std::move(parts))] {
          at_step(rank, 0);
          process(rank).sleep(setup);
          const auto link = world_.link(process(rank));
          try {
            if (run_worker(*link, *kept)) together_.insert(rank);
          } catch (const RunError&) {
            campaign_.reached("a worker gives up rank 0");
            if (options_.stalls + options_.link_errors == 0 && !rank0_died_ &&
                rank0_stopped_until_ == 0)
              campaign_.violated("a worker that was asleep does not take that for silence",
                                 std::to_string(rank));
          }
        });
  }

  /// A host of its own for each, with a core for each thread.
  [[nodiscard]] Machine machine(int rank) const {
    Machine machine;
    machine.host = "host" + std::to_string(rank);
    for (int core = 0; core < static_cast<int>(options_.threads); ++core)
      machine.cores.push_back({core, 0, 0});
    return machine;
  }

  WorkerDevice open(int rank, bool fails, bool hangs, std::uint64_t seed) {
    Process& process = this->process(rank);
    const TrueWorker& worker = *workers_[static_cast<std::size_t>(rank)];
    if (hangs) {
      campaign_.reached("a worker's device never opens");
      process.sleep(2 * timeouts_.start_s);
    }
    if (fails) {
      campaign_.reached("a worker finds no device");
      throw RunError("no device works");
    }
    JobSettings settings{
        "/", {}, false, "host" + std::to_string(rank), "kind" + std::to_string(worker.kind)};
    const auto start =
        simulated_solvers(campaign_, process, worker, seed, [this, rank] { die(rank, 0.5); });
    const SolverPoolParts parts{start, std::chrono::duration<double>(timeouts_.worker_s), &process,
                                [](const std::string&) {}};
    settings.plan_timeout_s = plan_timeout_s();
    const auto threads = static_cast<std::size_t>(options_.threads);
    if (options_.shared_child == 0)
      return {settings.device, threads, [=, this](std::size_t) {
                return ThreadParts{watched(rank, SolverPool(settings, parts).job()), {}};
              }};
    settings.solver.gpu = 0;
    settings.lanes = static_cast<std::uint32_t>(threads);
    const SolverPool shared(settings, parts);
    return {settings.device, threads, [=, this](std::size_t) {
              return ThreadParts{watched(rank, shared.job()), {}};
            }};
  }

  /// Every start of a plan is seen.
  [[nodiscard]] PlanJob watched(int rank, PlanJob job) {
    return [this, rank, job = std::move(job)](const Task& task, const SolveControl& control) {
      campaign_.job_called(task.index);
      const Threads::AtWork at_work(*threads_, rank, task.index);
      // The order to stop may be on its way for a while.
      const Seconds on_its_way = 1 + 40 * options_.delay_s + timeouts_.heartbeat_s() +
                                 (options_.pauses > 0 ? options_.pause_s : 0) +
                                 (options_.step_pauses > 0 ? longest_step_pause_s() : 0) +
                                 (options_.stalls > 0 ? options_.stall_s : 0);
      if (world_.now() > deadline_s_ + on_its_way && !rank0_died_)
        campaign_.violated(
            "nothing is started after the time limit",
            fmt::format("plan {} {:.3f} s after it", task.id, world_.now() - deadline_s_));
      if (world_.now() > stop_heard_s_[0] + on_its_way && !rank0_died_)
        campaign_.violated(
            "nothing is started after a stop",
            fmt::format("plan {} {:.3f} s after it", task.id, world_.now() - stop_heard_s_[0]));
      return job(task, control);
    };
  }

  [[nodiscard]] bool stopped() const { return end_ && *end_ != RunEnd::finished; }

  void check_end() {
    over_ = true;
    if (rank0_died_ && !rank0_ended_) return;
    const auto state = [&] {
      return fmt::format("end {}, error '{}'", end_ ? static_cast<int>(*end_) : -1, error_);
    };
    const bool finished = end_ == RunEnd::finished;
    if (finished) {
      campaign_.reached("a session finishes");
      for (std::uint32_t plan = 0; plan < campaign_.rows().size(); ++plan) {
        const auto& row = campaign_.rows()[plan];
        if (row.status == PlanStatus::pending ||
            (row.status == PlanStatus::failed && row.failures < 1))
          campaign_.violated("a finished run has a result of each plan", Campaign::id(plan));
      }
    }
    if (end_ == RunEnd::interrupted) campaign_.reached("a session is interrupted");
    if (end_ == RunEnd::out_of_time) campaign_.reached("a session is out of time");
    if (end_ == RunEnd::source_away) campaign_.reached("a session's plans are out of reach");
    if (!error_.empty()) campaign_.reached("a session fails");
    if (stopped() && end_ == RunEnd::interrupted && stop_heard_s_[0] == for_ever_s)
      campaign_.violated("only who is asked to stops", state());
    if (stopped() && end_ == RunEnd::out_of_time && deadline_s_ == for_ever_s)
      campaign_.violated("without a time limit none is reached", state());
    if (stop_heard_s_[0] < for_ever_s && stopped() && options_.pauses + options_.disk_hangs == 0 &&
        coordinated_s_ > stop_heard_s_[0] + 15 + 20 * options_.store_s +
                             2 * timeouts_.heartbeat_s() + options_.load_s + timeouts_.start_s)
      campaign_.violated("a stop takes seconds", state());
    // Each start of a plan takes a few; what goes to and fro takes thousands.
    const double starts = options_.plans * (2 * options_.max_attempts + 3) * (ranks_ + 3);
    const double most_orders = 50 * ranks_ + 4 * starts;
    if (static_cast<double>(world_.orders()) > most_orders)
      campaign_.violated(
          "rank 0 says no more than there is to do",
          fmt::format("{} messages, expected {} at most", world_.orders(), most_orders));
    if (!with_faults_) check_calm_end(finished || campaign_.plans_to_solve().empty(), state());
  }

  void check_calm_end(bool finished, const std::string& state) {
    // Plans that kill solver processes are the GPU's fault where nothing else comes between.
    const bool given_up = options_.shared_child > 0 &&
                          error_.find(" is given up: ") != std::string::npos &&
                          options_.deadly_plans + options_.endless_plans > 0;
    if (given_up) return;
    if (!finished || !error_.empty()) campaign_.violated("without faults a run finishes", state);
    if (!unheard_.empty())
      campaign_.violated("without faults all ranks say goodbye", std::to_string(unheard_.size()));
    if (together_.size() + 1 != processes_.size())
      campaign_.violated("without faults all ranks end together", std::to_string(together_.size()));
    const bool all_good =
        std::all_of(campaign_.plans().begin(), campaign_.plans().end(), [](const TruePlan& plan) {
          return plan.sort == TruePlan::Sort::good && !plan.stored_otherwise;
        });
    if (options_.sessions == 0 && all_good) check_schedule();
  }

  [[nodiscard]] Seconds first_ready_s() const {
    Seconds first = for_ever_s;
    for (const auto& [rank, time] : witness_->ready_s()) first = std::min(first, time);
    return first;
  }

  [[nodiscard]] Seconds schedule_s() const {
    return campaign_.last_first_answer_s() - first_ready_s();
  }

  /// Messages take their time, and what is not known cannot be planned for.
  void check_schedule() {
    const Seconds longest = longest_plan_s();
    const bool all_is_known =
        options_.kinds == 1 && options_.estimates == 1 && options_.estimate_error == 0;
    const Seconds most = (all_is_known ? 1.1 : 1.5) * good_schedule_s() +
                         (all_is_known ? 0.1 : 1) * longest + 0.05 + 30 * options_.delay_s;
    if (schedule_s() > most)
      campaign_.violated(
          "without faults nobody idles for long",
          fmt::format("{:.3f} s, a good schedule {:.3f} s, allowed {:.3f} s{}", schedule_s(),
                      good_schedule_s(), most, all_is_known ? " as all is known" : ""));
  }

  /// Longest plan first, each to whoever is done with it first.
  [[nodiscard]] Seconds good_schedule_s() const {
    std::vector<std::uint32_t> order;
    for (std::uint32_t plan = 0; plan < campaign_.plans().size(); ++plan) order.push_back(plan);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) {
      return campaign_.plans()[a].seconds > campaign_.plans()[b].seconds;
    });
    std::vector<std::pair<const TrueWorker*, Seconds>> threads;
    for (const auto& [rank, time] : witness_->ready_s())
      for (int k = 0; k < static_cast<int>(options_.threads); ++k)
        threads.emplace_back(workers_[static_cast<std::size_t>(rank)].get(),
                             time - first_ready_s());
    Seconds end = 0;
    for (const std::uint32_t plan : order) {
      auto* best = &threads.front();
      Seconds best_end = for_ever_s;
      for (auto& thread : threads) {
        const Seconds would_end = thread.second + plan_seconds(campaign_, *thread.first, plan);
        if (would_end < best_end) {
          best_end = would_end;
          best = &thread;
        }
      }
      best->second = best_end;
      end = std::max(end, best_end);
    }
    return end;
  }

  World& world_;
  Campaign& campaign_;
  const Options& options_;
  Random random_;
  bool with_faults_;
  int ranks_;
  Seconds begun_s_;
  Timeouts timeouts_;
  std::vector<std::unique_ptr<TrueWorker>> workers_;
  std::vector<Seconds> stop_heard_s_;  ///< by rank
  Seconds deadline_s_ = for_ever_s;
  Seconds faults_end_s_ = 0;
  bool rank0_died_ = false;
  Seconds rank0_stopped_until_ = 0;
  bool rank0_ended_ = false;
  bool over_ = false;
  std::optional<RunEnd> end_;
  std::string error_;
  Seconds coordinated_s_ = 0;
  std::vector<int> unheard_;
  std::set<int> together_;
  struct StepStrike {
    int rank;
    std::size_t step;
    bool dies;
    Seconds after_s, pause_s;
  };
  std::vector<StepStrike> strikes_;
  bool coordinates_ = false;
  std::optional<Threads> threads_;
  std::optional<Witness> witness_;
  std::optional<StatusWatch> status_;
  std::vector<std::unique_ptr<Process>> processes_;  // last: its threads use what is above
};

}  // namespace

Outcome tell_story(std::uint64_t seed, const Options& options, Reached& reached) {
  World world(seed);
  const Seconds begun = world.now();
  Campaign campaign(seed, options, reached);
  {
    std::vector<std::unique_ptr<Session>> sessions;  // kept: events to come refer to them
    const int with_faults = static_cast<int>(options.sessions);
    for (int number = 0; number <= with_faults && !campaign.violation(); ++number) {
      sessions.push_back(
          std::make_unique<Session>(world, campaign, seed, number, number < with_faults));
      sessions.back()->run();
    }
  }
  if (campaign.violation()) throw Violation(*campaign.violation());
  return {world.now() - begun, world.events(), world.hash()};
}

}  // namespace wallheat::simulation
