#include "view/bench_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/printable.hpp"
#include "view/json.hpp"
#include "view/terminal.hpp"

namespace wallheat {
namespace {

Json to_json(const Flow& flow) {
  return {{"in_flight", flow.in_flight},
          {"plans", flow.plans},
          {"seconds", flow.seconds},
          {"plans_per_s", flow.plans_per_s()},
          {"updates_per_s", flow.updates_per_s()}};
}

std::string or_dash(double number, const char* format) {
  return std::isnan(number) ? "-" : fmt::format(fmt::runtime(format), number);
}

}  // namespace

std::string to_json_text(const CpuBench& bench) {
  const auto& [device, ceiling, plans, scaling] = bench;
  Json json{{"device", device},
            {"ceiling_updates_per_s", ceiling},
            {"share_of_core", bench.share_of_core()}};
  for (const PlanRate& plan : plans) {
    json["plans"].push_back({{"id", plan.id},
                             {"interior_cells", plan.interior_cells},
                             {"density", plan.density},
                             {"iterations", plan.iterations},
                             {"cpu_seconds_min", plan.cpu_s.min},
                             {"cpu_seconds_median", plan.cpu_s.median},
                             {"cpu_seconds_max", plan.cpu_s.max},
                             {"seconds_min", plan.wall_s.min},
                             {"seconds_median", plan.wall_s.median},
                             {"seconds_max", plan.wall_s.max},
                             {"updates_per_s", plan.giga_updates_per_s() * 1e9},
                             {"share_of_ceiling", plan.giga_updates_per_s() * 1e9 / ceiling}});
  }
  for (const ThreadRate& rate : scaling) {
    json["scaling"].push_back({{"threads", rate.threads},
                               {"updates_per_s", rate.updates_per_s},
                               {"speedup", rate.speedup},
                               {"efficiency", rate.speedup / static_cast<double>(rate.threads)}});
  }
  return json_text(json);
}

void print_tables(const CpuBench& bench) {
  const auto& [device, ceiling, plans, scaling] = bench;
  constexpr std::size_t column = 10;  // where the facts stand
  print_line("device    " + device, column);
  print_line(
      fmt::format("ceiling   {:.2f} G cell updates/s: the additions that this core makes a second, "
                  "by the three of an update",
                  ceiling * 1e-9),
      column);
  constexpr double idle = 0.9;
  if (const double share = bench.share_of_core(); share < idle)
    print_line(
        fmt::format("note      this machine is not idle: the solver had its core for {:.0f} % of "
                    "the time. Rates of one thread are by CPU time, those of several are not.",
                    100 * share),
        column);
  std::vector<std::vector<std::string>> rows{{"plan", "interior", "density", "iterations", "CPU s",
                                              "median", "max", "G updates/s", "of ceiling"}};
  const auto seconds = [](double number) { return fmt::format("{:.4f}", number); };
  for (const PlanRate& plan : plans) {
    rows.push_back({plan.id, fmt::format("{}", plan.interior_cells),
                    fmt::format("{:.2f}", plan.density), fmt::format("{}", plan.iterations),
                    seconds(plan.cpu_s.min), seconds(plan.cpu_s.median), seconds(plan.cpu_s.max),
                    fmt::format("{:.2f}", plan.giga_updates_per_s()),
                    fmt::format("{:.0f} %", plan.giga_updates_per_s() * 1e11 / ceiling)});
  }
  fmt::print("\none thread, a plan at a time\n");
  print_table("rrrrrrrrr", rows, 0);
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
}

std::string to_json_text(const GpuBench& bench) {
  Json json{{"device", bench.name}, {"compared_plans", bench.compared}};
  for (const Flow& flow : bench.flows) json["flows"].push_back(to_json(flow));
  json["cpu_cores"] = bench.cpu_cores;
  for (const SideRate& rate : bench.sides) {
    json["sides"].push_back({{"side", rate.side},
                             {"gpu_plans_per_s", rate.gpu_plans_per_s},
                             {"cpu_plans_per_s", rate.cpu_plans_per_s}});
  }
  json["break_even_side"] = bench.break_even_side;
  return json_text(json);
}

void print_tables(const ReferenceProfile& profile, const std::string& id,
                  const std::string& solver) {
  fmt::print("plan {}: {} iterations of the published algorithm, on one core\n\n", printable(id),
             profile.iterations);
  std::vector<std::vector<std::string>> rows{
      {"step", "hits", "seconds", "us a hit", "share", "as NumPy says it"}};
  for (const ProfiledStep& step : profile.steps)
    rows.push_back({step.name, fmt::format("{}", step.hits), fmt::format("{:.4f}", step.seconds),
                    fmt::format("{:.2f}", step.seconds / static_cast<double>(step.hits) * 1e6),
                    fmt::format("{:.1f} %", 100 * step.seconds / profile.seconds), step.what});
  rows.push_back({"all", "", fmt::format("{:.4f}", profile.seconds), "", "", ""});
  print_table("lrrrrl", rows, 0);
  fmt::print("\n{} takes {:.4f} s for the same bits: {:.1f} times as fast\n", solver,
             profile.solver_seconds, profile.speedup());
}

std::string to_json_text(const ReferenceProfile& profile, const std::string& id,
                         const std::string& solver) {
  Json json{{"id", id},
            {"iterations", profile.iterations},
            {"converged", profile.converged},
            {"seconds", profile.seconds}};
  for (const ProfiledStep& step : profile.steps)
    json["steps"].push_back({{"step", step.name},
                             {"hits", step.hits},
                             {"seconds", step.seconds},
                             {"share", step.seconds / profile.seconds}});
  json["solver"] = solver;
  json["solver_seconds"] = profile.solver_seconds;
  json["speedup"] = profile.speedup();
  return json_text(json);
}

std::string to_json_text(const std::vector<SolverComparison>& comparisons,
                         const std::string& device) {
  Json json{{"device", device}, {"plans", Json::array()}};
  for (const SolverComparison& plan : comparisons) {
    Json solvers = Json::array();
    for (const SolverTime& time : plan.times) {
      solvers.push_back({{"solver", to_string(time.solver)},
                         {"seconds_min", time.seconds},
                         {"times_as_fast", plan.times.front().seconds / time.seconds},
                         {"iterations", time.iterations},
                         {"sweeps", time.sweeps},
                         {"error", time.error},
                         {"error_bound", time.bound},
                         {"fell_back", time.fell_back}});
    }
    json["plans"].push_back(
        {{"id", plan.id}, {"interior_cells", plan.interior_cells}, {"solvers", solvers}});
  }
  return json_text(json);
}

void print_tables(const std::vector<SolverComparison>& comparisons, const std::string& device) {
  print_line("device    " + device, 2);
  print_line(
      "one thread, the solvers in turns; least time; error: the largest difference to steady's "
      "field; bound: proven distance from the steady state",
      2);
  std::vector<std::vector<std::string>> rows{{"plan", "interior", "solver", "iterations", "sweeps",
                                              "ms", "times as fast", "error °C", "bound °C"}};
  for (const SolverComparison& plan : comparisons) {
    for (const SolverTime& time : plan.times) {
      const bool first = &time == &plan.times.front();
      rows.push_back(
          {first ? plan.id : "", first ? fmt::format("{}", plan.interior_cells) : "",
           fmt::format("{}{}", to_string(time.solver), time.fell_back ? " (fell back)" : ""),
           fmt::format("{}", time.iterations), or_dash(time.sweeps, "{:.0f}"),
           fmt::format("{:.2f}", time.seconds * 1e3),
           fmt::format("{:.1f}", plan.times.front().seconds / time.seconds),
           or_dash(time.error, "{:.2g}"), or_dash(time.bound, "{:.2g}")});
    }
  }
  print_table("rrlrrrrrr", rows, 0);
}

}  // namespace wallheat
