#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <thread>

#include "bench/cpu_bench.hpp"
#include "bench/gpu_bench.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/picture_file.hpp"
#include "cli/run_option_parser.hpp"
#include "core/generator.hpp"
#include "core/number_of.hpp"
#include "core/printable.hpp"
#include "io/print_error.hpp"
#include "node/local_machine.hpp"
#include "plans/plan_source.hpp"
#include "report/offload_report.hpp"
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
  plans.files = {data.string(), ids.size(), [source, ids](std::size_t number) {
                   return source->load(std::string(ids[number]));
                 }};
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
               bool json, const PictureFile& picture) {
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

/// Tells where a GPU that is not here would be ahead of this process's first CPU socket.
void bench_model(const std::string& name, Isa isa, bool json, const PictureFile& picture) {
  const auto models = known_gpu_models();
  const auto model = std::ranges::find(models, name, &GpuModel::name);
  const std::vector<int> cpus = cpus_of_a_socket();
  GpuCrossover crossover;
  // A thread of its own, as it is bound to a core.
  std::jthread([&] {
    bind_this_thread({cpus.front()});
    crossover = model_crossover(*model, cpus.size(), isa, GpuBenchSettings{}.sides,
                                [](const std::string& what) { print_error("measuring {}", what); });
  }).join();
  std::vector<SideRate> sides;
  for (const GpuCrossover::Side& side : crossover.sides) sides.push_back(side.jacobi);
  picture.write([&] {
    return crossover_plot(
        fmt::format("{} by the model, {} cores measured", name, crossover.rates.cores), sides,
        crossover.break_even_side);
  });
  if (json) {
    fmt::print("{}", to_json_text(crossover));
  } else {
    print_tables(crossover);
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

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const GpuModel& model : known_gpu_models()) names.push_back(model.name);
  return names;
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
  std::string model;
  std::string sizes;
  PictureFile picture;
  SolverOptionParser solver_options;
  Options options(
      "bench [options]",
      "Measures the solver on given plans, or on generated ones, against what this core could do "
      "at best: reading, storing and scheduling are left out. Wants an idle machine.\nThe ceiling "
      "is the additions that the core makes a second, divided by the three that an update needs. "
      "The density is the share of interior cells among all that a sweep goes over.\nWith "
      "--device gpu: the first GPU against its own ceilings, a plain kernel and this CPU socket, "
      "for 1, 2, 4, ... plans in flight, and end to end; takes some minutes.",
      {"wallheat bench --plans 1 --size 96 --repeat 1 --scaling false",
       "wallheat bench --solvers --plans 1 --size 96 --repeat 1"});
  options.add("device", value(device, "NAME", "cpu"), "cpu or gpu");
  options.add("data,d", value(data, "PLANS"),
              "directory or zip archive of plans to use; default: generated ones (seed 1)");
  constexpr int by_device = std::numeric_limits<int>::min();
  options.add("plans", value(count, "N", by_device, "8, on a GPU 512, 64 if quick"),
              "the first N plans; on a GPU also the most in flight");
  options.add("size", value(size, "CELLS", 512), "cells along a side of generated plans");
  options.add("sizes", value(sizes, "LIST"),
              "compare the solvers on one generated plan of each of these sizes, as 64,128,256 "
              "(CPU)");
  options.add("repeat", value(repeat, "N", 5), "measurements of each figure (CPU)");
  options.add("scaling", value(scaling_wanted, "BOOL", true),
              "measure 1, 2, 4, ... threads, too (CPU)");
  options.add("quick", flag(quick),
              "compare 64 plans bit by bit and measure for seconds, not minutes (GPU)");
  options.add(
      "model", value(model, "NAME", "", "measure the GPU that is here"),
      "print only the crossover of CPU and GPU over sizes of plans, by a model of a GPU that "
      "is not here: t4, v100, a100, rtx3090, rtx4090, l40s, h100, h200 or rtx5090 (GPU)");
  picture.declare(
      options, "plot",
      "draw the crossover of CPU and GPU over sizes of plans (GPU), or the times of --sizes, "
      "as PNG, SVG or PDF, by the file's ending",
      "plot-size");
  options.add("solvers", flag(solvers),
              "compare the solvers in place of that: time, sweeps, error against the steady "
              "state, proven bound (CPU)");
  options.add("json", flag(json), "print JSON instead of tables");
  solver_options.declare(options);
  options.words("device", {"cpu", "gpu"});
  options.words("model", model_names());
  if (!options.parse(arguments)) return exit_done;
  (void)choose<bool>("device", device, {{"cpu", false}, {"gpu", true}});
  if (quick && device != "gpu") throw UsageError("--quick needs --device gpu");
  if (device != "gpu" && !model.empty()) throw UsageError("--model needs --device gpu");
  if (device != "gpu" && picture.wanted() && sizes.empty())
    throw UsageError("--plot needs --device gpu, or --sizes");
  if (!sizes.empty() && (device == "gpu" || !data.empty()))
    throw UsageError("--sizes is for generated plans on the CPU: leave out --device and --data");
  if (quick && model.empty() && picture.wanted())
    throw UsageError("--quick leaves out the sizes of plans that --plot draws");
  if (const auto names = model_names();
      !model.empty() && std::ranges::find(names, model) == names.end())
    throw UsageError(fmt::format("--model must be one of {}, not '{}'", fmt::join(names, ", "),
                                 printable(model)));
  CommandFiles files;
  files.reads_plans("--data", data);
  picture.check(files);
  if (count == by_device) count = device != "gpu" ? 8 : quick ? 64 : 512;
  if (count < 1) throw UsageError("--plans must be at least 1");
  if (repeat < 1) throw UsageError("--repeat must be at least 1");
  if (size < 16 || size > 16384) throw UsageError("--size must be from 16 to 16384 cells");

  const SolverOptions solver = solver_options.finish(data);
  if (solvers && device == "gpu") throw UsageError("--solvers runs on the CPU");
  if (solver.kind != SolverKind::jacobi)
    throw UsageError("the ceiling is that of jacobi, so leave out --solver; --solvers shows all");
  if (!model.empty()) {
    bench_model(model, solver.isa, json, picture);
    return exit_done;
  }
  if (device == "gpu") {
    bench_gpu(
        solver, [&] { return gpu_bench_plans(data, count, static_cast<std::size_t>(size)); }, quick,
        json, picture);
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
