#include "report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <tuple>
#include <utility>

#include "core/answer.hpp"
#include "core/interior_values.hpp"
#include "core/text.hpp"
#include "report/file_status.hpp"
#include "report/time_ledger.hpp"
#include "store/merge.hpp"
#include "view/advice.hpp"
#include "view/time_text.hpp"

namespace wallheat {

namespace {

double mean_of(const std::vector<double>& values) {
  return values.empty() ? not_known : numpy_sum(values) / static_cast<double>(values.size());
}

double std_of(std::vector<double> values) {
  const double mean = mean_of(values);
  for (double& value : values) value = (value - mean) * (value - mean);
  return std::sqrt(mean_of(values));
}

double median_of(std::vector<double> values) {
  if (values.empty()) return not_known;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Keeps one if it is among the `most` with the least keys, which are ascending.
template <class T>
void keep_least(std::vector<T>& kept, const T& one, std::size_t most, double (*key_of)(const T&)) {
  const auto after = std::ranges::upper_bound(kept, key_of(one), {}, key_of);
  if (after == kept.end() && kept.size() == most) return;
  kept.insert(after, one);
  if (kept.size() > most) kept.pop_back();
}

void add_room(RoomSummary& rooms, const RoomResult& room, const PlanResult& plan,
              const Thresholds& thresholds) {
  ++rooms.rooms;
  rooms.above += room.mean_temp > thresholds.above ? 1U : 0U;
  rooms.below += room.mean_temp < thresholds.below ? 1U : 0U;
  constexpr std::size_t most_rooms = 20;
  if (std::int64_t{room.cells} * 1000 >= plan.interior_cells)
    keep_least<std::pair<RoomResult, std::string>>(
        rooms.coldest, {room, plan.id}, most_rooms,
        [](const auto& of) { return of.first.mean_temp; });
}

/// Keeps the largest of what a session's ranks held: "0:31244288 1:27000832".
void note_rank_memory(const std::string& text, WallTime& time) {
  std::istringstream words(text);
  int rank = 0;
  char colon = 0;
  for (std::int64_t bytes = 0; words >> rank >> colon >> bytes;)
    if (bytes > time.rank_memory) {
      time.rank_memory = bytes;
      time.rank = rank;
    }
}

}  // namespace

WallTime wall_time(const std::vector<Attributes>& sessions) {
  WallTime time;
  std::vector<std::pair<double, double>> stretches;
  for (const Attributes& session : sessions) {
    if (merged_parts(session)) continue;
    ++time.all_sessions;
    if (!session.contains("seconds")) continue;
    ++time.sessions;
    time.plans += number_in(session, "solved");
    note_rank_memory(text_in(session, "rank_memory"), time);
    for (const GpuSessionPart& part : gpu_session_parts)
      time.on_gpus.*part.seconds += number_in(session, part.name);
    if (session.contains("kernels")) time.kernels += "\n" + text_in(session, "kernels") + "\n";
    const double seconds = number_in(session, "seconds");
    if (const auto start = seconds_of_utc(text_in(session, "started_utc"))) {
      stretches.emplace_back(*start, *start + seconds);
    } else {
      time.seconds += seconds;
    }
  }
  std::sort(stretches.begin(), stretches.end());
  double covered = -std::numeric_limits<double>::infinity();
  for (const auto& [start, end] : stretches) {
    time.seconds += std::max(0.0, end - std::max(start, covered));
    covered = std::max(covered, end);
  }
  return time;
}

Summary summary_of(const Rows& rows, const Thresholds& thresholds, const ResultReader* reader) {
  Summary summary;
  summary.thresholds = thresholds;
  if (reader != nullptr && reader->has_rooms()) summary.rooms.emplace();
  PhaseSeconds in_phases{};
  double in_plans = 0;
  std::vector<double> stds;
  rows([&](const PlanResult& row) {
    ++summary.plans;
    ++summary.by_status[row.status];
    summary.spent.add(row);
    if (row.peak_memory > summary.peak_memory) {
      summary.peak_memory = row.peak_memory;
      summary.peak_memory_id = row.id;
    }
    if (row.phases.read_s != 0) {  // else its solver did not tell
      in_plans += row.seconds;
      add_phases(row.phases, in_phases);
    }
    if (row.status == PlanStatus::failed)
      summary.failed.push_back({row.id, row.attempts, row.error});
    if (summary.rooms)
      for (const RoomResult& room : reader->rooms(row.index))
        add_room(*summary.rooms, room, row, thresholds);
    if (!is_answer(row.status) || row.status == PlanStatus::empty) return;
    summary.means.push_back(row.statistics.mean_temp);
    summary.ids.push_back(row.id);
    const auto cells_of = [&](double pct) {
      return std::isfinite(pct) ? std::llround(pct / 100 * static_cast<double>(row.interior_cells))
                                : 0LL;
    };
    summary.interior_cells += row.interior_cells;
    summary.cells_above += cells_of(row.statistics.pct_above_18);
    summary.cells_below += cells_of(row.statistics.pct_below_15);
    constexpr std::size_t most_slow = 5;
    keep_least<PlanResult>(summary.slowest, row, most_slow,
                           [](const PlanResult& of) { return -of.seconds; });
    stds.push_back(row.statistics.std_temp);
    summary.half_above += row.statistics.pct_above_18 >= 50 ? 1U : 0U;
    summary.half_below += row.statistics.pct_below_15 >= 50 ? 1U : 0U;
    if (summary.solver.empty()) summary.solver = row.solver;
    const double bound = row.error_bound;
    const bool proven = !std::isnan(summary.largest_error_bound);  // all so far
    if (proven && !(bound <= summary.largest_error_bound)) summary.largest_error_bound = bound;
    if (row.error_estimate > summary.largest_error_estimate)
      summary.largest_error_estimate = row.error_estimate;
    summary.far_from_steady += is_far_from_steady(row) ? 1U : 0U;
    summary.fell_back += row.fell_back != 0 ? 1U : 0U;
    summary.cells_in_doubt += row.cells_in_doubt;
  });
  summary.mean_of_means = mean_of(summary.means);
  summary.median_of_means = median_of(summary.means);
  summary.std_of_means = std_of(summary.means);
  summary.mean_of_stds = mean_of(stds);
  for (std::size_t i = 0; in_plans != 0 && i < in_phases.size(); ++i) {
    summary.phases.emplace_back(phases_of_a_plan.at(i).name, in_phases.at(i));
    in_plans -= in_phases.at(i);
  }
  if (!summary.phases.empty()) summary.phases.emplace_back("other", std::max(in_plans, 0.0));
  return summary;
}

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
