#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "core/text.hpp"
#include "report/summary.hpp"
#include "view/advice.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

const Style three_decimals{Form::decimals, 3, "°C"};

std::string side_text(const char* side, double threshold) {
  return fmt::format("{} {} °C", side, threshold);
}

void add_plans(const Summary& summary, Report& report) {
  report.add_fact("plans", "plans", summary.plans);
  for (const PlanStatus status :
       {PlanStatus::pending, PlanStatus::converged, PlanStatus::max_iterations, PlanStatus::empty,
        PlanStatus::failed}) {
    const auto found = summary.by_status.find(status);
    const bool any = found != summary.by_status.end();
    const std::string name{to_string(status)};
    report.add_fact(name, any ? "  " + name : "", any ? found->second : 0);
  }
  report.add_data("with_temperature", summary.means.size());
}

/// Adds how many of all there are, with their share.
void add_count(const std::string& key, const std::string& name, std::size_t count,
               const std::string& noun, std::size_t all, Report& report) {
  report.add_fact(key, name, count, {.unit = noun_of(count, noun)},
                  Report::share(static_cast<double>(count), static_cast<double>(all)));
}

void add_temperatures(const Summary& summary, Report& report) {
  const auto [above, below] = summary.thresholds;
  const std::size_t solved = summary.means.size();
  const auto name = [&](const std::string& text) { return solved > 0 ? text : ""; };
  report.add_fact("mean_of_means", name("average mean temperature"), summary.mean_of_means,
                  three_decimals);
  report.add_fact("median_of_means", name("  median"), summary.median_of_means, three_decimals);
  report.add_fact("std_of_means", name("  standard deviation"), summary.std_of_means,
                  {Form::decimals, 4, "°C"}, ", of the means (population; pandas: ddof=0)");
  report.add_fact("mean_of_stds", name("average standard deviation"), summary.mean_of_stds,
                  three_decimals, ", within a plan (population)");
  report.add_data("above", above);
  report.add_data("below", below);
  add_count("half_above", name("at least 50 % " + side_text("above", above)), summary.half_above,
            "plan", solved, report);
  add_count("half_below", name("at least 50 % " + side_text("below", below)), summary.half_below,
            "plan", solved, report);
}

void add_areas(const Summary& summary, double cell_metres, Report& report) {
  if (cell_metres == 0 || summary.means.empty()) return;
  const auto [above, below] = summary.thresholds;
  const auto all = static_cast<double>(summary.interior_cells);
  for (const auto& [key, name, cells] :
       {std::tuple("area_m2", std::string("area"), summary.interior_cells),
        {"area_above_m2", "  " + side_text("above", above), summary.cells_above},
        {"area_below_m2", "  " + side_text("below", below), summary.cells_below}}) {
    const auto count = static_cast<double>(cells);
    report.add_fact(key, name, count * cell_metres * cell_metres, {Form::digits, 5, "m²"},
                    name == "area" ? "" : Report::share(count, all));
  }
}

void add_rooms(const RoomSummary& rooms, const Thresholds& thresholds, Report& report) {
  report.add_fact("rooms", "rooms", rooms.rooms);
  add_count("rooms_above", "  mean " + side_text("above", thresholds.above), rooms.above, "room",
            rooms.rooms, report);
  add_count("rooms_below", "  mean " + side_text("below", thresholds.below), rooms.below, "room",
            rooms.rooms, report);
}

/// How the answers were found, and how sure they are.
void add_solver(const Summary& summary, Report& report) {
  report.add_fact("solver", summary.solver.empty() ? "" : "solver", summary.solver);
  const double bound = summary.means.empty() ? not_known : summary.largest_error_bound;
  report.add_fact("largest_error_bound", std::isnan(bound) ? "" : "largest error bound", bound,
                  {Form::digits, 3, "°C"});
  const auto if_any = [](auto count, const char* name) { return count > 0 ? name : ""; };
  report.add_fact("largest_error_estimate",
                  if_any(summary.largest_error_estimate, "largest error estimate"),
                  summary.largest_error_estimate, {Form::digits, 2, "°C"});
  report.add_fact("far_from_steady", if_any(summary.far_from_steady, "stopped early"),
                  summary.far_from_steady, {.unit = noun_of(summary.far_from_steady, "plan")},
                  std::string(", ") + far_from_steady);
  report.add_fact("fell_back", if_any(summary.fell_back, "fell back to jacobi"), summary.fell_back,
                  {.unit = noun_of(summary.fell_back, "plan")});
  report.add_fact(
      "cells_in_doubt", if_any(summary.cells_in_doubt, "cells in doubt"), summary.cells_in_doubt,
      {}, fmt::format(", near {} or {} °C", summary.thresholds.below, summary.thresholds.above));
}

/// Bytes that something held, with what it was.
void add_memory(const std::string& key, const std::string& name, std::int64_t bytes,
                const std::string& more_key, const Value& holder, const std::string& more,
                Report& report) {
  const bool is_known = bytes > 0;
  report.add_fact(key, name, is_known ? Value(bytes) : Value(), {Form::bytes},
                  more + value_text(holder));
  report.add_data(more_key, is_known ? holder : Value());
}

void add_costs(const Summary& summary, const std::optional<WallTime>& wall, Report& report) {
  report.add_line("time of solver threads", summary.spent.text());
  report.add_data("thread_seconds", summary.spent.seconds());
  report.add_data("cpu_seconds", summary.spent.cpu_seconds());
  add_memory("peak_memory", "peak memory of a solver", summary.peak_memory, "peak_memory_id",
             summary.peak_memory_id, ", for plan ", report);
  if (!wall) return;
  add_memory("rank_memory", "peak memory of a rank", wall->rank_memory, "rank_memory_rank",
             wall->rank, ", of rank ", report);
  std::string more = ", " + rate_text(wall->plans / wall->seconds);
  if (wall->all_sessions > 1)
    more += fmt::format(" ({} of {} sessions; one that was killed leaves no figures)",
                        wall->sessions, wall->all_sessions);
  report.add_fact("wall_seconds", wall->seconds > 0 ? "wall time" : "", wall->seconds,
                  {Form::duration}, more);
  report.add_data("sessions_with_figures", wall->sessions);
}

}  // namespace

void add_summary_facts(const Summary& summary, const std::optional<WallTime>& wall,
                       double cell_metres, Report& report) {
  add_plans(summary, report);
  add_temperatures(summary, report);
  add_areas(summary, cell_metres, report);
  if (summary.rooms) add_rooms(*summary.rooms, summary.thresholds, report);
  add_solver(summary, report);
  add_costs(summary, wall, report);
}

}  // namespace wallheat
