#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "bench/cpu_bench.hpp"
#include "bench/gpu_bench.hpp"
#include "bench/reference_profile.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/picture_file.hpp"
#include "cli/run_option_parser.hpp"
#include "core/generator.hpp"
#include "core/number_of.hpp"
#include "io/print_error.hpp"
#include "node/local_machine.hpp"
#include "plans/plan_source.hpp"
#include "report/offload_report.hpp"
#include "run/catalogue.hpp"
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
  const TextList ids = source->ids().ids.first(static_cast<std::size_t>(count));
  for (const std::string_view text : ids) {
    const std::string id(text);
    plans.push_back({id, source->load(id)});
  }
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
/// a GPU; `quick` leaves out the sizes of plans and takes seconds. Throws RunError if there is
/// none.
void bench_gpu(const SolverOptions& solver, const std::function<std::vector<FloorPlan>()>& plans,
               bool quick, bool json, const PictureFile& picture) {
  const Gpu gpu = gpu_to_measure();
  const std::vector<int> cpus = cpus_of_a_socket();
  GpuBenchSettings settings;
  settings.limits = solver.limits;
  settings.plans = plans();
  settings.cpu_cores = cpus.size();
  settings.cpu_solver = [&](std::size_t thread) {
    bind_this_thread({cpus.at(thread)});
    return solver.make();
  };
  if (quick) settings.make_quick();
  settings.tell = [](const std::string& what) { print_error("measuring {}", what); };
  const GpuBench bench = measure_gpu(gpu, settings);
  picture.write([&] {
    return crossover_plot(fmt::format("{} against {} cores", gpu.name, bench.cpu_cores),
                          bench.sides, bench.break_even_side);
  });
  if (json) {
    fmt::print("{}", to_json_text(bench));
  } else {
    fmt::print("{}", to_text(bench));
    if (picture.wanted()) fmt::print("\npicture  {}\n", picture.path().string());
  }
}

/// Compares the solvers on one generated plan of each size.
void bench_sizes(const std::vector<std::size_t>& sizes, const SolverOptions& solver, int repeat,
                 bool json, const PictureFile& picture) {
  std::vector<BenchPlan> plans;
  for (const std::size_t size : sizes)
    plans.push_back({fmt::format("{0} x {0}", size), generate_floor_plan(1, 0, size)});
  const auto comparisons = compare_solvers(plans, solver, repeat);
  picture.write([&] {
    return solver_times_plot("a plan on one core of " + solver.device_text(), sizes, comparisons);
  });
  if (json) {
    fmt::print("{}", to_json_text(comparisons, solver.device_text()));
  } else {
    print_tables(comparisons, solver.device_text());
    if (picture.wanted()) fmt::print("\npicture  {}\n", picture.path().string());
  }
}

std::vector<std::size_t> sizes_of(const std::string& list) {
  std::vector<std::size_t> sizes;
  for (const std::string& word : words_of(list)) {
    const auto size = number_of<std::size_t>(word);
    if (!size || *size < 16 || *size > 16384)
      throw UsageError(fmt::format(
          "--sizes must name numbers of cells from 16 to 16384, as 64,128, not '{}'", word));
    sizes.push_back(*size);
  }
  return sizes;
}

/// Shows where the published algorithm spends its time on a plan. Throws RunError if the plan asks
/// for what that algorithm does not do.
void bench_reference(const std::string& id, const std::filesystem::path& data,
                     const SolverOptions& solver, bool json) {
  const SharedPlanSource source = open_plan_source(data);
  require_plans(*source, {id});
  const FloorPlan plan = source->load(id);
  if (plan.has_source() || solver.limits.norm != Norm::max)
    throw RunError(fmt::format(
        "plan {}: the published program that is measured has neither sources nor --norm l2", id));
  const ReferenceProfile profile = profile_reference(plan, solver);
  if (json) {
    fmt::print("{}", to_json_text(profile, id, solver.device_text()));
  } else {
    print_tables(profile, id, solver.device_text());
  }
}

}  // namespace

int bench_command(Options& options) {
  std::filesystem::path data;
  int count = 0;
  int repeat = 0;
  std::int64_t size = 0;
  bool json = false;
  bool scaling_wanted = false;
  bool quick = false;
  bool solvers = false;
  std::string device;
  std::string sizes;
  std::string reference;
  PictureFile picture;
  SolverOptionParser solver_options;
  options.describe(
      "[options]",
      "Measures the solver on given plans, or on generated ones, against what this core could do "
      "at best: reading, storing and scheduling are left out. Wants an idle machine.\nThe ceiling "
      "is the additions that the core makes a second, divided by the three that an update needs. "
      "The density is the share of interior cells among all that a sweep goes over.\nWith "
      "--device gpu: the first GPU, for 1, 2, 4, ... plans in flight, and over sizes of plans "
      "against this CPU socket; takes some minutes.",
      {"wallheat bench --plans 1 --size 96 --repeat 1 --scaling false",
       "wallheat bench --solvers --plans 1 --size 96 --repeat 1"});
  options.add("device", value(device, "NAME", "cpu"), "cpu or gpu");
  options.add("data,d", file(data, FileRole::plans, "PLANS"),
              "directory or zip archive of plans to use; default: generated ones (seed 1)");
  constexpr int by_device = std::numeric_limits<int>::min();
  options.add("plans", value(count, "N", by_device, "8, on a GPU 64"), "the first N plans");
  options.add("size", value(size, "CELLS", 512), "cells along a side of generated plans");
  options.add("sizes", value(sizes, "LIST"),
              "compare the solvers on one generated plan of each of these sizes, as 64,128,256 "
              "(CPU)");
  options.add("repeat", value(repeat, "N", 5), "measurements of each figure (CPU)");
  options.add("scaling", value(scaling_wanted, "BOOL", true),
              "measure 1, 2, 4, ... threads, too (CPU)");
  options.add("quick", flag(quick),
              "compare 64 plans bit by bit and measure for seconds, not minutes (GPU)");
  picture.declare(
      options, "plot",
      "draw the crossover of CPU and GPU over sizes of plans (GPU), or the times of --sizes, "
      "as PNG, SVG or PDF, by the file's ending",
      "plot-size");
  options.add("solvers", flag(solvers),
              "compare the solvers in place of that: time, sweeps, error against the steady "
              "state, proven bound (CPU)");
  options.add("reference", value(reference, "ID"),
              "show in place of that where the published program's algorithm spends its time on "
              "this plan of --data: whole arrays, step by step, as a line profiler shows it for "
              "NumPy; and what the solver takes for the same bits (CPU)");
  options.add("json", flag(json), "print JSON instead of tables");
  solver_options.declare(options);
  options.words("device", {"cpu", "gpu"});
  options.parse();
  (void)choose<bool>("device", device, {{"cpu", false}, {"gpu", true}});
  if (quick && device != "gpu") throw UsageError("--quick needs --device gpu");
  if (device != "gpu" && picture.wanted() && sizes.empty())
    throw UsageError("--plot needs --device gpu, or --sizes");
  if (!sizes.empty() && (device == "gpu" || !data.empty()))
    throw UsageError("--sizes is for generated plans on the CPU: leave out --device and --data");
  if (!reference.empty() && (data.empty() || device == "gpu" || solvers || !sizes.empty()))
    throw UsageError(
        "--reference is for a plan of --data on the CPU: leave out --sizes, --solvers");
  if (quick && picture.wanted())
    throw UsageError("--quick leaves out the sizes of plans that --plot draws");
  if (count == by_device) count = device == "gpu" ? 64 : 8;
  if (count < 1) throw UsageError("--plans must be at least 1");
  if (repeat < 1) throw UsageError("--repeat must be at least 1");
  if (size < 16 || size > 16384) throw UsageError("--size must be from 16 to 16384 cells");

  const SolverOptions solver = solver_options.finish(data);
  if (solvers && device == "gpu") throw UsageError("--solvers runs on the CPU");
  if (!reference.empty()) {
    bench_reference(reference, data, solver, json);
    return exit_done;
  }
  if (solver.kind != SolverKind::jacobi)
    throw UsageError("the ceiling is that of jacobi, so leave out --solver; --solvers shows all");
  if (device == "gpu") {
    const auto plans = [&] {
      const auto side = static_cast<std::size_t>(size);
      if (data.empty()) return generate_floor_plans(static_cast<std::size_t>(count), side);
      std::vector<FloorPlan> given;
      for (BenchPlan& plan : bench_plans(data, count, side)) given.push_back(std::move(plan.plan));
      return given;
    };
    bench_gpu(solver, plans, quick, json, picture);
    return exit_done;
  }
  if (!sizes.empty()) {
    bench_sizes(sizes_of(sizes), solver, repeat, json, picture);
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
