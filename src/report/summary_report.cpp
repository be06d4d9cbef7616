#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/number_of.hpp"
#include "core/plural.hpp"
#include "report/attributes.hpp"
#include "report/not_known.hpp"
#include "report/summary.hpp"
#include "view/advice.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

const Style celsius{Form::decimals, 3, "°C"};

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
                  celsius);
  report.add_fact("median_of_means", name("  median"), summary.median_of_means, celsius);
  report.add_fact("std_of_means", name("  standard deviation"), summary.std_of_means,
                  {Form::decimals, 4, "°C"}, ", of the means (population; pandas: ddof=0)");
  report.add_fact("mean_of_stds", name("average standard deviation"), summary.mean_of_stds, celsius,
                  ", within a plan (population)");
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
                  more + text_of(holder));
  report.add_data(more_key, is_known ? holder : Value());
}

void add_costs(const Summary& summary, const WallTime* wall, Report& report) {
  report.add_line("time of solver threads", summary.spent.text());
  report.add_data("thread_seconds", summary.spent.seconds());
  report.add_data("cpu_seconds", summary.spent.cpu_seconds());
  add_memory("peak_memory", "peak memory of a solver", summary.peak_memory, "peak_memory_id",
             summary.peak_memory_id, ", for plan ", report);
  if (wall == nullptr) return;
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

/// Bins with a bar for people, and those that lie far from the others.
void add_histogram(const Summary& summary, Report& report) {
  report.add(table_of(summary.histogram, "plans by mean temperature"));
  Table& outliers = report.add(Table{
      "outliers", "far from the others", {{"id", "plan"}, {"mean_temp", "mean", {.unit = "°C"}}}});
  outliers.most_shown = 10;
  for (const std::size_t i : summary.histogram.outliers)
    outliers.rows.push_back({summary.ids[i], summary.means[i]});
}

Table table_of_seconds(const char* key, const char* name,
                       const std::vector<std::pair<std::string, double>>& entries) {
  Table table{key,
              name,
              {{"name", "where"},
               {"seconds", "time", {Form::duration}},
               {"percent", "share", {Form::decimals, 1, "%"}}}};
  double all = 0;
  for (const auto& [entry, seconds] : entries) all += seconds;
  if (!(all > 0)) return table;
  for (const auto& [entry, seconds] : entries)
    table.rows.push_back({entry, seconds, 100 * seconds / all});
  return table;
}

void add_gpus(const WallTime& wall, Report& report) {
  std::vector<std::pair<std::string, double>> entries;
  constexpr std::array names{"the host's work", "upload", "kernels", "download",
                             "waiting for the driver"};
  for (std::size_t i = 0; i < names.size(); ++i)
    entries.emplace_back(names.at(i), wall.on_gpus.*gpu_seconds_names.at(i).second);
  report.add(table_of_seconds("on_gpus", "where the time of plans on GPUs went", entries));
  if (!wall.kernels.empty()) report.add_note(wall.kernels);
}

void add_plans_to_name(const Summary& summary, Report& report) {
  Table& slowest = report.add(Table{"slowest",
                                    "slowest plans",
                                    {{"id", "plan"},
                                     {"seconds", "time", {Form::duration}},
                                     {"iterations", "iterations"},
                                     {"interior_cells", "interior cells"},
                                     {"device", "device"},
                                     {"host", "host"}}});
  for (const PlanResult& row : summary.slowest)
    slowest.rows.push_back(
        {row.id, row.seconds, row.iterations, row.interior_cells, row.device, row.host});
  if (summary.rooms) {
    Table& rooms = report.add(Table{
        "coldest_rooms",
        "coldest rooms",
        {{"id", "plan"},
         {"room", "room"},
         {"mean_temp", "mean", celsius},
         {"min_temp", "least", celsius},
         {"max_temp", "largest", celsius},
         {"pct_below", side_text("below", summary.thresholds.below), {Form::decimals, 1, "%"}},
         {"cells", "cells"},
         {"rows", "rows"},
         {"cols", "columns"}}});
    rooms.most_shown = 5;
    for (const RoomRow& row : summary.rooms->coldest) {
      const RoomResult& room = row.room;
      rooms.rows.push_back({row.id, room.room, room.mean_temp, room.min_temp, room.max_temp,
                            row.pct_below(), room.cells,
                            fmt::format("{} to {}", room.first_row, room.last_row),
                            fmt::format("{} to {}", room.first_col, room.last_col)});
    }
  }
}

/// What failed, whichever plan it was: its sentence without the plan's name, as a word of it.
std::string without_id(std::string error, const std::string& id) {
  const auto is_of_a_word = [&](std::size_t at) {
    return at < error.size() && std::isalnum(static_cast<unsigned char>(error[at])) != 0;
  };
  for (std::size_t at = 0; !id.empty() && (at = error.find(id, at)) != std::string::npos; ++at) {
    if (is_of_a_word(at - 1) || is_of_a_word(at + id.size())) continue;
    return error.replace(at, id.size(), "ID");
  }
  return error;
}

/// By cause, and for scripts each.
void add_failures(const std::vector<FailedPlan>& failed, Report& report) {
  Table& each =
      report.add(Table{"failed_plans", "", {{"id", ""}, {"attempts", ""}, {"error", ""}}});
  std::map<std::string, std::vector<const FailedPlan*>> by_cause;
  for (const FailedPlan& plan : failed) {
    const auto& [id, attempts, error] = plan;
    each.rows.push_back({id, attempts, error});
    by_cause[without_id(error, id)].push_back(&plan);
  }
  Table& causes = report.add(Table{
      "failures",
      "failed plans",
      {{"plans", "plans"}, {"cause", "cause"}, {"ids", "such as"}, {"again", "to try one again"}}});
  constexpr std::size_t few = 3;
  for (const auto& [cause, plans] : by_cause) {
    const FailedPlan& first = *plans.front();
    std::string ids = first.id;
    for (std::size_t i = 1; i < std::min(plans.size(), few); ++i) ids += ", " + plans[i]->id;
    causes.rows.push_back({plans.size(), plans.size() == 1 ? first.error : cause, ids,
                           fmt::format("wallheat solve {} --data PLANS", first.id)});
  }
}

void add_record(const ResultReader& reader, Report& report) {
  Table& settings =
      report.add(Table{"settings", "settings of the run", {{"name", "name"}, {"value", "value"}}});
  settings.is_folded = true;
  for (const auto& [name, setting] : reader.settings()) settings.rows.push_back({name, setting});
  Table& sessions =
      report.add(Table{"sessions",
                       fmt::format("sessions ({})", reader.sessions().size()),
                       {{"started_utc", "started", {Form::time}},
                        {"ended_utc", "ended (- if killed, or still running)", {Form::time}},
                        {"end", "end"},
                        {"solved", "solved"},
                        {"failed", "failed"},
                        {"restored", ""},
                        {"seconds", "wall time", {Form::duration}},
                        {"threads", "threads"},
                        {"plans_at_once", ""},
                        {"rank_memory", ""},
                        {"command_line", "command"}}});
  sessions.is_folded = true;
  for (const Attributes& session : reader.sessions()) {
    Table::Row& row = sessions.rows.emplace_back();
    for (const Table::Column& column : sessions.columns) {
      const auto found = session.find(column.key);
      const auto number = found == session.end() ? std::nullopt : number_of<double>(found->second);
      row.push_back(found == session.end() ? Value() : number ? Value(*number) : found->second);
    }
  }
}

}  // namespace

Report report_of(const Summary& summary, const WallTime* wall, const ResultReader* reader,
                 double cell_metres) {
  const bool closed_well = reader == nullptr || reader->closed_well();
  Report report;
  add_plans(summary, report);
  add_temperatures(summary, report);
  add_areas(summary, cell_metres, report);
  if (summary.rooms) add_rooms(*summary.rooms, summary.thresholds, report);
  add_solver(summary, report);
  add_costs(summary, wall, report);
  report.add_data("closed_well", closed_well);
  if (!closed_well)
    report.add_line(
        "state", "the file is still being written, or its writer was killed: go on with --resume");
  add_histogram(summary, report);
  report.add(table_of_seconds("phases", "where the time of solver threads went", summary.phases));
  if (wall != nullptr) add_gpus(*wall, report);
  add_plans_to_name(summary, report);
  add_failures(summary.failed, report);
  if (reader != nullptr) add_record(*reader, report);
  return report;
}

Figure histogram_figure(const Summary& summary, const std::string& title) {
  Figure figure = figure_of(summary.histogram,
                            fmt::format("{}: {}", title, counted(summary.means.size(), "plan")),
                            "mean temperature of a plan, °C");
  if (figure.series.empty()) return figure;
  const double highest = 1.08 * *std::ranges::max_element(figure.series.front().y);
  const auto name = [](const char* of, double at) { return fmt::format("{} {:#.4g} °C", of, at); };
  const auto [mean, median] = std::pair(summary.mean_of_means, summary.median_of_means);
  figure.add_upright(name("mean", mean), mean, 0, highest, false);
  figure.add_upright(name("median", median), median, 0, highest);
  return figure;
}

}  // namespace wallheat
