#include "bench/cpu_bench.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <future>
#include <numeric>
#include <thread>

#include "bench/ceiling.hpp"
#include "bench/seconds_since.hpp"
#include "core/cpu_time.hpp"
#include "node/local_machine.hpp"
#include "solve/cpu/active_blocks.hpp"

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {values.front(), median, values.back()};
}

double density(const FloorPlan& plan, Isa isa) {
  ActiveBlocks blocks;
  blocks.assign(plan.interior, sweeps_for(isa));
  return static_cast<double>(count_interior(plan)) / static_cast<double>(blocks.processed_cells());
}

/// In turns with the ceiling, which it raises where it measures more.
PlanRate measure_plan(const BenchPlan& plan, Solver& solver, const SolverOptions& options,
                      int repeat, double& ceiling) {
  PlanRate rate{plan.id, count_interior(plan.plan), density(plan.plan, options.isa), 0, {}, {}};
  std::vector<double> cpu_s;
  std::vector<double> wall_s;
  for (int run = 0; run < repeat; ++run) {
    ceiling = std::max(ceiling, measure_update_ceiling(options.isa));
    const auto start = Clock::now();
    const double cpu_start_s = thread_cpu_seconds();
    rate.iterations = solver.solve(plan.plan, options.limits, {})->iterations;
    cpu_s.push_back(thread_cpu_seconds() - cpu_start_s);
    wall_s.push_back(seconds_since(start));
  }
  rate.cpu_s = spread_of(std::move(cpu_s));
  rate.wall_s = spread_of(std::move(wall_s));
  return rate;
}

/// All plans on each of `threads` pinned threads at once; interior cell updates per second
/// together.
double measure_threads(const std::vector<BenchPlan>& plans, double updates,
                       const SolverOptions& options, const std::vector<Core>& cores,
                       std::size_t threads) {
  Clock::time_point start;
  std::barrier together(static_cast<std::ptrdiff_t>(threads),
                        [&]() noexcept { start = Clock::now(); });
  {
    std::vector<std::jthread> workers;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      workers.emplace_back([&, thread] {
        bind_this_thread({cores[thread].cpu});
        const auto solver = options.make();
        together.arrive_and_wait();
        for (const BenchPlan& plan : plans) (void)solver->solve(plan.plan, options.limits, {});
      });
    }
  }
  return updates * static_cast<double>(threads) / seconds_since(start);
}

std::vector<ThreadRate> measure_scaling(const std::vector<BenchPlan>& plans, double updates,
                                        const SolverOptions& options, int repeat) {
  const std::vector<Core> cores = local_machine().cores;
  std::vector<ThreadRate> rates;
  for (std::size_t threads = 1; threads <= cores.size();
       threads = std::min(threads * 2, std::max(cores.size(), threads + 1))) {
    std::vector<double> measured;
    measured.reserve(static_cast<std::size_t>(repeat));
    for (int run = 0; run < repeat; ++run) {
      measured.push_back(measure_threads(plans, updates, options, cores, threads));
    }
    rates.push_back({threads, spread_of(std::move(measured)).median, 0});
    rates.back().speedup = rates.back().updates_per_s / rates.front().updates_per_s;
  }
  return rates;
}

}  // namespace

double CpuBench::share_of_core() const {
  double cpu_s = 0;
  double wall_s = 0;
  for (const PlanRate& plan : plans) {
    cpu_s += plan.cpu_s.median;
    wall_s += plan.wall_s.median;
  }
  return wall_s > 0 ? cpu_s / wall_s : 1;
}

CpuBench measure_cpu(const std::vector<BenchPlan>& plans, const SolverOptions& options, int repeat,
                     bool scaling) {
  CpuBench bench{options.device_text(), 0, {}, {}};
  // On a thread of its own, as it is bound to one core.
  std::async(std::launch::async, [&] {
    bind_this_thread({local_machine().cores.front().cpu});
    const auto solver = options.make();
    for (const BenchPlan& plan : plans) {
      bench.plans.push_back(
          measure_plan(plan, *solver, options, repeat, bench.ceiling_updates_per_s));
    }
  }).get();
  const double updates =
      std::accumulate(bench.plans.begin(), bench.plans.end(), 0.0,
                      [](double sum, const PlanRate& rate) { return sum + rate.updates(); });
  if (scaling) bench.scaling = measure_scaling(plans, updates, options, repeat);
  return bench;
}

}  // namespace wallheat
