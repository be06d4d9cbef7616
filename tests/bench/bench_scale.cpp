// CPU time of rank 0 per plan, and the number of slots that rank 0 can keep busy: all workers
// report their results, and rank 0 processes the reports and assigns new plans without waiting.
//
//   bench_scale [WORKERS [SLOTS [PLANS_PER_SLOT [SECONDS_PER_PLAN]]]]

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "core/threads.hpp"
#include "queue/coordinator.hpp"

int main(int argc, char** argv) {
  using namespace wallheat;
  const auto number = [&](int index, double otherwise) {
    return argc > index ? std::atof(argv[index]) : otherwise;
  };
  const auto workers = static_cast<int>(number(1, 1000));
  const double lanes = number(2, 1);
  const double plans = workers * lanes * number(3, 50);
  const double plan_s = number(4, 0.1);

  std::mt19937 random(1);
  std::lognormal_distribution<float> length(0, 0.5F);
  QueueVector<PlanQueue::InitialState> starts(static_cast<std::size_t>(plans));
  for (PlanQueue::InitialState& start : starts) start.updates = 1e8F * length(random);
  Coordinator rank0(starts, workers, Coordinator::Options{});
  for (int worker = 1; worker <= workers; ++worker) {
    WorkerReport report;
    report.ready.emplace().slots = static_cast<unsigned>(lanes);
    rank0.on_report(worker, report, 0);
  }
  double now_s = 0;
  double messages = 0;
  const double began_s = thread_cpu_seconds();
  while (!rank0.queue().finished()) {
    rank0.assign_plans(now_s);
    rank0.tick(now_s, 1e18);
    rank0.outbox.events.clear();
    now_s += plan_s;
    for (auto& [worker, given] : std::exchange(rank0.outbox.assignments, {})) {
      WorkerReport report;
      for (const QueueIndex plan : given)
        report.results.push_back({plan, TaskResult::Kind::solved, plan_s, 1, {}});
      messages += given.empty() ? 0 : 2;
      rank0.on_report(worker, std::move(report), now_s);
    }
  }
  const double cost_s = (thread_cpu_seconds() - began_s) / plans;
  std::printf(
      "%d x %g, %g plans: %.2f us and %.2f messages per plan: enough for %.0f lanes with plans of "
      "%g "
      "s\n",
      workers, lanes, plans, 1e6 * cost_s, messages / plans, plan_s / cost_s, plan_s);
}
