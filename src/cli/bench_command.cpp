#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "bench/ceiling.hpp"
#include "cli/bench_gpu.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/run_option_parser.hpp"
#include "core/generator.hpp"
#include "node/local_machine.hpp"
#include "store/packs/plan_pack.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace po = boost::program_options;

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct BenchPlan {
  std::string id;
  FloorPlan plan;
};

/// Minimum, median and maximum of repeated measurements.
struct Spread {
  double min = 0;
  double median = 0;
  double max = 0;
};

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {values.front(), median, values.back()};
}

struct PlanRate {
  std::string id;
  std::int64_t interior_cells = 0;
  std::int64_t iterations = 0;
  Spread seconds;
  /// Interior cell updates.
  [[nodiscard]] double updates() const {
    return static_cast<double>(interior_cells) * static_cast<double>(iterations);
  }
  [[nodiscard]] double giga_updates_per_s() const { return updates() / seconds.median * 1e-9; }
};

PlanRate measure_plan(const BenchPlan& plan, Solver& solver, const Limits& limits, int repeat) {
  PlanRate rate{plan.id, count_interior(plan.plan), 0, {}};
  std::vector<double> seconds;
  for (int run = 0; run < repeat; ++run) {
    const auto start = Clock::now();
    rate.iterations = solver.solve(plan.plan, limits, {})->iterations;
    seconds.push_back(seconds_since(start));
  }
  rate.seconds = spread_of(std::move(seconds));
  return rate;
}

struct ThreadRate {
  std::size_t threads = 0;
  double updates_per_s = 0;
  double speedup = 0;
};

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

/// The serial fraction f that fits 1 / speedup = f + (1 - f) / threads best (least squares; Amdahl
/// 1967).
double amdahl_fraction(const std::vector<ThreadRate>& rates) {
  double above = 0;
  double below = 0;
  for (const ThreadRate& rate : rates) {
    const double parallel = 1 / static_cast<double>(rate.threads);
    above += (1 / rate.speedup - parallel) * (1 - parallel);
    below += (1 - parallel) * (1 - parallel);
  }
  return below > 0 ? above / below : std::nan("");
}

std::vector<ThreadRate> measure_scaling(const std::vector<BenchPlan>& plans, double updates,
                                        const SolverOptions& options, int repeat) {
  const std::vector<Core> cores = local_machine().cores;
  std::vector<ThreadRate> rates;
  for (std::size_t threads = 1; threads <= cores.size();
       threads = std::min(threads * 2, std::max(cores.size(), threads + 1))) {
    std::vector<double> measured;
    for (int run = 0; run < repeat; ++run) {
      measured.push_back(measure_threads(plans, updates, options, cores, threads));
    }
    rates.push_back({threads, spread_of(std::move(measured)).median, 0});
    rates.back().speedup = rates.back().updates_per_s / rates.front().updates_per_s;
  }
  return rates;
}

Json to_json(const std::string& device, const std::vector<PlanRate>& plans, const Ceiling& ceiling,
             const std::vector<ThreadRate>& scaling) {
  Json json{{"device", device}, {"ceiling_updates_per_s", ceiling.updates_per_second}};
  for (const CopyRate& copy : ceiling.copies) {
    json["copies"].push_back({{"level", copy.level},
                              {"size_bytes", copy.size_bytes},
                              {"bytes_per_s", copy.bytes_per_second}});
  }
  for (const PlanRate& plan : plans) {
    json["plans"].push_back(
        {{"id", plan.id},
         {"interior_cells", plan.interior_cells},
         {"iterations", plan.iterations},
         {"seconds_min", plan.seconds.min},
         {"seconds_median", plan.seconds.median},
         {"seconds_max", plan.seconds.max},
         {"updates_per_s", plan.giga_updates_per_s() * 1e9},
         {"share_of_ceiling", plan.giga_updates_per_s() * 1e9 / ceiling.updates_per_second}});
  }
  for (const ThreadRate& rate : scaling) {
    json["scaling"].push_back({{"threads", rate.threads},
                               {"updates_per_s", rate.updates_per_s},
                               {"speedup", rate.speedup},
                               {"efficiency", rate.speedup / static_cast<double>(rate.threads)}});
  }
  if (scaling.size() > 1) json["amdahl_fraction"] = amdahl_fraction(scaling);
  return json;
}

void print_tables(const std::string& device, const std::vector<PlanRate>& plans,
                  const Ceiling& ceiling, const std::vector<ThreadRate>& scaling) {
  constexpr std::size_t column = 10;  // where the facts stand
  print_line("device    " + device, column);
  print_line(
      fmt::format("ceiling   {:.2f} G cell updates/s: the same arithmetic on a dense grid in "
                  "the first-level cache",
                  ceiling.updates_per_second * 1e-9),
      column);
  for (const CopyRate& copy : ceiling.copies) {
    print_line(fmt::format("copy      {:6.1f} GB/s read and written, {} KiB: {}",
                           copy.bytes_per_second * 1e-9, copy.size_bytes / 1024, copy.level),
               column);
  }
  std::vector<std::vector<std::string>> rows{{"plan", "interior", "iterations", "min s", "median s",
                                              "max s", "G updates/s", "of ceiling"}};
  const auto seconds = [](double number) { return fmt::format("{:.4f}", number); };
  for (const PlanRate& plan : plans) {
    rows.push_back(
        {plan.id, fmt::format("{}", plan.interior_cells), fmt::format("{}", plan.iterations),
         seconds(plan.seconds.min), seconds(plan.seconds.median), seconds(plan.seconds.max),
         fmt::format("{:.2f}", plan.giga_updates_per_s()),
         fmt::format("{:.0f} %", plan.giga_updates_per_s() * 1e11 / ceiling.updates_per_second)});
  }
  fmt::print("\none thread, a plan at a time\n");
  print_table("rrrrrrrr", rows, 0);
  if (scaling.empty()) return;
  rows = {{"threads", "G updates/s", "speed-up", "efficiency"}};
  for (const ThreadRate& rate : scaling) {
    rows.push_back(
        {fmt::format("{}", rate.threads), fmt::format("{:.2f}", rate.updates_per_s * 1e-9),
         fmt::format("{:.2f}", rate.speedup),
         fmt::format("{:.0f} %", 100 * rate.speedup / static_cast<double>(rate.threads))});
  }
  fmt::print("\nall plans on each thread\n");
  print_table("rrrr", rows, 0);
  if (scaling.size() > 1)
    fmt::print("Amdahl's serial fraction that fits: {:.4f}\n", amdahl_fraction(scaling));
}

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

}  // namespace

int bench_command(const Arguments& arguments) {
  std::filesystem::path data;
  int count = 0;
  int repeat = 0;
  std::int64_t size = 0;
  bool json = false;
  bool scaling_wanted = false;
  std::string device;
  SolverOptionParser solver_options;
  Options options(
      "bench [options]",
      "Measures the solver on given plans, or on generated ones, against what this core could do "
      "at best: reading, storing and scheduling are left out. Wants an idle machine.\nWith "
      "--device gpu: the first GPU against its own ceilings, a plain kernel and this CPU socket, "
      "for 1, 2, 4, ... plans in flight, and end to end; takes some minutes.");
  options.add()("device", po::value(&device)->default_value("cpu")->value_name("NAME"),
                "cpu or gpu");
  options.add()("data,d", po::value(&data)->value_name("PLANS"),
                "directory or pack of plans to use; default: generated ones (seed 1)");
  constexpr int by_device = std::numeric_limits<int>::min();
  options.add()("plans,n",
                po::value(&count)->default_value(by_device, "8, on a GPU 512")->value_name("N"),
                "the first N plans; on a GPU also the most in flight");
  options.add()("size", po::value(&size)->default_value(512)->value_name("CELLS"),
                "cells along a side of generated plans");
  options.add()("repeat", po::value(&repeat)->default_value(5)->value_name("N"),
                "measurements of each figure (CPU)");
  options.add()("scaling", po::value(&scaling_wanted)->default_value(true)->value_name("BOOL"),
                "measure 1, 2, 4, ... threads, too (CPU)");
  options.add()("json", po::bool_switch(&json), "print JSON instead of tables");
  solver_options.declare(options);
  if (!options.parse(arguments)) return exit_done;
  (void)choose<bool>("device", device, {{"cpu", false}, {"gpu", true}});
  if (count == by_device) count = device == "gpu" ? 512 : 8;
  if (count < 1) throw UsageError("--plans must be at least 1");
  if (repeat < 1) throw UsageError("--repeat must be at least 1");
  if (size < 16 || size > 16384) throw UsageError("--size must be from 16 to 16384 cells");

  const SolverOptions solver = solver_options.finish();
  if (device == "gpu") {
    bench_gpu(
        solver, [&] { return gpu_bench_plans(data, count, static_cast<std::size_t>(size)); }, json);
    return exit_done;
  }
  const auto plans = bench_plans(data, count, static_cast<std::size_t>(size));
  std::vector<PlanRate> rates;
  Ceiling ceiling;
  // On a thread of its own, as it is bound to one core.
  std::jthread([&] {
    bind_this_thread({local_machine().cores.front().cpu});
    ceiling = measure_ceiling(solver.isa);
    const auto measured = solver.make();
    for (const BenchPlan& plan : plans)
      rates.push_back(measure_plan(plan, *measured, solver.limits, repeat));
  }).join();
  const double updates =
      std::accumulate(rates.begin(), rates.end(), 0.0,
                      [](double sum, const PlanRate& rate) { return sum + rate.updates(); });
  const auto scaling =
      scaling_wanted ? measure_scaling(plans, updates, solver, repeat) : std::vector<ThreadRate>{};
  if (json) {
    fmt::print("{}\n", to_json(solver.device_text(), rates, ceiling, scaling).dump(1));
  } else {
    print_tables(solver.device_text(), rates, ceiling, scaling);
  }
  return exit_done;
}

}  // namespace wallheat
