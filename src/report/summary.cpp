#include "report/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/cell_statistics.hpp"
#include "core/plan_ids.hpp"
#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "monitor/run_progress.hpp"
#include "report/histogram.hpp"
#include "report/room_text.hpp"
#include "view/advice.hpp"
#include "view/time_text.hpp"

namespace wallheat {

namespace {

const ValueStyle celsius{ValueFormat::decimals, 3, "°C"};

/// The rows with the lowest keys, in ascending order. NaN comes last.
struct FewRows {
  std::size_t max;
  std::multimap<double, Table::Row> rows = {};

  /// Adds a row if its key is among the lowest. `row` creates it then.
  void add(double key, const auto& row) {
    if (std::isnan(key)) key = INFINITY;
    if (rows.size() == max && key >= rows.rbegin()->first) return;
    rows.emplace(key, row());
    if (rows.size() > max) rows.erase(std::prev(rows.end()));
  }
  void add_to(Table& table) const {
    for (const auto& [key, row] : rows) table.rows.push_back(row);
  }
};

/// Counts of objects: all, and those above and below the thresholds.
struct ThresholdCounts {
  std::int64_t all = 0, above = 0, below = 0;
};

/// Plans that failed in the same way.
struct Cause {
  std::size_t plans = 0;
  std::string error;             ///< error of the first one
  std::vector<std::string> ids;  ///< IDs of the first few
};

/// Summary of all rows. Unless noted otherwise, it covers the plans with a temperature.
struct Summary {
  std::size_t plans = 0;  ///< all plans
  std::map<PlanStatus, std::size_t> by_status;
  std::vector<double> means;  ///< mean of each plan
  std::vector<double> stds;
  StringList ids;
  FewRows slowest{5};
  std::vector<Table::Row> failed;
  std::map<std::string, Cause> causes;
  ThresholdCounts halves;                ///< plans with at least half of their cells above or below
  ThresholdCounts cells;                 ///< interior cells
  PlansBySolver solvers;                 ///< also of empty plans
  double largest_error_bound = 0;        ///< °C; NaN unless all have a bound
  std::size_t fell_back = 0;             ///< plans of fastforward that got the exact iteration
  std::uint64_t uncertain_cells = 0;     ///< closer to a threshold than the error bound
  bool has_unknown_uncertainty = false;  ///< whether a recounted plan of fastforward is included
  double largest_error_estimate = 0;     ///< °C; over the plans that have one
  std::size_t far_from_steady = 0;       ///< plans
  std::size_t unknown_error = 0;         ///< plans with neither a bound nor an estimate
  SolverTime spent;                      ///< for all rows
  std::int64_t peak_memory = 0;          ///< maximum of all rows in bytes; 0: unknown
  std::string peak_memory_id;            ///< plan with this maximum
  /// Rooms by their means; nullopt if the file has no rooms.
  std::optional<ThresholdCounts> rooms;
  RoomCounts room_counts;
  FewRows coldest_rooms{20};
  PhaseSeconds in_phases{};  ///< of plans whose phases are known
  double in_plans = 0;       ///< seconds of these plans

  void count_row(const PlanResult& row);
  void count_answer(const PlanResult& row);
  void count_room(const RoomResult& room, const PlanResult& plan, const SummaryInput& of);
};

/// Returns an error message without the ID of its plan, so that plans with the same cause have the
/// same text. Only complete words are removed.
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

void Summary::count_row(const PlanResult& row) {
  ++plans;
  ++by_status[row.status];
  spent.add(row);
  if (row.peak_memory > peak_memory) {
    peak_memory = row.peak_memory;
    peak_memory_id = row.id;
  }
  if (row.phases.read_s != 0) {  // otherwise its phases are unknown
    in_plans += row.seconds;
    add_phases(row.phases, in_phases);
  }
  if (row.status == PlanStatus::failed) {
    failed.push_back({row.id, row.attempts, row.error});
    Cause& cause = causes[without_id(row.error, row.id)];
    constexpr std::size_t few = 3;
    if (++cause.plans == 1) cause.error = row.error;
    if (cause.plans <= few) cause.ids.push_back(row.id);
  }
  if (is_solved(row.status)) ++solvers[row.solver];
  if (is_solved(row.status) && row.status != PlanStatus::empty) count_answer(row);
}

void Summary::count_answer(const PlanResult& row) {
  const auto& [mean, std, above, below] = row.statistics;
  means.push_back(mean);
  stds.push_back(std);
  ids.push_back(row.id);
  const auto cells_of = [&](double pct) {
    return std::isfinite(pct) ? std::llround(pct / 100 * static_cast<double>(row.interior_cells))
                              : 0LL;
  };
  cells.all += row.interior_cells;
  cells.above += cells_of(above);
  cells.below += cells_of(below);
  halves.above += above >= 50 ? 1 : 0;
  halves.below += below >= 50 ? 1 : 0;
  slowest.add(-row.seconds, [&] {
    return Table::Row{row.id,     row.seconds, known_iterations(row), row.interior_cells,
                      row.device, row.host};
  });
  // True if all plans so far have an error bound.
  const bool are_proven = !std::isnan(largest_error_bound);
  if (are_proven && !(row.error_bound <= largest_error_bound))
    largest_error_bound = row.error_bound;
  if (row.error_estimate > largest_error_estimate) largest_error_estimate = row.error_estimate;
  far_from_steady += is_far_from_steady(row) ? 1U : 0U;
  unknown_error += has_unknown_error(row) ? 1U : 0U;
  fell_back += row.fell_back != 0 ? 1U : 0U;
  uncertain_cells += row.uncertain_cells;
  has_unknown_uncertainty =
      has_unknown_uncertainty || (row.solver.starts_with("fastforward") && row.fell_back == 0 &&
                                  std::isnan(row.pct_above_lower));
}

/// Counts a room, unless it has fewer than `min_cells` cells. The coldest rooms are those of at
/// least a thousandth of their plan's interior: the mask of a plan may have single cells apart.
void Summary::count_room(const RoomResult& room, const PlanResult& plan, const SummaryInput& of) {
  room_counts.add(room.cells, of.min_cells);
  if (room.cells < of.min_cells) return;
  ++rooms->all;
  rooms->above += room.mean_temp > of.thresholds.above ? 1 : 0;
  rooms->below += room.mean_temp < of.thresholds.below ? 1 : 0;
  if (std::int64_t{room.cells} * 1000 < plan.interior_cells) return;
  coldest_rooms.add(room.mean_temp, [&] {
    return Table::Row{plan.id,
                      room.room,
                      room.mean_temp,
                      room.min_temp,
                      room.max_temp,
                      pct_below(room),
                      room.cells,
                      fmt::format("{} to {}", room.first_row, room.last_row),
                      fmt::format("{} to {}", room.first_col, room.last_col)};
  });
}

std::string side_text(const char* side, double threshold) {
  return fmt::format("{} {} °C", side, threshold);
}

/// Adds the number of plans that the averages cover, unless they cover all plans of the file.
void add_coverage(const Summary& summary, const SummaryInput& of, Report& report) {
  const std::size_t all = of.reader ? of.reader->count() : summary.plans;
  const std::size_t covered = summary.means.size();
  report.add_json_fact("where", of.where.empty() ? Value() : Value(of.where));
  report.add_json_fact("plans_of_file", all);
  std::string text = fmt::format("{} of {} plans", covered, all);
  if (!of.where.empty()) text += fmt::format(", where {}", of.where);
  if (const std::string missing = of.missing.text(); !missing.empty()) text += "; " + missing;
  if (covered < all) report.add_text_fact("averages over", text);
  if (of.reader) add_missing_plans(of.missing, report);
}

void add_numbers(const Summary& summary, Report& report) {
  report.add_fact("plans", "plans", summary.plans);
  for (const PlanStatus status : plan_statuses) {
    const auto found = summary.by_status.find(status);
    const bool any = found != summary.by_status.end();
    const std::string name{to_string(status)};
    report.add_fact(name, any ? "  " + name : "", any ? found->second : 0);
  }
  report.add_json_fact("with_temperature", summary.means.size());
}

/// Adds the number and the share of objects above and below the thresholds.
void add_sides(const std::string& of, const std::string& name, const ThresholdCounts& count,
               const std::string& noun, const Thresholds& thresholds, Report& report) {
  for (const auto& [side, threshold, part] : {std::tuple("above", thresholds.above, count.above),
                                              {"below", thresholds.below, count.below}})
    report.add_fact(of + '_' + side, name.empty() ? "" : name + side_text(side, threshold), part,
                    {.unit = pluralize(static_cast<std::size_t>(part), noun)},
                    Report::share(static_cast<double>(part), static_cast<double>(count.all)));
}

void add_temperatures(const Summary& summary, const Thresholds& thresholds, Report& report) {
  const bool any = !summary.means.empty();
  const Statistics of_means = summarize_cells(summary.means, thresholds).statistics;
  const Statistics of_stds = summarize_cells(summary.stds, thresholds).statistics;
  const auto add = [&](const char* key, const char* name, double value, const ValueStyle& style,
                       const char* more = "") {
    report.add_fact(key, any ? name : "", value, style, more);
  };
  add("mean_of_means", "average mean temperature", of_means.mean_temp, celsius);
  add("median_of_means", "  median", median(summary.means), celsius);
  add("std_of_means", "  standard deviation", of_means.std_temp, {ValueFormat::decimals, 4, "°C"},
      ", of the means (population; pandas: ddof=0)");
  add("mean_of_stds", "average standard deviation", of_stds.mean_temp, celsius,
      ", within a plan (population)");
  report.add_json_fact("above", thresholds.above);
  report.add_json_fact("below", thresholds.below);
  add_sides("half", any ? "at least 50 % " : "", summary.halves, "plan", thresholds, report);
}

void add_areas(const Summary& summary, const SummaryInput& of, Report& report) {
  if (of.cell_metres == 0 || summary.means.empty()) return;
  const auto& [all, cells_above, cells_below] = summary.cells;
  for (const auto& [key, name, cells] :
       {std::tuple("area_m2", std::string("area"), all),
        {"area_above_m2", "  " + side_text("above", of.thresholds.above), cells_above},
        {"area_below_m2", "  " + side_text("below", of.thresholds.below), cells_below}}) {
    const auto count = static_cast<double>(cells);
    report.add_fact(key, name, count * of.cell_metres * of.cell_metres,
                    {ValueFormat::digits, 5, "m²"},
                    name == "area" ? "" : Report::share(count, static_cast<double>(all)));
  }
}

/// Returns the solver command of the file; an empty string if a built-in solver solved the plans.
std::string solver_command_of(const SummaryInput& of) {
  return of.reader ? text_in(of.reader->settings(), "solver_command", "") : std::string();
}

/// Adds the solver, and the error bounds and estimates.
void add_solver(const Summary& summary, const SummaryInput& of, Report& report) {
  const std::string solver =
      solvers_text(summary.solvers, of.reader ? of.reader->settings() : Attributes());
  report.add_fact("", solver.empty() ? "" : "solver", solver);
  report.add_json_fact("solver", summary.solvers.empty() ? "" : summary.solvers.begin()->first);
  Table& solvers =
      report.add(Table{"solvers", "", {json_only_column("solver"), json_only_column("plans")}});
  for (const auto& [name, plans] : summary.solvers) solvers.rows.push_back({name, plans});
  const double bound = summary.means.empty() ? nan_value : summary.largest_error_bound;
  report.add_fact("largest_error_bound", std::isnan(bound) ? "" : "largest error bound", bound,
                  {ValueFormat::digits, 3, "°C"});
  const auto add = [&](const char* key, const char* name, auto value, const ValueStyle& style,
                       const std::string& more = "") {
    report.add_fact(key, value > 0 ? name : "", value, style, more);
  };
  add("largest_error_estimate", "largest error estimate", summary.largest_error_estimate,
      {ValueFormat::digits, 2, "°C"});
  const bool has_command =
      !summary.solvers.empty() && is_solver_command(summary.solvers.begin()->first);
  add("far_from_steady", has_command ? "fields to check" : "stopped early", summary.far_from_steady,
      {.unit = pluralize(summary.far_from_steady, "plan")},
      std::string(", ") + far_from_steady_remark(has_command));
  add("unknown_error", "error not estimated", summary.unknown_error,
      {.unit = pluralize(summary.unknown_error, "plan")}, ", after too few iterations");
  add("fell_back", "fell back to jacobi", summary.fell_back,
      {.unit = pluralize(summary.fell_back, "plan")});
  if (summary.has_unknown_uncertainty) {
    report.add_json_fact("uncertain_cells", Value());
    report.add_text_fact("uncertain cells",
                         "unknown: fastforward has bounds only for the thresholds of the run");
    return;
  }
  add("uncertain_cells", "uncertain cells", summary.uncertain_cells, {},
      fmt::format(", near {} or {} °C", of.thresholds.below, of.thresholds.above));
}

/// Adds an amount of memory, with the process or plan that used it.
void add_memory(const std::string& key, const std::string& name, std::int64_t bytes,
                const std::string& more_key, const Value& holder, const std::string& more,
                Report& report) {
  const bool is_known = bytes > 0;
  report.add_fact(key, name, is_known ? Value(bytes) : Value(), {ValueFormat::bytes},
                  more + value_text(holder));
  report.add_json_fact(more_key, is_known ? holder : Value());
}

void add_costs(const Summary& summary, const SummaryInput& of, const std::optional<WallTime>& wall,
               Report& report) {
  report.add_text_fact("time of the plans", summary.spent.text(),
                       summary.spent.seconds() > 0 && std::isnan(summary.spent.cpu_seconds())
                           ? "; their CPU time was not measured"
                           : "");
  report.add_json_fact("thread_seconds", summary.spent.seconds());
  report.add_json_fact("cpu_seconds", summary.spent.cpu_seconds());
  add_memory("peak_memory", "peak memory of a solver", summary.peak_memory, "peak_memory_id",
             summary.peak_memory_id, ", for plan ", report);
  if (!wall) return;
  double program_start_s = 0;
  for (const Attributes& session : of.reader->sessions())
    program_start_s += number_in(session, "program_start_seconds");
  report.add_fact("program_start_seconds", program_start_s > 0 ? "start of the program" : "",
                  program_start_s, {ValueFormat::duration}, ", summed over the slots");
  add_memory("rank_memory", "peak memory of a rank", wall->rank_memory, "rank_memory_rank",
             wall->rank, ", of rank ", report);
  std::string more = ", " + rate_text(wall->plans / wall->seconds);
  if (wall->all_sessions > 1)
    more += fmt::format(" ({} of {} sessions; killed sessions have no record)", wall->sessions,
                        wall->all_sessions);
  report.add_fact("wall_seconds", wall->seconds > 0 ? "wall time" : "", wall->seconds,
                  {ValueFormat::duration}, more);
  report.add_json_fact("sessions_with_figures", wall->sessions);
}

/// Adds a histogram with lines at mean and median, and the outliers.
void add_means(const Summary& summary, std::size_t max_bins, Report& report) {
  const Histogram histogram = histogram_of(summary.means, max_bins);
  const std::size_t all = summary.means.size();
  const std::string counted = histogram.count() == all
                                  ? count_text(all, "plan")
                                  : fmt::format("{} of {} plans", histogram.count(), all);
  Figure& figure = add_histogram(histogram, counted + " by mean temperature",
                                 "mean temperature of a plan, °C", report);
  if (!figure.series.empty()) {
    const double highest = 1.08 * std::ranges::max(figure.series.front().y);
    const double mean = summarize_cells(summary.means, {}).statistics.mean_temp;
    for (const auto& [name, at, is_dashed] :
         {std::tuple("mean", mean, false), {"median", median(summary.means), true}})
      figure.add_vertical_line(fmt::format("{} {:#.4g} °C", name, at), at, 0, highest, is_dashed);
  }
  Table& outliers = report.add(
      Table{"outliers", "outliers", {{"id", "plan"}, {"mean_temp", "mean", {.unit = "°C"}}}});
  outliers.max_text_rows = 10;
  for (const std::size_t i : histogram.outliers)
    outliers.rows.push_back({summary.ids[i], summary.means[i]});
}

/// Returns the times of plans by phase; "other" is the time outside of all phases.
NamedSeconds phases_of(const Summary& summary) {
  NamedSeconds phases;
  double other = summary.in_plans;
  if (other == 0) return phases;
  for (std::size_t i = 0; i < summary.in_phases.size(); ++i) {
    phases.emplace_back(phases_of_a_plan.at(i).name, summary.in_phases.at(i));
    other -= summary.in_phases.at(i);
  }
  phases.emplace_back("other", std::max(other, 0.0));
  return phases;
}

void add_plans_to_name(const Summary& summary, const Thresholds& thresholds, Report& report) {
  summary.slowest.add_to(report.add(Table{"slowest",
                                          "slowest plans",
                                          {{"id", "plan"},
                                           {"seconds", "time", {ValueFormat::duration}},
                                           {"iterations", "iterations"},
                                           {"interior_cells", "interior cells"},
                                           {"device", "device"},
                                           {"host", "host"}}}));
  if (!summary.rooms) return;
  Table& rooms = report.add(
      Table{"coldest_rooms",
            "coldest rooms of at least a thousandth of their plan",
            {{"id", "plan"},
             {"room", "room"},
             {"mean_temp", "mean", celsius},
             {"min_temp", "min", celsius},
             {"max_temp", "max", celsius},
             {"pct_below", side_text("below", thresholds.below), {ValueFormat::decimals, 1, "%"}},
             {"cells", "cells"},
             {"rows", "rows"},
             {"cols", "columns"}}});
  rooms.max_text_rows = 5;
  summary.coldest_rooms.add_to(rooms);
}

/// Adds the failed plans by cause, and in JSON output each of them.
void add_failures(const Summary& summary, const SummaryInput& of, Report& report) {
  report.add(
      Table{"failed_plans",
            "",
            {json_only_column("id"), json_only_column("attempts"), json_only_column("error")},
            summary.failed});
  Table& causes = report.add(Table{
      "failures",
      "failed plans",
      {{"plans", "plans"}, {"cause", "cause"}, {"ids", "such as"}, {"again", "to retry one"}}});
  std::string plans;
  if (of.reader)
    for (const Attributes& session : of.reader->sessions())
      if (session.contains("data")) plans = session.at("data");
  plans = plans.empty() ? "PLANS" : quote_shell_word(plans);
  const std::string line = solver_command_of(of);
  const std::string command =
      line.empty() ? "" : " --solver-command " + quote_shell_word(escape_control_chars(line));
  const auto retry = [&](const std::string& id) {
    const std::string end = fmt::format(" {} --data {}", quote_shell_word(id), plans);
    return command.empty() ? "wallheat solve" + end
                           : "wallheat run" + end + " --out retry.h5" + command;
  };
  for (const auto& [text, cause] : summary.causes)
    causes.rows.push_back({cause.plans, cause.plans == 1 ? cause.error : text,
                           fmt::format("{}", fmt::join(cause.ids, ", ")),
                           retry(cause.ids.front())});
  if (summary.failed.empty() || of.file.empty()) return;
  report.add_note(fmt::format("To retry all of them after fixing {}their input: {}{}{}{}",
                              command.empty() ? "" : "the program or ",
                              resume_command(quote_shell_word(of.file), plans), retry_failed_suffix,
                              command, command.empty() ? "" : " --allow-changed-solver"));
}

/// Returns the report in the order of text output; with `is_page`, including the sections of the
/// page only.
Report report_with(const Summary& summary, const SummaryInput& of, bool is_page) {
  const ResultReader* const reader = of.reader.get();
  const bool closed_well = reader == nullptr || reader->closed_cleanly();
  std::optional<WallTime> wall;
  std::vector<SlotTimeline> slots;
  std::vector<TimeBreakdown> breakdowns;
  // The times of the sessions include plans that `where` leaves out.
  if (reader != nullptr && of.where.empty()) {
    wall = wall_time(reader->sessions());
    if (is_page) slots = slot_timelines(of.rows);
    breakdowns = time_breakdowns(slots, reader->sessions());
  }
  Report report{std::filesystem::path(of.file).filename().string()};
  add_coverage(summary, of, report);
  add_numbers(summary, report);
  add_temperatures(summary, of.thresholds, report);
  add_areas(summary, of, report);
  if (summary.rooms) {
    const auto door_cells = recorded_door_cells(of.file, *reader);
    report.add_fact(
        "rooms", "rooms", summary.rooms->all, {},
        summary.room_counts.suffix(of.min_cells) + door_suffix(door_cells, false, of.cell_metres));
    add_door_facts(door_cells, of.cell_metres, report);
    report.add_json_fact("min_cells", of.min_cells);
    report.add_json_fact("small_rooms", summary.room_counts.small);
    add_sides("rooms", "  mean ", *summary.rooms, "room", of.thresholds, report);
  }
  add_solver(summary, of, report);
  add_costs(summary, of, wall, report);
  report.add_json_fact("closed_well", closed_well);
  if (!closed_well)
    report.add_text_fact(
        "state",
        "the file is still being written, or its run was killed or failed: continue with --resume");
  if (is_page) add_run_info(of, slots, report);
  add_means(summary, of.max_bins, report);
  if (is_page) add_distribution(of, report);
  // A time breakdown contains more than the phases of plans.
  if (breakdowns.empty())
    report.add(table_of_seconds("phases", "time breakdown of solver threads", phases_of(summary)));
  if (wall) add_gpu_times(*wall, report);
  add_plans_to_name(summary, of.thresholds, report);
  add_failures(summary, of, report);
  if (is_page) {
    add_session_times(breakdowns, slots, report);
    add_predictions(of, report);
  }
  if (reader != nullptr) add_provenance(*reader, report);
  if (is_page) add_plan_table(of, report);
  return report;
}

}  // namespace

PlansBySolver plans_by_solver(const ResultReader& reader) {
  PlansBySolver solvers;
  reader.for_each_row([&](const PlanResult& row) {
    if (is_solved(row.status)) ++solvers[row.solver];
  });
  return solvers;
}

std::string solvers_text(const PlansBySolver& solvers, const Attributes& settings) {
  const std::string command = escape_control_chars(text_in(settings, "solver_command", ""));
  const std::string version = text_in(settings, "solver_version");
  const auto is_of_settings = [&](const std::string& solver) {
    return !command.empty() && solver == "command " + version;
  };
  const bool is_one = solvers.size() == 1;
  std::vector<std::string> each;
  for (const auto& [solver, plans] : solvers)
    each.push_back(fmt::format("{}{}{}", is_one ? "" : count_text(plans, "plan") + " by ", solver,
                               is_of_settings(solver) ? ": " + command : ""));
  if (solvers.size() < 2) return each.empty() ? "" : each.front();
  return fmt::format("{} {}: {}", solvers.size(),
                     is_solver_command(solvers.begin()->first) ? "programs" : "solvers",
                     fmt::join(each, ", "));
}

Report summary_report(const SummaryInput& of) {
  Summary summary;
  if (of.reader && of.reader->has_rooms()) summary.rooms.emplace();
  of.rows([&](const PlanResult& row) {
    summary.count_row(row);
    if (!summary.rooms) return;
    const auto count_all = [&](const std::vector<RoomResult>& rooms) {
      for (const RoomResult& room : rooms) summary.count_room(room, row, of);
    };
    count_all(row.rooms.empty() ? of.reader->rooms(row.index) : row.rooms);
  });
  summary.halves.all = static_cast<std::int64_t>(summary.means.size());
  Report report = report_with(summary, of, false);
  if (of.reader)
    report.for_page = [summary = std::move(summary), of] { return report_with(summary, of, true); };
  return report;
}

}  // namespace wallheat
