// What rank 0 costs, and how many lanes it keeps at work: a simulation of its workers around the
// real coordinator, in which the time that this really takes passes, too. Rank 0 takes in what has
// arrived, then feeds; what it gives leaves when it is done with that.
//
//   bench_scale [WORKERS [LANES [PLANS_A_LANE [SECONDS_A_PLAN [MICROSECONDS_A_MESSAGE
//   [SECONDS_A_WAY]]]]]]

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "core/threads.hpp"
#include "queue/coordinator.hpp"

namespace wallheat {
namespace {

using Plan = PlanQueue::Plan;
using Work = std::vector<std::pair<int, std::vector<Plan>>>;

struct Setting {
  int workers = 1000, lanes = 1;
  std::size_t plans_a_lane = 50;
  double plan_s = 0.1;
  double message_s = 0;  ///< what rank 0 spends on a message beside the queue
  double way_s = 50e-6;  ///< of a message
  static constexpr double spread = 0.5;
  static constexpr std::size_t most_messages = 1024;  ///< that are taken in before anybody is fed
};

/// What it takes to read the clock, which is no part of the queue's time.
double clock_cost_s() {
  constexpr int times = 20'000;
  double sum_s = 0;
  for (int time = 0; time < times; ++time) sum_s -= thread_cpu_seconds() - thread_cpu_seconds();
  return sum_s / times;
}

std::size_t allocated_bytes() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

struct Workload {
  std::vector<float> seconds, updates;
  double sum_s = 0;
};

Workload workload(const Setting& setting) {
  std::mt19937 random(1);
  std::normal_distribution normal;
  const std::size_t count =
      static_cast<std::size_t>(setting.workers * setting.lanes) * setting.plans_a_lane;
  Workload load;
  for (std::size_t plan = 0; plan < count; ++plan) {
    const double length = setting.spread * normal(random) - setting.spread * setting.spread / 2;
    const double seconds = setting.plan_s * std::exp(length);
    load.seconds.push_back(static_cast<float>(seconds));
    load.updates.push_back(static_cast<float>(seconds * 1e9 * std::exp(0.1 * normal(random))));
    load.sum_s += seconds;
  }
  return load;
}

void measure(const Setting& setting, const Workload& load) {
  struct Happening {
    double time_s;
    int worker;
    Plan plan;
    bool is_end;
    bool operator<(const Happening& other) const { return time_s > other.time_s; }
  };
  struct Worker {
    std::deque<Plan> waiting;
    int busy = 0;
  };
  const double clock_s = clock_cost_s();
  std::vector<Worker> workers(static_cast<std::size_t>(setting.workers) + 1);
  std::vector<PlanQueue::Start> starts;
  for (const float each : load.updates) starts.push_back({.updates = each});
  const std::size_t before = allocated_bytes();
  Coordinator rank0(starts, setting.workers, Coordinator::Options{});
  const std::size_t built = allocated_bytes() - before;
  std::priority_queue<Happening> happenings;
  std::deque<Happening> inbox;  // in the order of arrival, as each way takes as long
  double free_s = 0, rank0_cost_s = 0;
  std::size_t peak = built, in = 0, out = 0;

  // Rank 0 is free at `now_s`.
  const auto serve = [&](double now_s, bool is_start) {
    const double began_s = thread_cpu_seconds();
    for (int worker = 1; is_start && worker <= setting.workers; ++worker) {
      WorkerReport report;
      report.ready.emplace().lanes = static_cast<unsigned>(setting.lanes);
      rank0.heard(worker, report, 0);
    }
    std::size_t taken = 0;
    for (; taken < setting.most_messages && !inbox.empty() && inbox.front().time_s <= now_s;
         ++taken, inbox.pop_front()) {
      const auto& [time_s, worker, plan, is_end] = inbox.front();
      WorkerReport report;
      report.results.push_back({plan, Result::Kind::answered, load.seconds[plan], 1, {}});
      rank0.heard(worker, std::move(report), now_s);
    }
    if (!rank0.queue().finished()) {
      rank0.feed(now_s);
      rank0.tick(now_s, 1e18);
    }
    rank0.outbox.events.clear();
    Work work = std::exchange(rank0.outbox.work, {});
    std::erase_if(work, [](const auto& each) { return each.second.empty(); });
    const double took_s = std::max(0.0, thread_cpu_seconds() - began_s - clock_s);
    rank0_cost_s += took_s;
    in += taken;
    out += work.size();
    free_s = now_s + took_s + setting.message_s * static_cast<double>(taken + work.size());
    for (const auto& [worker, plans] : work)
      for (const Plan plan : plans) happenings.push({free_s + setting.way_s, worker, plan, false});
  };
  serve(0, true);
  for (std::size_t round = 0; !rank0.queue().finished(); ++round) {
    if (happenings.empty() && inbox.empty()) {
      std::printf("rank 0 waits for nothing\n");
      return;
    }
    const double rank0_s = inbox.empty() ? 1e300 : std::max(free_s, inbox.front().time_s);
    if (happenings.empty() || happenings.top().time_s > rank0_s) {
      serve(rank0_s, false);
      if (round % 4096 == 0) peak = std::max(peak, allocated_bytes() - before);
      continue;
    }
    const Happening next = happenings.top();
    happenings.pop();
    Worker& worker = workers[static_cast<std::size_t>(next.worker)];
    if (next.is_end) {
      --worker.busy;
      inbox.push_back({next.time_s + setting.way_s, next.worker, next.plan, true});
    } else {
      worker.waiting.push_back(next.plan);
    }
    while (worker.busy < setting.lanes && !worker.waiting.empty()) {
      const Plan plan = worker.waiting.front();
      worker.waiting.pop_front();
      ++worker.busy;
      happenings.push({next.time_s + load.seconds[plan], next.worker, plan, true});
    }
  }
  const auto plans = static_cast<double>(load.seconds.size());
  std::printf(
      "%6d x %-3d %8.0f plans of %g s: efficiency %.3f, %5.2f us a plan, %.2f in and "
      "%.2f out a plan, %.0f bytes a plan (at most %.0f)\n",
      setting.workers, setting.lanes, plans, setting.plan_s,
      load.sum_s / (setting.workers * setting.lanes) / free_s, 1e6 * rank0_cost_s / plans,
      static_cast<double>(in) / plans, static_cast<double>(out) / plans,
      static_cast<double>(built) / plans, static_cast<double>(peak) / plans);
  std::fflush(stdout);
}

}  // namespace
}  // namespace wallheat

int main(int n, char** arguments) {
  using namespace wallheat;
  const auto number = [&](int index, double default_value) {
    return n > index ? std::atof(arguments[index]) : default_value;
  };
  Setting setting;
  setting.workers = static_cast<int>(number(1, 1000));
  setting.lanes = static_cast<int>(number(2, 1));
  setting.plans_a_lane = static_cast<std::size_t>(number(3, 50));
  setting.plan_s = number(4, 0.1);
  setting.message_s = 1e-6 * number(5, 0);
  setting.way_s = number(6, 50e-6);
  const Workload load = workload(setting);
  measure(setting, load);
}
