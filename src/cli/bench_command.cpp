#include <fmt/format.h>

#include <functional>
#include <limits>

#include "bench/cpu_bench.hpp"
#include "bench/gpu_bench.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/run_option_parser.hpp"
#include "core/generator.hpp"
#include "io/print_error.hpp"
#include "node/local_machine.hpp"
#include "store/packs/plan_pack.hpp"
#include "view/bench_report.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

std::vector<BenchPlan> bench_plans(const std::filesystem::path& data, int count, std::size_t size) {
  std::vector<BenchPlan> plans;
  if (data.empty()) {
    for (int index = 0; index < count; ++index) {
      plans.push_back({fmt::format("{:05}", index + 1),
                       generate_floor_plan(1, static_cast<std::uint64_t>(index), size)});
    }
    return plans;
  }
  const auto source = open_plan_source(data);
  auto ids = source->ids().ids;
  if (ids.size() > static_cast<std::size_t>(count)) ids.resize(static_cast<std::size_t>(count));
  for (const std::string& id : ids) plans.push_back({id, source->load(id)});
  return plans;
}

/// What a GPU is measured with.
struct GpuBenchPlans {
  std::vector<FloorPlan> in_memory;
  PlanFiles files;  ///< count 0: none
};

/// The same plans for a GPU, which takes all of a data set end to end.
GpuBenchPlans gpu_bench_plans(const std::filesystem::path& data, int count, std::size_t size) {
  const auto first = static_cast<std::size_t>(count);
  if (data.empty()) return {generate_floor_plans(first, size), {}};
  const SharedPlanSource source = open_plan_source(data);
  const auto ids = source->ids().ids;
  GpuBenchPlans plans;
  for (BenchPlan& plan : bench_plans(data, count, size))
    plans.in_memory.push_back(std::move(plan.plan));
  plans.files = {data.string(), ids.size(),
                 [source, ids](std::size_t number) { return source->load(ids[number]); }};
  return plans;
}

/// The cores that share the socket of the first.
std::vector<int> cpus_of_a_socket() {
  const Machine machine = local_machine();
  std::vector<int> cpus;
  for (const Core& core : machine.cores)
    if (core.socket == machine.cores.front().socket) cpus.push_back(core.cpu);
  return cpus;
}

/// Measures the first GPU against this process's first CPU socket, with the limits and the CPU
/// solver of `solver`, and prints tables or JSON; `plans` is called once it is known that there is
/// a GPU; `quick` leaves out the search for break-even and takes seconds. Throws RunError if there
/// is none.
void bench_gpu(const SolverOptions& solver, const std::function<GpuBenchPlans()>& plans, bool quick,
               bool json) {
  const Gpu gpu = gpu_to_measure();
  const std::vector<int> cpus = cpus_of_a_socket();
  GpuBenchPlans given = plans();
  GpuBenchSettings settings;
  settings.limits = solver.limits;
  settings.most_in_flight = given.in_memory.size();
  settings.plans = std::move(given.in_memory);
  settings.files = std::move(given.files);
  settings.cpu_cores = cpus.size();
  settings.cpu_solver = [&](std::size_t thread) {
    bind_this_thread({cpus.at(thread)});
    return solver.make();
  };
  if (quick) settings.make_quick();
  settings.tell = [](const std::string& what) { print_error("measuring {}", what); };
  const GpuBench bench = measure_gpu(gpu, settings);
  if (json) {
    fmt::print("{}", to_json_text(bench));
  } else {
    fmt::print("{}", to_text(bench));
  }
}

}  // namespace

int bench_command(const Arguments& arguments) {
  std::filesystem::path data;
  int count = 0;
  int repeat = 0;
  std::int64_t size = 0;
  bool json = false;
  bool scaling_wanted = false;
  bool quick = false;
  bool solvers = false;
  std::string device;
  SolverOptionParser solver_options;
  Options options(
      "bench [options]",
      "Measures the solver on given plans, or on generated ones, against what this core could do "
      "at best: reading, storing and scheduling are left out. Wants an idle machine.\nThe ceiling "
      "is the additions that the core makes a second, divided by the three that an update needs. "
      "The density is the share of interior cells among all that a sweep goes over.\nWith "
      "--device gpu: the first GPU against its own ceilings, a plain kernel and this CPU socket, "
      "for 1, 2, 4, ... plans in flight, and end to end; takes some minutes.");
  options.add("device", value(device, "NAME", "cpu"), "cpu or gpu");
  options.add("data,d", value(data, "PLANS"),
              "directory or pack of plans to use; default: generated ones (seed 1)");
  constexpr int by_device = std::numeric_limits<int>::min();
  options.add("plans", value(count, "N", by_device, "8, on a GPU 512, 64 if quick"),
              "the first N plans; on a GPU also the most in flight");
  options.add("size", value(size, "CELLS", 512), "cells along a side of generated plans");
  options.add("repeat", value(repeat, "N", 5), "measurements of each figure (CPU)");
  options.add("scaling", value(scaling_wanted, "BOOL", true),
              "measure 1, 2, 4, ... threads, too (CPU)");
  options.add("quick", flag(quick),
              "compare 64 plans bit by bit and measure for seconds, not minutes (GPU)");
  options.add("solvers", flag(solvers),
              "compare the solvers in place of that: time, sweeps, error against the steady "
              "state, proven bound (CPU)");
  options.add("json", flag(json), "print JSON instead of tables");
  solver_options.declare(options);
  options.words("device", {"cpu", "gpu"});
  if (!options.parse(arguments)) return exit_done;
  (void)choose<bool>("device", device, {{"cpu", false}, {"gpu", true}});
  if (quick && device != "gpu") throw UsageError("--quick needs --device gpu");
  if (count == by_device) count = device != "gpu" ? 8 : quick ? 64 : 512;
  if (count < 1) throw UsageError("--plans must be at least 1");
  if (repeat < 1) throw UsageError("--repeat must be at least 1");
  if (size < 16 || size > 16384) throw UsageError("--size must be from 16 to 16384 cells");

  const SolverOptions solver = solver_options.finish(data);
  if (solvers && device == "gpu") throw UsageError("--solvers runs on the CPU");
  if (solver.kind != SolverKind::jacobi)
    throw UsageError("the ceiling is that of jacobi, so leave out --solver; --solvers shows all");
  if (device == "gpu") {
    bench_gpu(
        solver, [&] { return gpu_bench_plans(data, count, static_cast<std::size_t>(size)); }, quick,
        json);
    return exit_done;
  }
  const auto plans = bench_plans(data, count, static_cast<std::size_t>(size));
  if (solvers) {
    const auto comparisons = compare_solvers(plans, solver, repeat);
    if (json) {
      fmt::print("{}", to_json_text(comparisons, solver.device_text()));
    } else {
      print_tables(comparisons, solver.device_text());
    }
    return exit_done;
  }
  const CpuBench bench = measure_cpu(plans, solver, repeat, scaling_wanted);
  if (json) {
    fmt::print("{}", to_json_text(bench));
  } else {
    print_tables(bench);
  }
  return exit_done;
}

}  // namespace wallheat
