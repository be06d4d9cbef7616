#include "report/bench_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/cell_statistics.hpp"
#include "core/text.hpp"

namespace wallheat {
namespace {

const ValueStyle giga{ValueFormat::decimals, 2};
const ValueStyle percent{ValueFormat::decimals, 0, "%"};
const ValueStyle one_decimal{ValueFormat::decimals, 1};

/// Returns the throughput of GPU and CPU over the size of plans.
Figure crossover_of(const GpuBench& bench) {
  Figure::Series gpu{"GPU", Figure::Mark::points_and_line, {}, {}};
  Figure::Series cpu{"CPU", Figure::Mark::points_and_line, {}, {}};
  for (const GridSizeRate& side : bench.sides) {
    for (const auto& [series, plans_per_s] :
         {std::pair(&gpu, side.gpu_plans_per_s), {&cpu, side.cpu_plans_per_s}}) {
      series->add(static_cast<double>(side.side), plans_per_s);
    }
  }
  return {"crossover",
          fmt::format("{}, compared with {} cores", bench.name, bench.cpu_cores),
          {"cells per side", Figure::Scale::powers_of_2},
          {"plans per second", Figure::Scale::powers_of_10},
          {gpu, cpu}};
}

/// Returns the times of the solvers over the size of plans.
Figure solver_times(const CpuBench& bench) {
  Figure figure{"times",
                "one plan on one core of " + bench.device,
                {"interior cells", Figure::Scale::powers_of_10},
                {"seconds", Figure::Scale::powers_of_10}};
  std::vector<SolverRate> rates = bench.plans;
  std::ranges::stable_sort(rates, {}, &SolverRate::interior_cells);
  for (const SolverRate& rate : rates) {
    const std::string name(to_string(rate.solver));
    auto series = std::ranges::find(figure.series, name, &Figure::Series::name);
    if (series == figure.series.end())
      series = figure.series.insert(
          series, {.name = name, .mark = Figure::Mark::points_and_line, .x = {}, .y = {}});
    series->add(static_cast<double>(rate.interior_cells), rate.cpu_s.front());
  }
  return figure;
}

}  // namespace

Report make_report(const CpuBench& bench) {
  const double ceiling = bench.ceiling_updates_per_s;
  Report report{"speed of the solver and peak speed of one core"};
  report.add_fact("device", "device", bench.device);
  report.add_fact("ceiling_giga_updates_per_s", "ceiling", ceiling * 1e-9,
                  {ValueFormat::decimals, 2, "G cell updates/s"},
                  ": additions per second of this core, divided by the three of a cell update");
  report.add_fact("share_of_core", "", bench.share_of_core);
  constexpr double idle = 0.9;
  if (bench.share_of_core < idle)
    report.add_note(fmt::format(
        "This machine is not idle: the solver had its core for {:.0f} % of the time. Rates of one "
        "thread are based on CPU time, those of several threads are not.",
        100 * bench.share_of_core));
  const ValueStyle seconds{ValueFormat::decimals, 4};
  const ValueStyle celsius{ValueFormat::digits, 2, "°C"};
  Table& plans = report.add(Table{"plans",
                                  "one thread, one plan at a time",
                                  {{"id", "plan"},
                                   {"interior_cells", "interior"},
                                   {"density", "density", {ValueFormat::decimals, 2}},
                                   {"solver", "solver"},
                                   {"iterations", "iterations"},
                                   {"sweeps", "sweeps", {ValueFormat::decimals, 0}},
                                   {"cpu_seconds", "CPU s", seconds},
                                   {"cpu_seconds_median", "median", seconds},
                                   {"cpu_seconds_max", "max", seconds},
                                   {"giga_updates_per_s", "G updates/s", giga},
                                   {"percent_of_ceiling", "of ceiling", percent}}});
  const bool several = std::ranges::any_of(bench.plans, [&](const SolverRate& rate) {
    return rate.solver != bench.plans.front().solver;
  });
  if (several)
    plans.columns.insert(plans.columns.end(),
                         {{"times_as_fast", "times as fast", {ValueFormat::decimals, 1}},
                          {"error", "error", celsius},
                          {"error_bound", "bound", celsius},
                          {"fell_back", "fell back"}});
  double first_s = 0;  // time of the first solver of the plan
  for (const SolverRate& rate : bench.plans) {
    if (rate.solver == bench.plans.front().solver) first_s = rate.cpu_s.front();
    plans.rows.push_back({rate.id, rate.interior_cells, rate.density, to_string(rate.solver),
                          rate.iterations, rate.sweeps, rate.cpu_s.front(), median(rate.cpu_s),
                          rate.cpu_s.back(), rate.giga_updates_per_s(),
                          rate.giga_updates_per_s() * 1e11 / ceiling});
    if (several)
      plans.rows.back().insert(plans.rows.back().end(), {first_s / rate.cpu_s.front(), rate.error,
                                                         rate.bound, rate.fell_back});
  }
  if (several) {
    report.add_note(
        "The solvers alternate. Error: largest difference from the field of steady. Bound: "
        "proven distance from the steady state.");
    report.add(solver_times(bench));
  }
  Table& scaling = report.add(Table{"scaling",
                                    "all plans on each thread",
                                    {{"threads", "threads"},
                                     {"giga_updates_per_s", "G updates/s", giga},
                                     {"speedup", "speed-up", {ValueFormat::decimals, 2}},
                                     {"percent_efficiency", "efficiency", percent}}});
  for (const Throughput& throughput : bench.scaling) {
    const double speedup = throughput.updates_per_s() / bench.scaling.front().updates_per_s();
    scaling.rows.push_back({throughput.in_flight, throughput.updates_per_s() * 1e-9, speedup,
                            100 * speedup / static_cast<double>(throughput.in_flight)});
  }
  return report;
}

Report make_report(const GpuBench& bench) {
  Report report{"throughput of GPU and CPU"};
  report.add_fact("device", "device", bench.name);
  report.add_fact("compared_plans", "compared", bench.compared, {.unit = "plans"},
                  ", bit-identical to the results of the CPU");
  Table& flows = report.add(Table{"flows",
                                  "plans in memory",
                                  {{"in_flight", "in flight"},
                                   json_only_column("plans"),
                                   json_only_column("seconds"),
                                   {"giga_updates_per_s", "G updates/s", one_decimal},
                                   {"plans_per_s", "plans/s", one_decimal}}});
  for (const Throughput& throughput : bench.flows)
    flows.rows.push_back({throughput.in_flight, throughput.plans, throughput.seconds,
                          throughput.updates_per_s() * 1e-9, throughput.plans_per_s()});
  report.add_fact("cpu_cores", "", bench.cpu_cores);
  Table& sides = report.add(Table{"sides",
                                  "the GPU, compared with " + count_text(bench.cpu_cores, "core"),
                                  {{"side", "side", {.unit = "cells"}},
                                   {"gpu_plans_per_s", "GPU plans/s", one_decimal},
                                   {"cpu_plans_per_s", "CPU plans/s", one_decimal},
                                   text_only_column("GPU/CPU", {ValueFormat::decimals, 2})}});
  for (const GridSizeRate& side : bench.sides)
    sides.rows.push_back({side.side, side.gpu_plans_per_s, side.cpu_plans_per_s,
                          side.gpu_plans_per_s / side.cpu_plans_per_s});
  const auto behind = std::find_if(
      bench.sides.rbegin(), bench.sides.rend(),
      [](const GridSizeRate& side) { return side.gpu_plans_per_s < side.cpu_plans_per_s; });
  if (!bench.sides.empty())
    report.add_note(
        behind == bench.sides.rbegin()
            ? "The GPU is slower up to the largest of these sizes."
            : fmt::format("The GPU is faster for {0} x {0} cells and more.", behind.base()->side));
  report.add(crossover_of(bench));
  return report;
}

Report make_report(const ReferenceProfile& profile, const std::string& id,
                   const std::string& solver) {
  Report report{"time profile of the published algorithm"};
  report.add_fact("id", "plan", id);
  report.add_fact("iterations", "iterations", profile.iterations, {},
                  " of the published algorithm, on one core");
  report.add_fact("converged", "", profile.converged);
  const ValueStyle seconds{ValueFormat::decimals, 4, "s"};
  report.add_fact("seconds", "all steps", profile.total_seconds, seconds);
  report.add_fact(
      "solver_seconds", solver, profile.solver_seconds, seconds,
      fmt::format(" with bit-identical results: {:.1f} times as fast", profile.speedup()));
  report.add_fact("solver", "", solver);
  report.add_fact("speedup", "", profile.speedup());
  Table& steps = report.add(Table{"steps",
                                  "",
                                  {{"step", "step"},
                                   {"hits", "hits"},
                                   {"seconds", "seconds", {ValueFormat::decimals, 4}},
                                   text_only_column("us per hit", {ValueFormat::decimals, 2}),
                                   {"percent", "share", {ValueFormat::decimals, 1, "%"}},
                                   {"numpy", "NumPy code"}}});
  for (const ProfiledStep& step : profile.steps)
    steps.rows.push_back({step.name, step.hits, step.seconds,
                          1e6 * step.seconds / static_cast<double>(step.hits),
                          100 * step.seconds / profile.total_seconds, step.numpy_code});
  return report;
}

}  // namespace wallheat
