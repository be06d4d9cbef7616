// Simulates campaigns with random faults, each determined by its seed: the real plan queue and the
// real coordinator, with a simulated network and simulated workers. The requirements are the calls
// of check() here and in judge.cpp.
//
//   simulate [SEEDS [FIRST]]

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "simulation/judge.hpp"

namespace wallheat {
namespace {

class Campaign {
 public:
  explicit Campaign(std::uint64_t seed)
      : world_(seed), faults_(seed % 6 != 0), only_bad_hosts_(seed % 12 == 6) {
    workers_.resize(static_cast<std::size_t>(world_.whole(1, 6)) + 1);
    scene_.lanes = static_cast<unsigned>(world_.whole(1, 6));
    scene_.shares_process = world_.chance(0.3);
    if (world_.chance(0.4)) scene_.max_attempts = world_.whole(1, 4);
    draw_plans();
    draw_workers();
    draw_end();
    judge_.emplace(scene_, world_, workers_.size());
  }

  double run() {
    world_.in(0, [this] { tick(); });
    while (!ended_) {
      world_.step();
      check(world_.now < patience_s_, "every run ends");
    }
    check_end();
    return world_.now;
  }
  [[nodiscard]] double now_s() const { return world_.now; }
  [[nodiscard]] RunEnd end() const { return *judge_->coordinator.end(); }

 private:
  double if_faults(double probability, double value) {
    return faults_ && world_.chance(probability) ? value : 0;
  }

  void draw_plans() {
    const double bad = if_faults(.3, .1), deadly = if_faults(.3, .08), endless = if_faults(.2, .05);
    const double killers = if_faults(.2, .1), mean = std::pow(10, world_.whole(-2, 2));
    const double before = if_faults(.2, .3), unreadable = if_faults(.2, .1);
    scene_.all_known = world_.chance(0.5);
    scene_.plans.resize(static_cast<std::size_t>(world_.whole(1, 60)));
    for (TruePlan& plan : scene_.plans) {
      plan.seconds = mean * std::exp(0.5 * world_.normal());
      plan.sort = world_.chance(bad)          ? Sort::bad_input
                  : world_.chance(deadly)     ? Sort::deadly
                  : world_.chance(endless)    ? Sort::endless
                  : world_.chance(killers)    ? Sort::killer
                  : world_.chance(unreadable) ? Sort::unreadable
                                              : Sort::good;
      scene_.unreadable_plans |= plan.sort == Sort::unreadable;
      work_s_ += plan.seconds;
      scene_.longest_s = std::max(scene_.longest_s, plan.seconds);
      scene_.shortest_s = std::min(scene_.shortest_s, plan.seconds);
      killers_ |= plan.sort == Sort::killer;
      PlanQueue::InitialState& start = scene_.starts.emplace_back();
      if (scene_.all_known || world_.chance(0.8)) start.updates = updates_of(plan);
      start.failures = world_.chance(before) ? world_.whole(0, scene_.max_attempts - 1) : 0;
      start.attempts = start.failures + (world_.chance(before) ? 1 : 0);
    }
    expected_s_ = work_s_ / static_cast<double>((workers_.size() - 1) * scene_.lanes);
    patience_s_ = 3000 + 40 * (work_s_ * 8 + static_cast<double>(scene_.plans.size()) *
                                                 (3 * scene_.longest_s + 100));
  }
  static float updates_of(const TruePlan& plan) { return static_cast<float>(plan.seconds * 1e9); }

  void draw_workers() {
    const double deaths = if_faults(.3, .4), child_deaths = if_faults(.3, .1);
    const double faulty_workers = if_faults(.15, .3), leaving = if_faults(.3, .3),
                 slow = if_faults(.3, .3);
    const double late = if_faults(.15, .3), changes = if_faults(.2, .3);
    const double bad_hosts = only_bad_hosts_ ? world_.share() : if_faults(.3, .4);
    const int stalls = static_cast<int>(if_faults(.4, 2));
    for (int i = 1; i < static_cast<int>(workers_.size()); ++i) {
      SimulatedWorker& worker = workers_[i];
      worker.world = &world_;
      worker.plans = &scene_.plans;
      worker.facts.slots = scene_.lanes;
      worker.facts.shares_process = scene_.shares_process;
      worker.child_deaths = child_deaths;
      worker.plan_timeout_s = 3 * scene_.longest_s;
      worker.is_faulty = world_.chance(faulty_workers);
      worker.slow = world_.chance(slow) ? 8 : 1;
      scene_.faulty_workers |= worker.is_faulty;
      if (world_.chance(bad_hosts)) {
        scene_.bad_hosts.insert(i);
        worker.bad_from = world_.chance(0.5) ? 0 : world_.some(expected_s_);
        if (faults_ && world_.chance(0.5)) worker.bad_until = worker.bad_from + world_.some(30);
      }
      worker.send_report = [this, i](WorkerReport report) {
        send(i, 0, [this, i, report = std::move(report)] { judge_->on_report(i, report); });
      };
      worker.send_bye = [this, i](const Bye& bye) {
        send(i, 0, [this, i, bye] { judge_->on_bye(i, bye); });
        // A heartbeat may arrive after a later message.
        if (world_.chance(0.5)) send(i, 0, [this, i] { judge_->on_report(i, WorkerReport{}); });
      };
      draw_faults(worker, deaths, stalls, leaving, late, changes);
    }
  }

  void draw_faults(SimulatedWorker& worker, double deaths, int stalls, double leaving, double late,
                   double changes) {
    const bool is_late = world_.chance(late);
    const double begin_s = is_late ? world_.some(150) : world_.share();
    const double ready_s = begin_s + (is_late             ? world_.some(150)
                                      : world_.chance(.3) ? world_.some(5)
                                                          : 0);
    const int number = static_cast<int>(&worker - workers_.data());
    world_.in(ready_s, [&worker] { worker.ready = true; });
    world_.in(begin_s, [this, number] { beat(number); });
    if (world_.chance(deaths))
      world_.in(world_.some(expected_s_), [this, &worker] {
        deaths_ |= worker.is_alive();
        worker.dead = true;
      });
    for (int k = stalls > 0 ? world_.whole(0, stalls) : 0; k > 0; --k) {
      stalls_ = true;
      const double for_s = world_.some(40);
      world_.in(world_.some(expected_s_), [this, &worker, for_s] {
        (world_.chance(0.5) ? worker.hung_until : worker.network_stalled_until) =
            world_.now + for_s;
      });
    }
    if (world_.chance(changes))
      world_.in(world_.some(expected_s_), [&worker] {
        if (worker.is_alive() && worker.ready) worker.change_device();
      });
    if (world_.chance(leaving)) {
      const double kind = world_.share();
      world_.in(world_.some(expected_s_), [this, &worker, kind, number] {
        if (kind > 0.3)
          return worker.leave(kind > 0.6 ? Bye::Cause::failed : Bye::Cause::source_outage);
        if (kind > 0.1) return worker.leave(Bye::Cause::interrupted);
        send(number, 0, [this, number] { judge_->on_incompatible(number); });
        worker.over = true;
      });
    }
    scene_.slow += worker.slow == 1 ? 0 : 1;
  }

  void draw_end() {
    for (const Plan plan : queue_indices(scene_.plans.size()))
      if (scene_.starts[plan].updates == 0 && world_.chance(0.5))
        world_.in(world_.some(expected_s_), [this, plan] {
          judge_->coordinator.set_estimate(plan, updates_of(scene_.plans[plan]));
        });
    if (if_faults(.2, 1) > 0) scene_.deadline_s = expected_s_ * 2 * world_.share();
    if (if_faults(.1, 1) > 0)
      world_.in(world_.some(expected_s_),
                [this] { judge_->coordinator.request_stop("stop signal", RunEnd::interrupted); });
    if (if_faults(.1, 1) > 0)
      world_.in(world_.some(expected_s_), [this] {
        asleep_until_ = world_.now + (slept_s_ = world_.some(world_.chance(0.2) ? 300 : 40));
        has_slept_ = true;
      });
  }

  // The network preserves the order of the messages of each sender; rank 0 processes them in
  // batches.

  void send(int from, int to, std::function<void()> act) {
    const SimulatedWorker& worker = workers_[std::max(from, to)];
    double& last_s = arrival_s_[{from, to}];
    const double stall_s = std::max(0.0, worker.network_stalled_until - world_.now);
    last_s = std::max(last_s, world_.now + stall_s + 20e-6 + world_.some(50e-6));
    if (to != 0) return world_.in(last_s - world_.now, std::move(act));
    world_.in(last_s - world_.now, [this, act = std::move(act)] {
      inbox_.push_back(act);
      if (inbox_.size() == 1) world_.in(world_.some(1e-3), [this] { process_inbox(); });
    });
  }
  void process_inbox() {
    if (ended_) return;
    if (world_.now < asleep_until_)
      return world_.in(asleep_until_ - world_.now + 1e-3, [this] { process_inbox(); });
    for (const auto& act : std::exchange(inbox_, {})) act();
    judge_->feed();
    send_outbox();
  }
  void beat(int number) {
    if (ended_ || !workers_[number].is_alive()) return;
    workers_[number].report();
    world_.in(1, [this, number] { beat(number); });
  }
  void tick() {
    if (ended_) return;
    if (asleep_until_ > world_.now)
      return world_.in(asleep_until_ - world_.now, [this] { tick(); });
    judge_->tick(std::exchange(slept_s_, 0));
    send_outbox();
    world_.in(0.05, [this] { tick(); });
  }
  void send_outbox() {
    for (const int to : box().stop_requests)
      send(0, to, [this, to] { workers_[to].leave(Bye::Cause::stop_requested); });
    const auto work = judge_->take_outbox().assignments;
    for (const auto& [to, plans] : work)
      if (!plans.empty()) send(0, to, [this, to = to, plans = plans] { workers_[to].take(plans); });
    ended_ = judge_->coordinator.end().has_value();
  }
  [[nodiscard]] const Coordinator::Outbox& box() const { return judge_->coordinator.outbox; }

  void check_end() {
    const Coordinator& coordinator = judge_->coordinator;
    const double stop_s = judge_->stop_s;
    const bool quiet = !deaths_ && !stalls_ && !killers_ && !has_slept_;
    judge_->check_end();
    if (end() == RunEnd::interrupted && quiet)
      check(world_.now - stop_s < 0.5 && !coordinator.queue().any_leased(),
            "a stop waits for the last messages of workers, and no longer");
    if (end() == RunEnd::out_of_time && scene_.slow == 0 && quiet && stop_s < scene_.deadline_s)
      for (const Plan plan : queue_indices(scene_.plans.size()))
        check(judge_->is_final(plan) || scene_.starts[plan].updates == 0 ||
                  1.32 * scene_.plans[plan].seconds > scene_.deadline_s - stop_s - 0.1,
              "the remaining time is used");
    if (only_bad_hosts_) check_bad_hosts();
    if (end() == RunEnd::finished)
      for (const Plan plan : queue_indices(scene_.plans.size()))
        check(judge_->is_final(plan), "every plan is solved or has failed");
  }

  /// Checks a campaign whose only faults are bad hosts.
  void check_bad_hosts() const {
    const std::size_t bad = scene_.bad_hosts.size(), all = workers_.size() - 1;
    const auto count = [&](auto is) {
      std::size_t plans = 0;
      for (const Plan plan : queue_indices(scene_.plans.size())) plans += is(plan) ? 1 : 0;
      return plans;
    };
    const auto solved = count([&](Plan plan) { return judge_->is_answered(plan); });
    if (bad < 2 && all > bad && scene_.max_attempts > 1)
      check(end() == RunEnd::finished && solved == scene_.plans.size(),
            "one bad host does not fail any plan");
    const bool all_bad =
        bad == all && std::all_of(workers_.begin() + 1, workers_.end(),
                                  [](const SimulatedWorker& each) { return each.bad_from == 0; });
    if (all_bad && scene_.max_attempts > 1 && scene_.plans.size() > all * (scene_.lanes + 3))
      check(end() == RunEnd::source_outage && solved == 0 &&
                count([&](Plan plan) { return judge_->is_final(plan); }) == 0,
            "a run on bad hosts only ends, and its plans stay pending");
  }

  World world_;
  const bool faults_;
  const bool only_bad_hosts_;
  Scene scene_;
  bool killers_ = false, stalls_ = false, deaths_ = false, has_slept_ = false, ended_ = false;
  double work_s_ = 0, expected_s_ = 0, patience_s_ = 0, asleep_until_ = 0, slept_s_ = 0;
  std::vector<SimulatedWorker> workers_;  ///< by rank; rank 0 is not a worker
  std::optional<Judge> judge_;
  std::vector<std::function<void()>> inbox_;
  std::map<std::pair<int, int>, double> arrival_s_;
};

}  // namespace
}  // namespace wallheat

int main(int n, char** arguments) {
  using namespace wallheat;
  const std::uint64_t count = n > 1 ? std::strtoull(arguments[1], nullptr, 10) : 1500;
  const std::uint64_t first = n > 2 ? std::strtoull(arguments[2], nullptr, 10) : 0;
  double simulated_s = 0;
  std::array<int, 5> ends{};
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Campaign campaign(seed);
    try {
      simulated_s += campaign.run();
    } catch (const Violation& violation) {
      std::printf("seed %ju, after %.3f s: violated: %s\n", static_cast<std::uintmax_t>(seed),
                  campaign.now_s(), violation.requirement.c_str());
      return 1;
    }
    ++ends.at(static_cast<std::size_t>(campaign.end()));
  }
  std::printf(
      "%ju campaigns of %.1f days: %d finished, %d interrupted, %d out of time, %d by "
      "source outage, %d without workers\n",
      static_cast<std::uintmax_t>(count), simulated_s / 86400, ends[0], ends[1], ends[2], ends[3],
      ends[4]);
  return 0;
}
