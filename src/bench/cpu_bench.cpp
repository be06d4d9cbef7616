#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <limits>
#include <memory>

#include "bench/bench.hpp"
#include "core/cell_statistics.hpp"
#include "core/generator.hpp"
#include "core/threads.hpp"
#include "node/local_machine.hpp"
#include "solve/cpu/active_blocks.hpp"
#include "solve/isa.hpp"

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Measures the upper bound of cell updates per second. Takes about 10 ms; returns the best of
/// several attempts.
double measure_update_ceiling(Isa isa) {
  constexpr int attempts = 5;
  constexpr double try_s = 0.002;
  constexpr double additions_an_update = 3;
  constexpr std::int64_t rounds = 4096;
  const auto add = kernels_for(isa).sweeps.add;
  double best = 0;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const double start_s = thread_cpu_seconds();
    double updates = 0;
    double seconds = 0;
    while (seconds < try_s) {
      updates += static_cast<double>(add(rounds)) / additions_an_update;
      seconds = thread_cpu_seconds() - start_s;
    }
    best = std::max(best, updates / seconds);
  }
  return best;
}

double density(const FloorPlan& plan, Isa isa) {
  ActiveBlocks blocks;
  blocks.assign(plan.interior, kernels_for(isa).sweeps);
  return static_cast<double>(count_interior(plan)) / static_cast<double>(blocks.processed_cells());
}

double largest_difference(const Grid<double>& one, const Grid<double>& other) {
  double largest = 0;
  for (std::size_t cell = 0; cell < one.cells.size(); ++cell)
    largest = std::max(largest, std::abs(one.cells[cell] - other.cells[cell]));
  return largest;
}

/// Makes the solver process a plan with almost the same mask. Solvers keep data that depend on the
/// mask only, so a second solve of a plan would be faster than that of a new plan.
void change_mask(Solver& solver, const FloorPlan& plan, SolveParameters limits) {
  FloorPlan other = plan;
  if (other.interior.cells.empty()) return;
  std::uint8_t& corner = other.interior.cells.front();
  corner = corner == 0 ? 1 : 0;
  limits.max_iterations = 1;
  (void)solver.solve(other, limits, {});
}

struct Contender {
  SolverKind kind;
  std::unique_ptr<Solver> solver;
  Solution solution{};
  std::vector<double> cpu_s{};
};

/// Measures on the calling thread.
void measure_plans(const BenchPlans& plans, const CpuBenchSettings& settings, CpuBench& bench) {
  const SolverOptions& options = settings.options;
  std::vector<Contender> contenders;
  for (const SolverKind kind : settings.solvers) {
    SolverOptions own = options;
    own.kind = kind;
    contenders.push_back({kind, own.make()});
  }
  double all_cpu_s = 0;
  double all_wall_s = 0;
  for (std::size_t i = 0; i < plans.plans.size(); ++i) {
    const FloorPlan& plan = plans.plans[i];
    for (Contender& each : contenders) each.cpu_s.clear();
    for (int run = 0; run < settings.repeat; ++run) {
      for (Contender& each : contenders) {
        bench.ceiling_updates_per_s =
            std::max(bench.ceiling_updates_per_s, measure_update_ceiling(options.isa));
        change_mask(*each.solver, plan, options.limits);
        const auto start = Clock::now();
        const double cpu_start_s = thread_cpu_seconds();
        each.solution = *each.solver->solve(plan, options.limits, {});
        each.cpu_s.push_back(thread_cpu_seconds() - cpu_start_s);
        all_wall_s += std::chrono::duration<double>(Clock::now() - start).count();
        all_cpu_s += each.cpu_s.back();
      }
    }
    const auto steady = std::ranges::find(contenders, SolverKind::steady, &Contender::kind);
    for (Contender& each : contenders) {
      std::ranges::sort(each.cpu_s);
      const Solution& solution = each.solution;
      const bool is_steady = each.kind == SolverKind::steady;
      const double sweeps =
          solution.sweeps > 0 ? solution.sweeps : static_cast<double>(solution.iterations);
      bench.plans.push_back({plans.ids[i], count_interior(plan), density(plan, options.isa),
                             each.kind, solution.iterations, is_steady ? nan : sweeps, each.cpu_s,
                             is_steady || steady == contenders.end()
                                 ? nan
                                 : largest_difference(solution.field, steady->solution.field),
                             solution.error_bound, solution.fell_back});
    }
  }
  if (all_wall_s > 0) bench.share_of_core = all_cpu_s / all_wall_s;
}

}  // namespace

CpuBench measure_cpu(const BenchPlans& plans, const CpuBenchSettings& settings) {
  CpuBench bench{.device = settings.options.device_text()};
  const std::vector<Core> cores = local_machine().cores;
  const auto bound_solver = [&](std::size_t thread) {
    bind_this_thread({cores[thread].cpu});
    return settings.options.make();
  };
  // Runs on a separate thread, because it is bound to one core.
  std::async(std::launch::async, [&] {
    bind_this_thread({cores.front().cpu});
    measure_plans(plans, settings, bench);
  }).get();
  for (std::size_t threads = 1; settings.scaling && threads <= cores.size();
       threads = std::min(threads * 2, std::max(cores.size(), threads + 1))) {
    Throughput median_flow;
    std::vector<double> rates;
    for (int run = 0; run < settings.repeat; ++run) {
      median_flow = measure_throughput(threads, threads * plans.plans.size(), 0, bound_solver,
                                       plans.plans, settings.options.limits);
      rates.push_back(median_flow.updates_per_s());
    }
    // All runs solve the same plans, so only their durations differ.
    median_flow.seconds = median_flow.updates / median(std::move(rates));
    bench.scaling.push_back(median_flow);
  }
  return bench;
}

double measure_sample_plan_s(Solver& solver) {
  const FloorPlan plan = generate_floor_plan(1, 0, sample_grid_size);
  double best_s = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt < 3; ++attempt) {  // other processes may be running
    change_mask(solver, plan, {});
    const double start_s = thread_cpu_seconds();
    (void)solver.solve(plan, {}, {});
    best_s = std::min(best_s, thread_cpu_seconds() - start_s);
  }
  return best_s;
}

}  // namespace wallheat
