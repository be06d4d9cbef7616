#include "bench/gpu_bench.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <future>
#include <mutex>
#include <thread>

#include "bench/seconds_since.hpp"
#include "core/generator.hpp"
#include "core/parallel_for.hpp"
#include "core/plural.hpp"
#include "solve/same_bits.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;

/// What a thread does with a plan by its number: returns the interior cells' updates.
using Work = std::function<double(Solver& solver, std::size_t number)>;

/// At least so many plans, and for at least so long; `first_plan` is for the iteration that is not
/// timed. Throws what solvers and work throw.
Flow measure_flow(std::size_t in_flight, std::size_t plans, double least_s,
                  const SolverFactory& make_solver, const FloorPlan& first_plan, const Work& work) {
  Flow flow;
  flow.in_flight = in_flight;
  std::atomic<bool> failed = false;
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  Clock::time_point start;
  std::barrier together(static_cast<std::ptrdiff_t>(in_flight),
                        [&]() noexcept { start = Clock::now(); });
  const auto solve_plans = [&](std::size_t thread) {
    std::unique_ptr<Solver> solver;
    try {
      solver = make_solver(thread);
      (void)solver->solve(first_plan, {0, 1}, {});
    } catch (...) {
      failed = true;
      together.arrive_and_drop();
      throw;
    }
    together.arrive_and_wait();
    std::size_t solved = 0;
    double updates = 0;
    try {
      while (!failed) {
        const std::size_t number = next++;
        if (number >= plans && seconds_since(start) >= least_s) break;
        updates += work(*solver, number);
        ++solved;
      }
    } catch (...) {
      failed = true;
      throw;
    }
    const std::scoped_lock lock(mutex);
    flow.plans += solved;
    flow.updates += updates;
  };
  std::vector<std::future<void>> threads;
  for (std::size_t thread = 0; thread < in_flight; ++thread)
    threads.push_back(std::async(std::launch::async, solve_plans, thread));
  for (const auto& thread : threads) thread.wait();
  flow.seconds = seconds_since(start);
  for (auto& thread : threads) thread.get();
  return flow;
}

class Measurement {
 public:
  Measurement(GpuDevice& device, const GpuBenchSettings& settings)
      : device_(device), settings_(settings) {}

  GpuBench run() {
    GpuBench bench;
    bench.cpu_cores = settings_.cpu_cores;
    bench.compared = compare();
    const std::size_t most = device_.plans_at_once();
    for (std::size_t in_flight = 1; in_flight <= most;
         in_flight = in_flight < most ? std::min(2 * in_flight, most) : most + 1) {
      tell(counted(in_flight, "plan") + " in flight");
      bench.flows.push_back(solve_again(in_flight, gpu_solver_, settings_.plans));
    }
    for (const std::size_t side : settings_.sides) {
      tell("plans of " + std::to_string(side) + " x " + std::to_string(side) + " cells");
      constexpr std::size_t different_plans = 32;
      const auto plans = generate_floor_plans(different_plans, side);
      bench.sides.push_back(
          {side, solve_again(most, gpu_solver_, plans).plans_per_s(),
           solve_again(settings_.cpu_cores, settings_.cpu_solver, plans).plans_per_s()});
    }
    bench.break_even_side = break_even_side(bench.sides);
    return bench;
  }

 private:
  void tell(const std::string& what) const {
    if (settings_.tell) settings_.tell(what);
  }

  /// Solves plans on the GPU and on the CPU's cores. Returns how many; throws RunError if an answer
  /// differs in a bit.
  std::size_t compare() {
    const auto& plans = settings_.plans;
    const std::size_t count = std::min<std::size_t>(plans.size(), 64);
    tell(std::to_string(count) + " plans on the GPU and on the CPU: they must agree in every bit");
    std::vector<Solution> answers(count);
    (void)measure_flow(std::min(device_.plans_at_once(), count), count, 0, gpu_solver_,
                       plans.front(), [&](Solver& solver, std::size_t plan) {
                         answers[plan] = solver.solve(plans[plan], settings_.limits, {}).value();
                         return 0.0;
                       });
    (void)measure_flow(
        std::min(settings_.cpu_cores, count), count, 0, settings_.cpu_solver, plans.front(),
        [&](Solver& solver, std::size_t plan) {
          if (!same_bits(solver.solve(plans[plan], settings_.limits, {}).value(), answers[plan]))
            throw RunError("plan number " + std::to_string(plan) +
                           ": GPU and CPU give different answers, so there is nothing to measure");
          return 0.0;
        });
    return count;
  }

  /// Plans that are in memory, and nothing else.
  Flow solve_again(std::size_t in_flight, const SolverFactory& make_solver,
                   const std::vector<FloorPlan>& plans) {
    return measure_flow(in_flight, in_flight, settings_.least_s, make_solver, plans.front(),
                        [&](Solver& solver, std::size_t number) {
                          const FloorPlan& plan = plans[number % plans.size()];
                          const auto solution = solver.solve(plan, settings_.limits, {});
                          return static_cast<double>(count_interior(plan)) *
                                 static_cast<double>(solution.value().iterations);
                        });
  }

  GpuDevice& device_;
  const GpuBenchSettings& settings_;
  SolverFactory gpu_solver_ = [this](std::size_t) { return device_.make_solver(); };
};

}  // namespace

double break_even_side(const std::vector<SideRate>& rates) {
  const auto lead = [](const SideRate& rate) {
    return std::log(rate.gpu_plans_per_s / rate.cpu_plans_per_s);
  };
  auto first = rates.end();
  while (first != rates.begin() && lead(*(first - 1)) >= 0) --first;
  if (first == rates.end()) return std::nan("");
  const auto larger = static_cast<double>(first->side);
  if (first == rates.begin()) return larger;
  const SideRate& behind = *(first - 1);
  const auto smaller = static_cast<double>(behind.side);
  const double share = -lead(behind) / (lead(*first) - lead(behind));
  return smaller * std::pow(larger / smaller, share);
}

GpuBench measure_gpu(GpuDevice& device, const GpuBenchSettings& settings) {
  return Measurement(device, settings).run();
}

Gpu gpu_to_measure() {
  const GpuSupport support = gpu_support();
  if (!support.can_solve) throw RunError("there is no GPU to measure: " + support.reason);
  return support.gpus.front();
}

GpuBench measure_gpu(const Gpu& gpu, const GpuBenchSettings& settings) {
  const auto device = open_gpu(gpu.ordinal, [&](const std::string& warning) {
    if (settings.tell) settings.tell("(" + warning + ")");
  });
  GpuBench bench = measure_gpu(*device, settings);
  bench.name = gpu.name + ", " + gpu.uuid;
  return bench;
}

std::vector<FloorPlan> generate_floor_plans(std::size_t count, std::size_t side) {
  std::vector<FloorPlan> plans(count);
  parallel_for(std::max(1U, std::thread::hardware_concurrency()), count, [&] {
    return [&](std::size_t plan) { plans[plan] = generate_floor_plan(1, plan, side); };
  });
  return plans;
}

}  // namespace wallheat
