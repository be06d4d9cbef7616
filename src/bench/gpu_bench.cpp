#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <exception>
#include <future>
#include <mutex>
#include <thread>

#include "bench/bench.hpp"
#include "core/generator.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"
#include "solve/gpu/device.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

Throughput measure_throughput(std::size_t in_flight, std::size_t count, double min_s,
                              const SolverFactory& make_solver, const std::vector<FloorPlan>& plans,
                              const SolveParameters& limits) {
  using Clock = std::chrono::steady_clock;
  Throughput throughput{.in_flight = in_flight};
  Clock::time_point start;
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  std::barrier together(static_cast<std::ptrdiff_t>(in_flight),
                        [&]() noexcept { start = Clock::now(); });
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  const auto solve_plans = [&](std::size_t thread) {
    std::unique_ptr<Solver> solver;
    std::exception_ptr failure;
    try {
      solver = make_solver(thread);
      (void)solver->solve(plans.front(), {0, 1}, {});
    } catch (...) {
      failure = std::current_exception();
    }
    together.arrive_and_wait();
    if (failure) std::rethrow_exception(failure);
    for (std::size_t number = next++; number < count || seconds() < min_s; number = next++) {
      const FloorPlan& plan = plans[number % plans.size()];
      const auto solution = solver->solve(plan, limits, {});
      const std::scoped_lock lock(mutex);
      ++throughput.plans;
      throughput.updates += static_cast<double>(count_interior(plan)) *
                            static_cast<double>(solution.value().iterations);
    }
  };
  std::vector<std::future<void>> threads;
  for (std::size_t thread = 0; thread < in_flight; ++thread)
    threads.push_back(std::async(std::launch::async, solve_plans, thread));
  for (const auto& thread : threads) thread.wait();
  throughput.seconds = seconds();
  for (auto& thread : threads) thread.get();
  return throughput;
}

namespace {

/// Solves plans on the GPU and on the cores of the CPU, and compares the results. Returns the
/// number of plans.
std::size_t compare(GpuDevice& device, const GpuBenchSettings& settings) {
  const std::size_t count = std::min<std::size_t>(settings.plans.size(), 64);
  settings.log(std::to_string(count) +
               " plans on the GPU and on the CPU: the results must be bit-identical");
  std::vector<Solution> answers(count);
  parallel_for(device.plans_at_once(), count, [&] {
    return [&, solver = device.make_solver()](std::size_t plan) {
      answers[plan] = solver->solve(settings.plans[plan], settings.limits, {}).value();
    };
  });
  std::atomic<std::size_t> threads = 0;
  parallel_for(settings.cpu_cores, count, [&] {
    return [&, solver = settings.cpu_solver(threads++)](std::size_t plan) {
      if (!same_bits(solver->solve(settings.plans[plan], settings.limits, {}).value(),
                     answers[plan]))
        throw RunError("plan number " + std::to_string(plan) +
                       ": GPU and CPU give different results, so the benchmark was aborted");
    };
  });
  return count;
}

}  // namespace

GpuBench measure_gpu(GpuDevice& device, const GpuBenchSettings& settings) {
  GpuBench bench{.compared = compare(device, settings), .cpu_cores = settings.cpu_cores};
  const SolverFactory gpu_solver = [&](std::size_t) { return device.make_solver(); };
  const auto throughput = [&](std::size_t in_flight, const SolverFactory& make_solver,
                              const std::vector<FloorPlan>& plans) {
    return measure_throughput(in_flight, in_flight, settings.min_seconds, make_solver, plans,
                              settings.limits);
  };
  const std::size_t most = device.plans_at_once();
  for (std::size_t in_flight = 1; in_flight <= most;
       in_flight = in_flight < most ? std::min(2 * in_flight, most) : most + 1) {
    settings.log(count_text(in_flight, "plan") + " in flight");
    bench.flows.push_back(throughput(in_flight, gpu_solver, settings.plans));
  }
  for (const std::size_t side : settings.sides) {
    settings.log("plans of " + std::to_string(side) + " x " + std::to_string(side) + " cells");
    constexpr std::size_t different_plans = 32;
    const auto plans = generate_floor_plans(different_plans, side);
    bench.sides.push_back(
        {side, throughput(most, gpu_solver, plans).plans_per_s(),
         throughput(settings.cpu_cores, settings.cpu_solver, plans).plans_per_s()});
  }
  return bench;
}

GpuBench measure_first_gpu(const std::function<GpuBenchSettings()>& settings) {
  const GpuSupport support = gpu_support();
  if (support.gpus.empty()) throw RunError("no GPU to measure: " + support.reason);
  const Gpu& gpu = support.gpus.front();
  const GpuBenchSettings asked = settings();
  const auto device =
      open_gpu(gpu.ordinal, [&](const std::string& warning) { asked.log("(" + warning + ")"); });
  GpuBench bench = measure_gpu(*device, asked);
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
