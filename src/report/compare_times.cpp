#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "report/compare.hpp"
#include "report/row_table.hpp"
#include "report/scaling.hpp"
#include "report/summary.hpp"
#include "view/run_progress.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

Figure figure_of_times(const std::vector<ProgramTime>& times) {
  Figure figure{"seconds_a_plan", "seconds a plan, wall time", {}, {"seconds a plan"}};
  Figure::Series& bars = figure.series.emplace_back();
  bars.mark = Figure::Mark::bars;
  for (const ProgramTime& time : times) {
    constexpr double half_width = 0.38;
    const auto centre = static_cast<double>(figure.x.names.size());
    figure.x.names.push_back(time.name);
    bars.add_bar(centre - half_width, centre + half_width, time.seconds_a_plan);
    bars.labels.push_back(seconds_text(time.seconds_a_plan));
  }
  const auto [least, largest] = std::ranges::minmax(bars.y);
  constexpr double most_on_linear_axis = 20;  // beyond, a bar cannot be seen
  if (largest > most_on_linear_axis * least)
    figure.y = {
        "seconds a plan (logarithmic)", Figure::Scale::powers_of_10, {}, least / 4, 3 * largest};
  return figure;
}

void add_program_times(const Compared& found, Report& report) {
  report.add_data("plans", found.plans);
  Table table{"times",
              "",
              {{"name", "program"},
               {"workers", "workers"},
               {"cpu_seconds_a_plan", "CPU s a plan", {Form::seconds}},
               {"seconds_a_plan", "s a plan", {Form::seconds}},
               {"speedup", "speed-up", {Form::digits, 4}},
               {"seconds", "s for " + counted(found.plans, "plan"), {Form::decimals, 1}},
               {"hours", "hours", {Form::decimals, 2}}}};
  constexpr double seconds_an_hour = 3600;
  for (const ProgramTime& time : found.times) {
    const double all_s = time.seconds_a_plan * static_cast<double>(found.plans);
    table.rows.push_back({time.name, time.workers, time.cpu_seconds_a_plan, time.seconds_a_plan,
                          found.base_time().seconds_a_plan / time.seconds_a_plan, all_s,
                          all_s / seconds_an_hour});
  }
  report.add(std::move(table));
  if (found.times.empty()) return;
  report.add_fact("base", found.times.size() > 1 ? "speed-ups are against" : "",
                  found.base_time().name);
  if (found.times.size() > 1) report.add(figure_of_times(found.times));
}

/// A row for each thing that any thread did, and two columns for each file that tells.
void add_thread_times(const Compared& found, Report& report) {
  Table table{"thread_time", "where the time of all threads went", {{"name", "where"}}};
  std::vector<std::pair<LedgerSeconds, double>> files;  // with their sums
  for (const auto& [file, seconds] : found.threads) {
    const double all_s = std::accumulate(seconds.begin(), seconds.end(), 0.0);
    if (all_s == 0) {
      report.add_note(fmt::format("{} does not tell where its time went", file));
      continue;
    }
    files.emplace_back(seconds, all_s);
    table.columns.push_back({fmt::format("seconds_{}", files.size()), file, {Form::duration}});
    table.columns.push_back(
        {fmt::format("share_{}", files.size()), "share", {Form::decimals, 2, "%"}});
  }
  const auto add_row = [&](const char* name, const auto& seconds_of) {
    Table::Row row{name};
    double any = 0;
    for (const auto& [seconds, all_s] : files) {
      const double of_file = seconds_of(seconds, all_s);
      row.insert(row.end(), {of_file, 100 * of_file / all_s});
      any += of_file;
    }
    if (any > 0) table.rows.push_back(std::move(row));
  };
  for (std::size_t entry = 0; entry < ledger_names.size(); ++entry)
    add_row(ledger_names.at(entry),
            [&](const LedgerSeconds& seconds, double) { return seconds.at(entry); });
  add_row("all threads", [](const LedgerSeconds&, double all_s) { return all_s; });
  report.add(std::move(table));
}

}  // namespace

std::optional<ProgramTime> time_of(const std::string& file, const ResultReader& reader) {
  const WallTime wall = wall_time(reader.sessions());
  if (!(wall.seconds > 0) || !(wall.plans > 0)) return std::nullopt;
  ProgramTime time{file, wall.seconds / wall.plans, workers_of(reader)};
  ThreadTime spent;
  std::size_t plans = 0;
  reader.for_each_row([&](const PlanResult& row) {
    if (!is_answer(row.status)) return;
    spent.add(row);
    ++plans;
  });
  if (plans > 0 && !std::isnan(spent.cpu_seconds()))
    time.cpu_seconds_a_plan = spent.cpu_seconds() / static_cast<double>(plans);
  return time;
}

LedgerSeconds thread_seconds_of(const ResultReader& reader) {
  return sum_of(ledgers_of(lanes_of(rows_of(reader)), reader.sessions()));
}

const ProgramTime& Compared::base_time() const {
  const auto named = std::ranges::find(times, base, &ProgramTime::name);
  if (named != times.end()) return *named;
  return *std::ranges::max_element(times, {}, &ProgramTime::seconds_a_plan);
}

void add_times(const Compared& found, Report& report) {
  for (const auto& [file, entries] : found.threads)
    if (std::ranges::count(found.times, file, &ProgramTime::name) == 0)
      report.add_note(fmt::format("no session of {} left its wall time", file));
  add_program_times(found, report);
  add_thread_times(found, report);
}

}  // namespace wallheat
