#include "view/solver_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "view/json.hpp"
#include "view/terminal.hpp"

namespace wallheat {
namespace {

std::string or_dash(double number, const char* format) {
  return std::isnan(number) ? "-" : fmt::format(fmt::runtime(format), number);
}

}  // namespace

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

void print_table_of(const std::vector<SolverComparison>& comparisons, const std::string& device) {
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
