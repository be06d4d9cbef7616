#include "bench/gpu_bench.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "core/generator.hpp"
#include "core/parallel_for.hpp"
#include "core/plural.hpp"
#include "solve/same_bits.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Solves plans on the GPU and on the CPU's cores. Returns how many.
std::size_t compare(GpuDevice& device, const GpuBenchSettings& settings) {
  const std::size_t count = std::min<std::size_t>(settings.plans.size(), 64);
  settings.tell(std::to_string(count) +
                " plans on the GPU and on the CPU: they must agree in every bit");
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
                       ": GPU and CPU give different answers, so there is nothing to measure");
    };
  });
  return count;
}

}  // namespace

GpuBench measure_gpu(GpuDevice& device, const GpuBenchSettings& settings) {
  GpuBench bench{.compared = compare(device, settings), .cpu_cores = settings.cpu_cores};
  const SolverFactory gpu_solver = [&](std::size_t) { return device.make_solver(); };
  const auto flow = [&](std::size_t in_flight, const SolverFactory& make_solver,
                        const std::vector<FloorPlan>& plans) {
    return measure_flow(in_flight, in_flight, settings.least_s, make_solver, plans,
                        settings.limits);
  };
  const std::size_t most = device.plans_at_once();
  for (std::size_t in_flight = 1; in_flight <= most;
       in_flight = in_flight < most ? std::min(2 * in_flight, most) : most + 1) {
    settings.tell(counted(in_flight, "plan") + " in flight");
    bench.flows.push_back(flow(in_flight, gpu_solver, settings.plans));
  }
  for (const std::size_t side : settings.sides) {
    settings.tell("plans of " + std::to_string(side) + " x " + std::to_string(side) + " cells");
    constexpr std::size_t different_plans = 32;
    const auto plans = generate_floor_plans(different_plans, side);
    bench.sides.push_back({side, flow(most, gpu_solver, plans).plans_per_s(),
                           flow(settings.cpu_cores, settings.cpu_solver, plans).plans_per_s()});
  }
  return bench;
}

GpuBench measure_first_gpu(const std::function<GpuBenchSettings()>& settings) {
  const GpuSupport support = gpu_support();
  if (support.gpus.empty()) throw RunError("there is no GPU to measure: " + support.reason);
  const Gpu& gpu = support.gpus.front();
  const GpuBenchSettings asked = settings();
  const auto device =
      open_gpu(gpu.ordinal, [&](const std::string& warning) { asked.tell("(" + warning + ")"); });
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
