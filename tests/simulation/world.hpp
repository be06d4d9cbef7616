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

// Simulated time, and workers with solver processes. All functions are non-blocking steps.

namespace wallheat {

/// Thrown if the queue or the coordinator violates a requirement.
struct Violation {
  std::string requirement;
};
inline void check(bool holds, const char* requirement) {
  if (!holds) throw Violation{requirement};
}

using Plan = QueueIndex;
inline constexpr double never = std::numeric_limits<double>::infinity();

/// Simulated time, random numbers, and future events.
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
  deadly,     ///< kills its solver process
  endless,    ///< makes no progress, so its process is killed after a timeout
  killer,     ///< kills its worker
  unreadable  ///< no host can read its files
};
struct TruePlan {
  Sort sort = Sort::good;
  double seconds = 1;
};

/// A worker rank with its solver processes: one per slot, or one for all slots.
class SimulatedWorker {
 public:
  World* world = nullptr;
  const QueueVector<TruePlan>* plans = nullptr;
  WorkerProperties facts{};
  double slow = 1, child_deaths = 0, plan_timeout_s = 0;
  bool is_faulty = false;
  std::function<void(WorkerReport)> send_report{};
  std::function<void(Bye)> send_bye{};
  bool ready = false, dead = false, over = false;
  double network_stalled_until = 0;  ///< until this time, its messages are delayed
  double hung_until = 0;  ///< until this time, it sends no messages; its solver processes continue
  double bad_from = never, bad_until = never;  ///< time in which its host cannot read any file

  [[nodiscard]] bool is_alive() const { return !dead && !over; }
  void report() {
    if (!is_alive() || world->now < hung_until) return;
    WorkerReport report = std::exchange(report_, {});
    if (ready && !std::exchange(reported_ready_, true)) report.ready = facts;
    report.running = progress();
    send_report(std::move(report));
  }
  void take(const std::vector<Plan>& given) {
    waiting_.insert(waiting_.end(), given.begin(), given.end());
    begin();
  }
  /// Replaces the device by another one. Returns the plans in progress to rank 0, and keeps the
  /// backlog.
  void change_device() {
    facts.device += "'";
    reported_ready_ = false;
    for (const auto& [plan, each] : std::exchange(running_, {})) report_.returned.push_back(plan);
    report();
    world->in(0.5, [this] { begin(); });
  }
  void leave(Bye::Cause why) {
    if (!is_alive()) return;
    report();
    over = true;
    send_bye({why, "simulated", progress()});
  }

 private:
  struct Try {
    int number = 0;
    double began_s = 0;
  };

  static Bytes record_of(TaskResult::Kind kind) { return {static_cast<std::byte>(kind)}; }
  [[nodiscard]] std::vector<PlanProgress> progress() const {
    std::vector<PlanProgress> running;
    for (const auto& [plan, each] : running_)
      running.push_back({.plan = plan, .seconds = world->now - each.began_s});
    return running;
  }
  void begin() {
    while (is_alive() && running_.size() < facts.slots && !waiting_.empty()) {
      const Plan plan = waiting_.front();
      waiting_.pop_front();
      const int number = ++tries_;
      running_[plan] = {number, world->now};
      const auto [sort, true_s] = (*plans)[plan];
      const double seconds = true_s * slow;
      const bool dies = sort == Sort::deadly || world->chance(child_deaths);
      const bool is_unreadable =
          sort == Sort::unreadable || (world->now >= bad_from && world->now < bad_until);
      const double after_s = is_unreadable                  ? 0.001
                             : sort == Sort::endless        ? plan_timeout_s
                             : sort == Sort::bad_input      ? 0.001
                             : dies || sort == Sort::killer ? seconds / 2
                                                            : seconds;
      world->in(after_s, [=, this, sort = sort] {
        const auto each = running_.find(plan);
        if (!is_alive() || each == running_.end() || each->second.number != number) return;
        if (is_unreadable) {
          running_.erase(plan);
          constexpr auto kind = TaskResult::Kind::host_error;
          report_.results.push_back({plan, kind, 0.001, 0, record_of(kind), {}, "simulated"});
          report();
          begin();
        } else if (sort == Sort::killer) {
          dead = true;
        } else if (sort == Sort::endless || (dies && sort != Sort::bad_input)) {
          process_died(plan, sort == Sort::endless);
        } else {
          running_.erase(plan);
          const auto kind =
              sort == Sort::good ? TaskResult::Kind::solved : TaskResult::Kind::failed;
          const std::uint64_t digest =
              is_faulty ? world->whole(1, 1 << 30) : static_cast<std::uint64_t>(plan);
          report_.results.push_back({plan, kind, seconds, digest, record_of(kind)});
          report();
          begin();
        }
      });
    }
  }
  /// Handles the death of a solver process. A plan that timed out, or was alone in the process,
  /// fails. The other plans are returned; if no plan timed out, they are suspects.
  void process_died(Plan plan, bool timed_out) {
    constexpr auto retryable = TaskResult::Kind::retryable;
    std::map<Plan, Try> returned{{plan, {}}};
    if (facts.shares_process) returned = running_;
    for (const auto& [each, number] : returned) {
      running_.erase(each);
      if (each == plan && (timed_out || returned.size() == 1))
        report_.results.push_back({each, retryable, 0, 0, record_of(retryable)});
      else
        (timed_out ? report_.returned : report_.suspects).push_back(each);
    }
    report();
    world->in(0.5, [this] { begin(); });
  }

  bool reported_ready_ = false;
  std::deque<Plan> waiting_{};
  std::map<Plan, Try> running_{};
  int tries_ = 0;
  WorkerReport report_{};
};

}  // namespace wallheat
