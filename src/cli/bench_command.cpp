#include <fmt/format.h>

#include "bench/bench.hpp"
#include "cli/commands.hpp"
#include "cli/plan_options.hpp"
#include "core/generator.hpp"
#include "io/standard_streams.hpp"
#include "node/local_machine.hpp"
#include "plans/plan_source.hpp"
#include "report/bench_report.hpp"
#include "run/plan_selection.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns the first `count` plans of `data`, or as many generated plans of each size.
BenchPlans bench_plans(const std::filesystem::path& data, std::size_t count,
                       const std::vector<std::size_t>& sizes) {
  BenchPlans plans;
  const auto add = [&](std::string id, FloorPlan plan) {
    plans.ids.push_back(std::move(id));
    plans.plans.push_back(std::move(plan));
  };
  if (data.empty()) {
    for (const std::size_t size : sizes)
      for (std::size_t i = 0; i < count; ++i)
        add(fmt::format("{0} x {0}, {1:05}", size, i + 1), generate_floor_plan(1, i, size));
    return plans;
  }
  const auto source = open_plan_source(data);
  const StringList ids = source->ids().ids.first(count);
  for (const std::string_view text : ids) {
    const std::string id(text);
    add(id, source->load(id));
  }
  return plans;
}

/// Returns one cpu per core of the socket that contains the first core.
std::vector<int> cpus_of_a_socket() {
  const Machine machine = local_machine();
  std::vector<int> cpus;
  for (const Core& core : machine.cores)
    if (core.socket == machine.cores.front().socket) cpus.push_back(core.cpu);
  return cpus;
}

/// Compares the first GPU with the first CPU socket of this process, with the limits and the CPU
/// solver of `solver`. Calls plans() only if there is a GPU. `quick` makes the benchmark take
/// seconds, and omits the grid sizes. Throws RunError if there is no GPU.
GpuBench bench_gpu(const SolverOptions& solver, const std::function<BenchPlans()>& plans,
                   bool quick) {
  const std::vector<int> cpus = cpus_of_a_socket();
  return measure_first_gpu([&] {
    GpuBenchSettings settings;
    settings.limits = solver.limits;
    settings.plans = plans().plans;
    settings.cpu_cores = cpus.size();
    settings.cpu_solver = [&](std::size_t thread) {
      bind_this_thread({cpus.at(thread)});
      return solver.make();
    };
    if (quick) settings.make_quick();
    settings.log = [](const std::string& what) { print_error("measuring {}", what); };
    return settings;
  });
}

/// Returns the time that each step of the published algorithm takes for a plan. Throws RunError if
/// the plan requires features that the algorithm does not have.
Report bench_reference(const std::string& id, const std::filesystem::path& data,
                       const SolverOptions& solver) {
  const SharedPlanSource source = open_plan_source(data);
  require_plans(*source, {id});
  const FloorPlan plan = source->load(id);
  if (plan.has_heat_source() || solver.limits.norm != Norm::max)
    throw RunError(
        fmt::format("plan {}: --reference supports neither heat sources nor --norm l2", id));
  return make_report(profile_reference(plan, solver), id, solver.device_text());
}

}  // namespace

Report bench_command(Options& options) {
  std::filesystem::path data;
  std::size_t count = 0;
  int repeat = 0;
  bool scaling_wanted = false;
  bool quick = false;
  bool solvers = false;
  bool on_gpu = false;
  std::vector<std::size_t> sizes;
  std::string reference;
  SolverOptions solver;
  options.describe(
      "[options]",
      "Measures the solver, without reading, storing and scheduling of plans, and compares it with "
      "the peak of this core. The machine should be idle.\nThe ceiling is the number of additions "
      "per second of the core, divided by the three additions of a cell update. The density is the "
      "share of interior cells among all cells that a sweep processes.\nWith --device gpu: "
      "measures the first GPU with 1, 2, 4, ... plans at a time, and compares it with this CPU "
      "socket over plan sizes; takes several minutes.",
      {"wallheat bench --plans 1 --sizes 96 --repeat 1 --scaling false",
       "wallheat bench --solvers --plans 1 --sizes 64,128 --repeat 1"});
  options.heading("Measurement");
  options.add("data,d", file(data, FileRole::plans, "PLANS"),
              "directory or zip archive of plans (default: generated plans)");
  options.add("plans", value(count, "N", 0, "8, on a GPU 64").at_least(1),
              "use the first N plans of --data, or N generated plans per size");
  options.add("sizes", number_list(sizes, "512", 16, 16384),
              "cells per side of generated plans, such as 64,128,256");
  options.add("device", choice(on_gpu, "NAME", "cpu", {{"cpu", false}, {"gpu", true}}),
              "cpu or gpu");
  options.add("solvers", flag(solvers),
              "compare the solvers: time, sweeps, error and proven error bound (CPU only)");
  options.add("reference", value(reference, "ID"),
              "show how long each step of the published algorithm takes for this plan of --data, "
              "with operations on whole arrays as in NumPy, and how long the solver takes for a "
              "bit-identical result (CPU only)");
  options.add("repeat", value(repeat, "N", 5).at_least(1),
              "number of measurements of each value (CPU only)");
  options.add("scaling", value(scaling_wanted, "BOOL", true),
              "also measure with 1, 2, 4, ... threads (CPU only)");
  options.add("quick", flag(quick),
              "compare 64 plans bit by bit, and measure for seconds instead of minutes (GPU only)");
  options.heading("Solver");
  declare_solver(options, solver, data);
  options.add_conflict("data", {"sizes"});
  options.add_conflict("quick", {"plot"});
  options.add_dependency("data", {"reference"});
  options.add_dependency("device", {"quick"});  // gpu is not the default
  options.add_conflict("device", {"solvers", "reference"});
  options.add_conflict("solvers", {"reference"});
  options.parse();
  if (options.was_given("plot") && !on_gpu && !solvers)
    throw UsageError("--plot requires --device gpu or --solvers");
  if (count == 0) count = on_gpu ? 64 : 8;
  if (!reference.empty()) return bench_reference(reference, data, solver);
  if (solver.kind != SolverKind::jacobi)
    throw UsageError(
        "the ceiling is known for jacobi only; omit --solver, or use --solvers to compare all "
        "solvers");
  const auto plans = [&] { return bench_plans(data, count, sizes); };
  if (on_gpu) return make_report(bench_gpu(solver, plans, quick));
  CpuBenchSettings settings{.options = solver, .repeat = repeat};
  if (solvers) settings.solvers.assign(solver_kinds.begin(), solver_kinds.end());
  settings.scaling = scaling_wanted && !solvers;
  return make_report(measure_cpu(plans(), settings));
}

}  // namespace wallheat
