#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "queue/messages.hpp"
#include "queue/plan_queue.hpp"

// Simulated time, and workers with solver processes. Nothing blocks: all are step functions.

namespace wallheat {

/// Thrown if queue and coordinator do not keep what they promise.
struct Broken {
  std::string promise;
};
inline void check(bool is_kept, const char* promise) {
  if (!is_kept) throw Broken{promise};
}

using Plan = PlanQueue::Plan;
inline constexpr double never = std::numeric_limits<double>::infinity();

/// Time, chance, and what is going to happen.
class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {}
  double now = 0;
  void in(double seconds, std::function<void()> act) {
    events_.push({now + seconds, order_++, std::move(act)});
  }
  void step() {
    const Event event = events_.top();
    events_.pop();
    now = event.time;
    event.act();
  }
  double share() { return std::uniform_real_distribution<>()(random_); }
  double some(double mean) { return -mean * std::log1p(-share()); }
  bool chance(double probability) { return share() < probability; }
  int whole(int least, int most) { return std::uniform_int_distribution<>(least, most)(random_); }
  double normal() { return std::normal_distribution<>()(random_); }

 private:
  struct Event {
    double time;
    std::uint64_t order;
    std::function<void()> act;
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  std::mt19937_64 random_;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;
};

enum class Sort {
  good,
  bad_input,
  deadly,   ///< kills its solver process
  endless,  ///< is killed after a time-out
  killer    ///< kills its worker
};
struct TruePlan {
  Sort sort = Sort::good;
  double seconds = 1;
};

/// A worker rank with its solver processes: one for each lane, or one for all.
class SimulatedWorker {
 public:
  World* world = nullptr;
  const std::vector<TruePlan>* plans = nullptr;
  WorkerFacts facts{};
  double slow = 1, child_deaths = 0, plan_timeout_s = 0;
  bool lies = false;
  std::function<void(WorkerReport)> say{};
  std::function<void(Bye)> say_bye{};
  bool ready = false, dead = false, over = false;
  double mute_until = 0;  ///< its network stalls
  double hung_until = 0;  ///< it says nothing; its solvers go on

  [[nodiscard]] bool lives() const { return !dead && !over; }
  void report() {
    if (!lives() || world->now < hung_until) return;
    WorkerReport report = std::exchange(news_, {});
    if (ready && !std::exchange(said_ready_, true)) report.ready = facts;
    report.running = progress();
    say(std::move(report));
  }
  void take(const std::vector<Plan>& given) {
    waiting_.insert(waiting_.end(), given.begin(), given.end());
    begin();
  }
  /// What it was at comes back; what waits there stays.
  void change_device() {
    facts.device += "'";
    said_ready_ = false;
    for (const auto& [plan, each] : std::exchange(running_, {})) news_.returned.push_back(plan);
    report();
    world->in(0.5, [this] { begin(); });
  }
  void leave(Bye::Why why) {
    if (!lives()) return;
    report();
    over = true;
    say_bye({why, "it has to", progress()});
  }

 private:
  struct Try {
    int number = 0;
    double began_s = 0;
  };

  static Bytes record_of(Result::Kind kind) { return {static_cast<std::byte>(kind)}; }
  [[nodiscard]] std::vector<PlanProgress> progress() const {
    std::vector<PlanProgress> running;
    for (const auto& [plan, each] : running_)
      running.push_back({.plan = plan, .seconds = world->now - each.began_s});
    return running;
  }
  void begin() {
    while (lives() && running_.size() < facts.lanes && !waiting_.empty()) {
      const Plan plan = waiting_.front();
      waiting_.pop_front();
      const int number = ++tries_;
      running_[plan] = {number, world->now};
      const auto [sort, true_s] = (*plans)[plan];
      const double seconds = true_s * slow;
      const bool dies = sort == Sort::deadly || world->chance(child_deaths);
      const double after_s = sort == Sort::endless          ? plan_timeout_s
                             : sort == Sort::bad_input      ? 0.001
                             : dies || sort == Sort::killer ? seconds / 2
                                                            : seconds;
      world->in(after_s, [=, this, sort = sort] {
        const auto each = running_.find(plan);
        if (!lives() || each == running_.end() || each->second.number != number) return;
        if (sort == Sort::killer) {
          dead = true;
        } else if (sort == Sort::endless || (dies && sort != Sort::bad_input)) {
          process_died(plan, sort == Sort::endless);
        } else {
          running_.erase(plan);
          const auto kind = sort == Sort::good ? Result::Kind::answered : Result::Kind::failed;
          const std::uint64_t digest = lies ? world->whole(1, 1 << 30) : plan;
          news_.results.push_back({plan, kind, seconds, digest, record_of(kind)});
          report();
          begin();
        }
      });
    }
  }
  /// A plan that was alone in its process, or took too long, is to blame.
  void process_died(Plan plan, bool timed_out) {
    constexpr auto retryable = Result::Kind::retryable;
    std::map<Plan, Try> gone{{plan, {}}};
    if (facts.shares_process) gone = running_;
    for (const auto& [each, number] : gone) {
      running_.erase(each);
      if (each == plan && (timed_out || gone.size() == 1))
        news_.results.push_back({each, retryable, 0, 0, record_of(retryable)});
      else
        (timed_out ? news_.returned : news_.shaken).push_back(each);
    }
    report();
    world->in(0.5, [this] { begin(); });
  }

  bool said_ready_ = false;
  std::deque<Plan> waiting_{};
  std::map<Plan, Try> running_{};
  int tries_ = 0;
  WorkerReport news_{};
};

}  // namespace wallheat
