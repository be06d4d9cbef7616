#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/plural.hpp"
#include "report/scaling.hpp"

namespace wallheat {
namespace {

const Style two_decimals{Form::decimals, 2};

std::string limit_text(double limit) {
  return std::isinf(limit) ? "no limit" : fmt::format("{:.2f}", limit);
}

Table table_of_points(const std::vector<Scaling>& scalings) {
  Table table{"points",
              "",
              {{"schedule", scalings.size() > 1 ? "schedule" : ""},
               {"nodes", "nodes"},
               {"gpus", "GPUs"},
               {"workers", "workers"},
               {"seconds", "time s", {Form::seconds}},
               {"speedup", "speed-up", two_decimals},
               {"efficiency_pct", "efficiency", {Form::decimals, 1, "%"}},
               {"parallel_share", "F", {Form::decimals, 3}},
               {"largest_speedup", "S(inf)", two_decimals}}};
  for (const Scaling& scaling : scalings)
    for (const auto& [point, speedup, is_slower] : scaling.rows) {
      const auto workers = static_cast<double>(point.workers);
      const double share = parallel_share(speedup, workers);
      const bool is_fitted = !scaling.longest_plan;
      table.rows.push_back({scaling.name.empty() ? Value() : Value(scaling.name),
                            point.nodes > 0 ? Value(point.nodes) : Value(), point.gpus,
                            point.workers, point.seconds, speedup, 100 * speedup / workers,
                            is_fitted ? Value(share) : Value(),
                            is_fitted ? Value(largest_speedup(share)) : Value()});
    }
  table.hide_columns_of({});
  return table;
}

/// What bounds the speed-up: by Amdahl's law, or of each replay by its longest plan.
void add_limits(const std::vector<Scaling>& scalings, Report& report) {
  if (!scalings.front().longest_plan) {
    const double share = scalings.front().parallel_share;
    const bool is_known = !std::isnan(share);
    report.add_fact("parallel_share", is_known ? "F" : "", share, {Form::decimals, 3},
                    ", the parallel share of the work: Amdahl's law fitted to all points");
    report.add_fact("largest_speedup", is_known ? "S(inf)" : "", scalings.front().limit(),
                    two_decimals, " = 1 / (1 - F): the speed-up that no number of workers exceeds");
  } else {
    Table table{"limits",
                "",
                {{"schedule", ""},
                 {"largest_speedup", ""},
                 {"longest_plan_s", ""},
                 {"sufficient_workers", ""}}};
    for (const Scaling& scaling : scalings)
      table.rows.push_back({scaling.name, scaling.limit(), scaling.longest_plan->seconds,
                            scaling.longest_plan->sufficient_workers});
    report.add(std::move(table));
  }
  for (const Scaling& scaling : scalings)
    for (const std::string& remark : remarks_on(scaling)) report.add_note(remark);
}

/// Speed-up over workers: the ideal, what limits it, and the points.
Figure figure_of_speedups(const std::vector<Scaling>& scalings, const std::string& source) {
  Figure figure{"speedups",
                "strong scaling: " + source,
                {"workers", Figure::Scale::powers_of_2},
                {"speed-up", Figure::Scale::powers_of_2}};
  double most = 2;
  for (const Scaling& scaling : scalings)
    for (const Scaling::Row& row : scaling.rows)
      most = std::max({most, static_cast<double>(row.point.workers), row.speedup});
  const auto add_curve = [&](const std::string& name, bool is_dashed, const auto& speedup_of) {
    constexpr int steps = 200;
    Figure::Series curve{.name = name, .mark = Figure::Mark::line, .is_dashed = is_dashed};
    for (int i = 0; i <= steps; ++i) {
      const double workers = std::pow(most, static_cast<double>(i) / steps);
      curve.add(workers, speedup_of(workers));
    }
    figure.series.push_back(std::move(curve));
  };
  // One longest plan bounds all schedules.
  const Scaling& first = scalings.front();
  const double limit = first.limit();
  for (const Scaling& scaling : scalings) {
    Figure::Series& points = figure.series.emplace_back();
    points.name = first.longest_plan ? scaling.name + ": replayed" : "measured";
    for (const Scaling::Row& row : scaling.rows)
      points.add(static_cast<double>(row.point.workers), row.speedup);
  }
  const double share = first.parallel_share;
  if (first.longest_plan)
    add_curve(fmt::format("at most {}, by the longest plan", limit_text(limit)), false,
              [&](double workers) { return std::min(workers, limit); });
  else if (!std::isnan(share))
    add_curve(fmt::format("Amdahl with F = {:.3f}, S(inf) = {}", share, limit_text(limit)), false,
              [&](double workers) { return 1 / (1 - share + share / workers); });
  add_curve("ideal", true, [](double workers) { return workers; });
  return figure;
}

}  // namespace

Report report_of(const std::vector<Scaling>& scalings, const std::string& source) {
  Report report{"strong scaling: " + source};
  report.add_data("source", source);
  report.add(table_of_points(scalings));
  add_limits(scalings, report);
  report.add(figure_of_speedups(scalings, source));
  return report;
}

Report report_of_plan_counts(const std::vector<ScalingPoint>& points) {
  const std::string title = "seconds a plan of " + counted(points.front().workers, "worker");
  Report report{title};
  Table table{"points",
              "",
              {{"plans", "plans"},
               {"seconds", "time s", {Form::seconds}},
               {"seconds_a_plan", "s a plan", {Form::seconds}},
               {"plans_a_second", "plans/s", {Form::digits, 3}}}};
  Figure figure{"seconds_a_plan", title, {"plans", Figure::Scale::powers_of_2}, {"seconds a plan"}};
  figure.y.from = 0;
  Figure::Series& curve = figure.series.emplace_back();
  curve.mark = Figure::Mark::points_and_line;
  for (const ScalingPoint& point : points) {
    const auto plans = static_cast<double>(point.plans);
    table.rows.push_back(
        {point.plans, point.seconds, point.seconds / plans, plans / point.seconds});
    curve.add(plans, point.seconds / plans);
  }
  report.add(std::move(table));
  report.add_fact("workers", "workers", points.front().workers);
  report.add(std::move(figure));
  return report;
}

}  // namespace wallheat
