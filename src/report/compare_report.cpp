#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "monitor/run_progress.hpp"
#include "report/compare.hpp"
#include "report/histogram.hpp"
#include "report/row_table.hpp"
#include "report/scaling.hpp"
#include "report/time_breakdown.hpp"
#include "view/time_text.hpp"

namespace wallheat {

namespace {

Figure figure_of_times(const std::vector<ProgramTime>& times) {
  Figure figure{"seconds_per_plan", "seconds per plan, wall time", {}, {"seconds per plan"}};
  Figure::Series& bars = figure.series.emplace_back();
  bars.mark = Figure::Mark::bars;
  for (const ProgramTime& time : times) {
    constexpr double half_width = 0.38;
    const auto centre = static_cast<double>(figure.x.names.size());
    figure.x.names.push_back(time.name);
    bars.add_bar(centre - half_width, centre + half_width, time.seconds_per_plan);
    bars.labels.push_back(seconds_text(time.seconds_per_plan));
  }
  const auto [min, largest] = std::ranges::minmax(bars.y);
  // Maximum ratio of two bars on a linear axis; a shorter bar would be invisible.
  constexpr double max_on_linear_axis = 20;
  if (largest > max_on_linear_axis * min)
    figure.y = {
        "seconds per plan (logarithmic)", Figure::Scale::powers_of_10, {}, min / 4, 3 * largest};
  return figure;
}

void add_program_times(const CompareResults& found, Report& report) {
  report.add_json_fact("plans", found.plans);
  Table table{"times",
              "",
              {{"name", "program"},
               {"workers", "slots"},
               {"cpu_seconds_per_plan", "CPU s per plan", {ValueFormat::seconds}},
               {"seconds_per_plan", "s per plan", {ValueFormat::seconds}},
               {"speedup", "speed-up", {ValueFormat::digits, 4}},
               {"seconds", "s for " + count_text(found.plans, "plan"), {ValueFormat::decimals, 1}},
               {"hours", "hours", {ValueFormat::decimals, 2}}}};
  constexpr double seconds_an_hour = 3600;
  for (const ProgramTime& time : found.times) {
    const double all_s = time.seconds_per_plan * static_cast<double>(found.plans);
    table.rows.push_back({time.name, time.workers, time.cpu_seconds_per_plan, time.seconds_per_plan,
                          found.base_time().seconds_per_plan / time.seconds_per_plan, all_s,
                          all_s / seconds_an_hour});
  }
  report.add(std::move(table));
  if (found.times.empty()) return;
  report.add_fact("base", found.times.size() > 1 ? "speed-ups relative to" : "",
                  found.base_time().name);
  if (!found.threads.empty())
    report.add_note(
        "the s per plan of a result file are the wall time of its runs, from start to end, divided "
        "by their plans; the CPU s are those of the solvers (- if they were not measured)");
  if (found.times.size() > 1) report.add(figure_of_times(found.times));
}

/// Adds a table with a row for each category of any time breakdown, and two columns for each file
/// that has one.
void add_thread_times(const CompareResults& found, Report& report) {
  Table table{"thread_time", "time breakdown of all threads", {{"name", "where"}}};
  std::vector<NamedSeconds> files;  // each followed by its sum
  for (const auto& [file, seconds] : found.threads) {
    double all_s = 0;
    for (const auto& [name, entry_s] : seconds) all_s += entry_s;
    if (all_s == 0) {
      report.add_note(fmt::format("{} has no time breakdown", file));
      continue;
    }
    files.push_back(seconds);
    files.back().emplace_back("all threads", all_s);
    table.columns.push_back(
        {fmt::format("seconds_{}", files.size()), file, {ValueFormat::duration}});
    table.columns.push_back(
        {fmt::format("share_{}", files.size()), "share", {ValueFormat::decimals, 2, "%"}});
  }
  for (std::size_t entry = 0; !files.empty() && entry < files.front().size(); ++entry) {
    Table::Row row{files.front()[entry].first};
    double any = 0;
    for (const NamedSeconds& of_file : files) {
      const double seconds = of_file[entry].second;
      row.insert(row.end(), {seconds, 100 * seconds / of_file.back().second});
      any += seconds;
    }
    if (any > 0) table.rows.push_back(std::move(row));
  }
  report.add(std::move(table));
}

void add_times(const CompareResults& found, Report& report) {
  for (const auto& [file, entries] : found.threads)
    if (std::ranges::count(found.times, file, &ProgramTime::name) == 0)
      report.add_note(fmt::format("no session of {} has recorded its wall time", file));
  add_program_times(found, report);
  add_thread_times(found, report);
}

/// Returns the column for the file name of a row. Text output contains it only if there are several
/// files.
Table::Column file_column(const CompareResults& found) {
  return found.comparisons.size() > 1 ? Table::Column{"file", "file"} : json_only_column("file");
}

void add_settings(const CompareResults& found, Report& report) {
  const bool is_one = found.comparisons.size() == 1;
  Table table{"settings",
              "",
              {file_column(found),
               {"name", "difference"},
               {"first", found.comparisons.front().first},
               {"second", is_one ? found.comparisons.front().second : "in this file"}}};
  for (const Comparison& one : found.comparisons) {
    for (const auto& [name, first, second] : one.settings)
      table.rows.push_back({one.second, name, first, second});
    if (one.has_settings && one.settings.empty())
      report.add_note(fmt::format("settings, version and devices of {} and {} are the same",
                                  one.first, one.second));
  }
  report.add(std::move(table));
}

void add_counts(const CompareResults& found, Report& report) {
  using enum Comparison::Kind;
  const std::string& first = found.comparisons.front().first;
  Table table{"comparisons",
              "results, compared with " + first,
              {{"file", "file"},
               {"equal", "equal"},
               {"compared", "in both"},
               {"identical", "identical"},
               {"other_inputs", "other floor plan"},
               {"other_statuses", "other status"},
               {"only_first", "only in " + first},
               {"only_second", "only in this file"},
               {"compared_fields", "fields in both"}}};
  for (const Comparison& one : found.comparisons) {
    const auto count_of = [&](Comparison::Kind kind) {
      return one.has_settings ? Value(one.count(kind)) : Value();  // unknown for a CSV
    };
    table.rows.push_back({one.second, one.equal(), one.compared, one.identical,
                          count_of(floor_plan), count_of(status), one.count(only_first),
                          one.count(only_second), one.compared_fields});
  }
  constexpr std::size_t first_count = 4;
  table.hide_constant_columns({}, first_count);
  table.hide_constant_columns(0, first_count);
  report.add(std::move(table));
  for (const Comparison& one : found.comparisons)
    if (one.equal() && one.compared > 0)
      report.add_note(fmt::format("{} and {} are bit-identical{}: {}", one.first, one.second,
                                  one.skipped_columns.empty() ? "" : " in the columns of both",
                                  count_text(one.compared, "plan")));
}

/// Returns how a plan differs in the two sets, for JSON and for text output.
std::pair<const char*, std::string> kind_of(const Comparison::Mismatch& plan,
                                            const Comparison& of) {
  switch (plan.kind) {
    case Comparison::Kind::status:
      return {"status",
              fmt::format("{} in {}, {} in {}", plan.first, of.first, plan.second, of.second)};
    case Comparison::Kind::floor_plan:
      return {"floor plan", "different floor plan"};
    case Comparison::Kind::only_first:
      return {"only first", "only in " + of.first};
    case Comparison::Kind::only_second:
      break;
  }
  return {"only second", "only in " + of.second};
}

void add_mismatched_plans(const std::shared_ptr<const CompareResults>& found,
                          std::size_t max_listed, Report& report) {
  Table& table = report.add(Table{"plans_apart",
                                  "plans that cannot be compared",
                                  {file_column(*found),
                                   {"id", "plan"},
                                   json_only_column("kind"),
                                   json_only_column("first"),
                                   json_only_column("second"),
                                   {"what", "difference"}}});
  table.max_text_rows = max_listed;
  table.row_source = [found](const std::function<void(const Table::Row&)>& take) {
    const auto known = [](const std::string& text) { return text.empty() ? Value() : Value(text); };
    for (const Comparison& one : found->comparisons)
      for (const Comparison::Mismatch& plan : one.mismatches) {
        const auto [kind, what] = kind_of(plan, one);
        take({one.second, plan.id, kind, known(plan.first), known(plan.second), what});
      }
  };
}

/// Adds the columns. Those that differ come first, and only they are in text output.
void add_columns(const CompareResults& found, Report& report) {
  Table table{"columns",
              "absolute differences, columns that differ first",
              {file_column(found),
               {"column", "column"},
               {"plans", "plans"},
               {"largest", "largest"},
               {"mean", "mean"},
               {"plan", "largest in plan"}}};
  for (const Comparison& one : found.comparisons) {
    for (const auto& [name, differing, largest, sum, numbers, plan] : one.columns) {
      if (one.compared == 0) continue;
      table.rows.push_back({one.second, name, differing, numbers > 0 ? largest : nan_value,
                            sum / static_cast<double>(numbers),
                            plan.empty() ? Value() : Value(plan)});
    }
    if (!one.skipped_columns.empty())
      report.add_note(fmt::format("{} and {} are of different solvers; columns not compared: {}",
                                  one.first, one.second, fmt::join(one.skipped_columns, ", ")));
  }
  constexpr std::size_t plans = 2;
  const auto alike = std::ranges::stable_partition(
      table.rows, [](const Table::Row& row) { return row[plans] != Value(0); });
  table.max_text_rows = table.rows.size() - alike.size();
  if (table.max_text_rows == 0) table.hide();
  report.add(std::move(table));
}

/// Adds the differences of the means: a histogram, and the outliers.
void add_histograms(const CompareResults& found, Report& report) {
  Table outliers{
      "outliers",
      "outliers",
      {file_column(found), {"id", "plan"}, {"difference", "difference", {.unit = "°C"}}}};
  outliers.max_text_rows = 10;
  std::size_t number = 0;
  for (const Comparison& one : found.comparisons) {
    const std::string behind = ++number == 1 ? "" : fmt::format("_{}", number);
    const bool any = std::ranges::any_of(one.means, [](double mean) { return mean != 0; });
    const Histogram histogram = any ? histogram_of(one.means) : Histogram();
    add_histogram(
        histogram,
        fmt::format("plans by difference of mean_temp, {} minus {}", one.second, one.first),
        "difference of mean temperature, °C", report, "plans", behind);
    for (const std::size_t i : histogram.outliers)
      outliers.rows.push_back({one.second, one.plans[i], one.means[i]});
  }
  report.add(std::move(outliers));
}

}  // namespace

std::optional<ProgramTime> time_of(const std::string& file, const ResultReader& reader) {
  const WallTime wall = wall_time(reader.sessions());
  if (!(wall.seconds > 0) || !(wall.plans > 0)) return std::nullopt;
  ProgramTime time{file, wall.seconds / wall.plans, worker_count(reader)};
  SolverTime spent;
  std::size_t plans = 0;
  reader.for_each_row([&](const PlanResult& row) {
    if (!is_solved(row.status)) return;
    spent.add(row);
    ++plans;
  });
  if (plans > 0 && !std::isnan(spent.cpu_seconds()))
    time.cpu_seconds_per_plan = spent.cpu_seconds() / static_cast<double>(plans);
  return time;
}

NamedSeconds thread_seconds_of(const ResultReader& reader) {
  return sum_of(time_breakdowns(slot_timelines(rows_of(reader)), reader.sessions()));
}

const ProgramTime& CompareResults::base_time() const {
  const auto named = std::ranges::find(times, base, &ProgramTime::name);
  if (named != times.end()) return *named;
  return *std::ranges::max_element(times, {}, &ProgramTime::seconds_per_plan);
}

Report make_report(CompareResults compared, std::size_t max_listed) {
  const auto found = std::make_shared<const CompareResults>(std::move(compared));
  Report report;
  report.csv_table = found->comparisons.empty() ? "times" : "columns";
  if (!found->comparisons.empty()) {
    report.add_json_fact("first", found->comparisons.front().first);
    add_counts(*found, report);
    add_settings(*found, report);
    add_mismatched_plans(found, max_listed, report);
    add_columns(*found, report);
    add_histograms(*found, report);
  }
  add_times(*found, report);
  for (const std::string& note : found->notes) report.add_note(note);
  return report;
}

}  // namespace wallheat
