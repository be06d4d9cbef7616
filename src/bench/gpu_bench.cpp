#include "bench/gpu_bench.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "bench/seconds_since.hpp"
#include "core/generator.hpp"
#include "core/parallel_for.hpp"
#include "node/gpu_telemetry.hpp"
#include "solve/gpu/solver.hpp"
#include "solve/same_bits.hpp"
#include "wallheat/error.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;

/// What one thread does with one plan: returns the interior cells' updates.
using Work = std::function<double(Solver&, std::size_t plan)>;

/// A flow to be measured: at least so many plans, and for at least so long.
struct FlowTask {
  std::size_t in_flight = 1;
  std::size_t plans = 1;
  double least_s = 0;
  SolverFactory solver;
  const FloorPlan* first_plan = nullptr;  ///< for the iteration that is not timed
  Work work;
};

/// Gathers samples from a second on, as NVML looks back that far.
GpuUsage sample_until(const std::stop_token& stop, const std::function<GpuSample()>& sample) {
  GpuUsage usage;
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  auto pause = std::chrono::milliseconds(1000);
  while (!stopped.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
    usage.add(sample());
    pause = std::chrono::milliseconds(250);
  }
  return usage;
}

Flow measure_flow(const FlowTask& task, const std::function<GpuSample()>& sample = {}) {
  Flow flow;
  flow.in_flight = task.in_flight;
  std::atomic<bool> failed = false;
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  Clock::time_point start;
  std::barrier together(static_cast<std::ptrdiff_t>(task.in_flight),
                        [&]() noexcept { start = Clock::now(); });
  const auto make_solver = [&](std::size_t thread) {
    try {
      auto solver = task.solver(thread);
      (void)solver->solve(*task.first_plan, {0, 1}, {});
      return solver;
    } catch (...) {
      failed = true;
      together.arrive_and_drop();
      throw;
    }
  };
  const auto solve_plans = [&](std::size_t thread) {
    const auto solver = make_solver(thread);
    together.arrive_and_wait();
    std::size_t plans = 0;
    double updates = 0;
    try {
      while (!failed) {
        const std::size_t plan = next++;
        if (plan >= task.plans && seconds_since(start) >= task.least_s) break;
        updates += task.work(*solver, plan);
        ++plans;
      }
    } catch (...) {
      failed = true;
      throw;
    }
    const std::scoped_lock lock(mutex);
    flow.plans += plans;
    flow.updates += updates;
  };
  std::stop_source stop;
  std::vector<std::future<void>> threads;
  for (std::size_t thread = 0; thread < task.in_flight; ++thread)
    threads.push_back(std::async(std::launch::async, solve_plans, thread));
  std::future<GpuUsage> usage;
  if (sample) usage = std::async(std::launch::async, sample_until, stop.get_token(), sample);
  for (const auto& thread : threads) thread.wait();
  flow.seconds = seconds_since(start);
  stop.request_stop();
  for (auto& thread : threads) thread.get();
  if (sample) flow.gpu = usage.get();
  return flow;
}

double updates_of(const FloorPlan& plan, const Solution& solution) {
  return static_cast<double>(count_interior(plan)) * static_cast<double>(solution.iterations);
}

/// All that a worker does for a plan, but for the message to rank 0.
double solve_and_summarise(Solver& solver, const FloorPlan& plan, const Limits& limits) {
  const Solution solution = solver.solve(plan, limits, {}).value();
  // Volatile: nobody looks at it.
  [[maybe_unused]] volatile double mean = statistics(solution.field, plan.interior).mean_temp;
  return updates_of(plan, solution);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct TimedPlan {
  double seconds = 0;  ///< median
  double updates = 0;
};

/// A plan alone.
TimedPlan time_alone(Solver& solver, const FloorPlan& plan, const Limits& limits) {
  constexpr int repeats = 5;
  std::vector<double> seconds;
  double updates = 0;
  for (int run = 0; run < repeats; ++run) {
    const auto start = Clock::now();
    const Solution solution = solver.solve(plan, limits, {}).value();
    seconds.push_back(seconds_since(start));
    updates = updates_of(plan, solution);
  }
  return {median(std::move(seconds)), updates};
}

class Measurement {
 public:
  Measurement(const GpuUnderTest& gpu, const GpuBenchSettings& settings)
      : gpu_(gpu), settings_(settings) {
    if (settings.plans.empty()) throw RunError("there is no plan to measure with");
    gpu_solver_ = [this](std::size_t) { return gpu_.device->make_solver(); };
  }

  GpuBench run() {
    GpuBench bench;
    bench.name = gpu_.name;
    bench.ceiling = gpu_.ceiling;
    bench.cpu_cores = settings_.cpu_cores;
    bench.copies = gpu_.copies;
    bench.compared = compare();
    bench.alone = measure_alone();
    for (const std::size_t count : {1, 16})
      bench.baseline.push_back(measure_solving("the baseline kernel, ", count, gpu_.baseline));
    for (std::size_t count = 1; count <= settings_.most_in_flight; count *= 2)
      bench.flows.push_back(measure_solving("", count, gpu_solver_));
    const std::size_t at_once = std::min(gpu_.device->plans_at_once(), settings_.most_in_flight);
    for (const auto& [name, solver] : gpu_.kernels)
      bench.by_kernel.push_back(
          {name, measure_solving("the kernel " + name + ", ", at_once, solver)});
    bench.end_to_end = measure_end_to_end();
    bench.end_to_end_source = settings_.files.count > 0 ? settings_.files.name : "memory";
    for (const std::size_t side : settings_.sides) bench.sides.push_back(measure_side(side));
    bench.break_even_side = break_even_side(bench.sides);
    bench.kernels = gpu_.device->kernels();
    return bench;
  }

 private:
  void tell(const std::string& what) const {
    if (settings_.tell) settings_.tell(what);
  }

  /// Solves the first plans on the GPU and on the CPU's cores. Returns how many; throws RunError
  /// where an answer differs in a bit.
  std::size_t compare() {
    const auto& plans = settings_.plans;
    const std::size_t count = std::min(plans.size(), settings_.compared);
    tell(std::to_string(count) + " plans on the GPU and on the CPU: they must agree in every bit");
    std::vector<Solution> answers(count);
    const std::size_t in_flight = std::min(gpu_.device->plans_at_once(), count);
    (void)measure_flow(
        {in_flight, count, 0, gpu_solver_, plans.data(), [&](Solver& solver, std::size_t plan) {
           answers[plan] = solver.solve(plans[plan], settings_.limits, {}).value();
           return 0.0;
         }});
    const std::size_t cores = std::min(settings_.cpu_cores, count);
    (void)measure_flow(
        {cores, count, 0, settings_.cpu_solver, plans.data(),
         [&](Solver& solver, std::size_t plan) {
           if (!same_bits(solver.solve(plans[plan], settings_.limits, {}).value(), answers[plan]))
             throw RunError("plan number " + std::to_string(plan) +
                            ": GPU and CPU give different answers, so there is nothing to measure");
           return 0.0;
         }});
    return count;
  }

  /// The CPU's on a thread of its own, as the factory may bind it to a core.
  std::vector<AloneTime> measure_alone() {
    tell("single plans, on the GPU and on one core");
    const std::size_t count = std::min<std::size_t>(settings_.plans.size(), 3);
    std::vector<AloneTime> times;
    const auto on_gpu = gpu_solver_(0);
    for (std::size_t plan = 0; plan < count; ++plan) {
      const auto [seconds, updates] = time_alone(*on_gpu, settings_.plans[plan], settings_.limits);
      times.push_back({plan, seconds, 0, updates});
    }
    std::async(std::launch::async, [&] {
      const auto on_cpu = settings_.cpu_solver(0);
      for (AloneTime& time : times)
        time.cpu_core_s = time_alone(*on_cpu, settings_.plans[time.plan], settings_.limits).seconds;
    }).get();
    return times;
  }

  /// Solves plans that are in memory, and does nothing else.
  Flow measure_solving(const std::string& what, std::size_t in_flight,
                       const SolverFactory& solver) {
    tell(what + std::to_string(in_flight) + " plan(s) in flight");
    const auto& plans = settings_.plans;
    const Work work = [&](Solver& own, std::size_t number) {
      const FloorPlan& plan = plans[number % plans.size()];
      return updates_of(plan, own.solve(plan, settings_.limits, {}).value());
    };
    return measure_flow({in_flight, in_flight, settings_.least_s, solver, plans.data(), work},
                        gpu_.sample);
  }

  Flow measure_end_to_end() {
    tell("end to end");
    const PlanFiles& files = settings_.files;
    const Work work = [&](Solver& solver, std::size_t number) {
      const FloorPlan plan = files.count > 0 ? files.load(number % files.count)
                                             : settings_.plans[number % settings_.plans.size()];
      return solve_and_summarise(solver, plan, settings_.limits);
    };
    // Long enough for NVML to see what goes on; each plan of a larger data set once.
    const double least_s = 3 * settings_.least_s;
    const std::size_t in_flight = gpu_.device->plans_at_once();
    return measure_flow({in_flight, std::max(files.count, in_flight), least_s, gpu_solver_,
                         &settings_.plans.front(), work},
                        gpu_.sample);
  }

  SideRate measure_side(std::size_t side) {
    tell("plans of " + std::to_string(side) + " x " + std::to_string(side) + " cells");
    constexpr std::size_t different_plans = 32;
    const auto plans = generate_floor_plans(different_plans, side);
    const Work work = [&](Solver& solver, std::size_t number) {
      return solve_and_summarise(solver, plans[number % plans.size()], settings_.limits);
    };
    const double least_s = settings_.least_s / 2;
    const std::size_t in_flight = gpu_.device->plans_at_once();
    const Flow on_gpu =
        measure_flow({in_flight, in_flight, least_s, gpu_solver_, plans.data(), work});
    const Flow on_cpu = measure_flow({settings_.cpu_cores, settings_.cpu_cores, least_s,
                                      settings_.cpu_solver, plans.data(), work});
    return {side, on_gpu.plans_per_s(), on_cpu.plans_per_s()};
  }

  const GpuUnderTest& gpu_;
  const GpuBenchSettings& settings_;
  SolverFactory gpu_solver_;
};

/// Those of the device's kernels that any plan can be solved with, or that hand over to another
/// what they do not hold.
std::vector<NamedSolver> kernels_of(GpuDevice& device) {
  auto& with_kernels = dynamic_cast<gpu::DeviceWithKernels&>(device);
  std::vector<NamedSolver> kernels;
  for (const gpu::Kernel kernel : gpu::every_kernel) {
    if (!with_kernels.has(kernel)) continue;
    kernels.push_back({gpu::to_string(kernel), [&with_kernels, kernel](std::size_t) {
                         return with_kernels.make_solver(kernel);
                       }});
  }
  return kernels;
}

}  // namespace

const Flow& GpuBench::best(const std::vector<Flow>& flows) {
  return *std::max_element(flows.begin(), flows.end(), [](const Flow& a, const Flow& b) {
    return a.updates_per_s() < b.updates_per_s();
  });
}

double GpuBench::speedup_alone() const {
  double gpu_s = 0;
  double cpu_s = 0;
  for (const AloneTime& time : alone) {
    gpu_s += time.gpu_s;
    cpu_s += time.cpu_core_s;
  }
  return cpu_s / gpu_s;
}

Offload GpuBench::offload(bool pinned) const {
  double updates = 0;
  double core_s = 0;
  for (const AloneTime& time : alone) {
    updates += time.updates;
    core_s += time.cpu_core_s;
  }
  const double up = pinned ? copies.up_pinned : copies.up_pageable;
  const double down = pinned ? copies.down_pinned : copies.down_pageable;
  return {.bytes_per_s = 2 / (1 / up + 1 / down),  // as many bytes go up as down
          .cpu_per_s = static_cast<double>(cpu_cores) * updates / core_s,
          .gpu_per_s = best(flows).updates_per_s(),
          .start_s = sides.empty() ? std::nan("") : 1 / sides.front().gpu_plans_per_s};
}

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

GpuBench measure_gpu(const GpuUnderTest& gpu, const GpuBenchSettings& settings) {
  return Measurement(gpu, settings).run();
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
  GpuUnderTest under_test{.name = gpu.name + ", " + gpu.uuid,
                          .device = device.get(),
                          .kernels = kernels_of(*device),
                          .baseline = {},
                          .ceiling = measure_gpu_ceiling(gpu.ordinal),
                          .copies = measure_gpu_copies(gpu.ordinal),
                          .sample = {}};
  under_test.baseline = [&](std::size_t) { return make_gpu_baseline_solver(gpu.ordinal); };
  std::optional<GpuTelemetry> telemetry;
  try {
    telemetry.emplace(gpu.uuid);
    under_test.sample = [&] { return telemetry->sample(); };
  } catch (const RunError& error) {
    if (settings.tell)
      settings.tell(std::string("(without its utilisation: ") + error.what() + ")");
  }
  return measure_gpu(under_test, settings);
}

std::vector<FloorPlan> generate_floor_plans(std::size_t count, std::size_t side) {
  std::vector<FloorPlan> plans(count);
  parallel_for(std::max(1U, std::thread::hardware_concurrency()), count, [&] {
    return [&](std::size_t plan) { plans[plan] = generate_floor_plan(1, plan, side); };
  });
  return plans;
}

}  // namespace wallheat
