#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/plural.hpp"
#include "report/compare.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

constexpr double seconds_an_hour = 3600;

/// The column that says of which file a row is; people need it among several only.
Table::Column file_column(const Compared& found) {
  return {"file", found.comparisons.size() > 1 ? "file" : ""};
}

void add_settings(const Compared& found, Report& report) {
  const bool is_one = found.comparisons.size() == 1;
  Table table{"settings",
              "",
              {file_column(found),
               {"name", "what differs"},
               {"first", found.comparisons.front().first},
               {"second", is_one ? found.comparisons.front().second : "in this file"}}};
  for (const Comparison& one : found.comparisons) {
    for (const auto& [name, first, second] : one.settings)
      table.rows.push_back({one.second, name, first, second});
    if (one.has_settings && one.settings.empty())
      report.add(Note{fmt::format("settings, version and devices of {} and {} are the same",
                                  one.first, one.second)});
  }
  report.add(std::move(table));
}

void add_counts(const Compared& found, Report& report) {
  const std::string& first = found.comparisons.front().first;
  const auto name_if_any = [&](const char* name, const auto& count_in) {
    return std::ranges::any_of(found.comparisons,
                               [&](const Comparison& one) { return count_in(one) > 0; })
               ? name
               : "";
  };
  Table table{
      "comparisons",
      "answers against those of " + first,
      {{"file", "file"},
       {"equal", "equal"},
       {"compared", "in both"},
       {"identical", "identical"},
       {"other_inputs",
        name_if_any("other floor plan", [](const auto& one) { return one.other_inputs.size(); })},
       {"other_statuses",
        name_if_any("other status", [](const auto& one) { return one.statuses.size(); })},
       {"only_first", "only in " + first},
       {"only_second", "only here"},
       {"compared_fields",
        name_if_any("fields in both", [](const auto& one) { return one.compared_fields; })}}};
  for (const Comparison& one : found.comparisons) {
    table.rows.push_back(
        {one.second, one.equal(), one.compared, one.identical,
         one.has_settings ? Value(one.other_inputs.size()) : Value(),
         one.has_settings ? Value(one.statuses.size()) : Value(),  // a CSV tells none
         one.only_first.size(), one.only_second.size(), one.compared_fields});
  }
  report.add(std::move(table));
  for (const Comparison& one : found.comparisons)
    if (one.equal() && one.compared > 0)
      report.add(Note{fmt::format("{} and {} are identical to the last bit{}: {} plans", one.first,
                                  one.second, one.left_out.empty() ? "" : " in what both tell",
                                  one.compared)});
}

/// The plans that are not in both alike: rarer kinds first, as people see a few only.
void add_plans_apart(const std::shared_ptr<const Compared>& found, std::size_t most_listed,
                     Report& report) {
  Table& table = report.add(Table{"plans_apart",
                                  "plans that are not in both alike",
                                  {file_column(*found),
                                   {"id", "plan"},
                                   {"kind", ""},
                                   {"first", ""},
                                   {"second", ""},
                                   {"what", "what differs"}}});
  table.most_shown = most_listed;
  table.source = [found](const std::function<void(const Table::Row&)>& take) {
    for (const Comparison& one : found->comparisons) {
      for (const auto& [id, first, second] : one.statuses)
        take({one.second, id, "status", to_string(first), to_string(second),
              fmt::format("{} in {}, {} in {}", to_string(first), one.first, to_string(second),
                          one.second)});
      for (const std::string& id : one.other_inputs)
        take({one.second, id, "floor plan", {}, {}, "another floor plan"});
      for (const std::string& id : one.only_first)
        take({one.second, id, "only first", {}, {}, "only in " + one.first});
      for (const std::string& id : one.only_second)
        take({one.second, id, "only second", {}, {}, "only in " + one.second});
    }
  };
}

/// People see the columns that differ. JSON has all.
void add_columns(const Compared& found, Report& report) {
  Table all{
      "columns",
      "",
      {{"file", ""}, {"column", ""}, {"plans", ""}, {"largest", ""}, {"mean", ""}, {"plan", ""}}};
  Table left_out{"left_out", "", {{"file", ""}, {"column", ""}}};
  Table shown{"differing_columns",
              "columns that differ",
              {file_column(found),
               {"column", "absolute difference"},
               {"plans", "plans"},
               {"largest", "largest"},
               {"mean", "mean"},
               {"plan", "largest in plan"}}};
  for (const Comparison& one : found.comparisons) {
    std::vector<Comparison::Column> columns = one.columns;
    if (one.fields) columns.push_back(*one.fields);
    for (const auto& [name, differing, largest, mean, plan] : columns) {
      if (one.compared == 0) continue;
      all.rows.push_back(
          {one.second, name, differing, largest, mean, plan.empty() ? Value() : Value(plan)});
      if (differing > 0) shown.rows.push_back(all.rows.back());
    }
    for (const std::string& name : one.left_out) left_out.rows.push_back({one.second, name});
  }
  report.add(std::move(all));
  report.add(std::move(shown));
  report.add(std::move(left_out));
  for (const Comparison& one : found.comparisons)
    if (!one.left_out.empty())
      report.add(Note{fmt::format("{} and {} are of two solvers, so these are not compared: {}",
                                  one.first, one.second, fmt::join(one.left_out, ", "))});
}

/// The differences of the means: bins for people and as a figure, and what is far from the others.
void add_histograms(const Compared& found, Report& report) {
  Table outliers{
      "outliers",
      "far from the others",
      {file_column(found), {"id", "plan"}, {"difference", "difference", {.unit = "°C"}}}};
  constexpr std::size_t most_outliers = 10;
  outliers.most_shown = most_outliers;
  std::size_t number = 0;
  for (const Comparison& one : found.comparisons) {
    const std::string suffix = ++number == 1 ? "" : fmt::format("_{}", number);
    const std::string less = fmt::format("{} less {}", one.second, one.first);
    const Histogram histogram = one.histogram();
    constexpr int digits = 6;
    report.add(table_of(histogram, "histogram" + suffix,
                        "plans by difference of mean_temp, " + less, digits));
    for (const std::size_t i : histogram.outliers)
      outliers.rows.push_back({one.second, one.plans[i], one.means[i]});
    if (histogram.bins.empty()) continue;
    Figure figure{"histogram" + suffix, less, {"difference of mean temperature, °C"}, {"plans"}};
    if (!histogram.outliers.empty())
      figure.name += fmt::format(" ({} beyond)", counted(histogram.outliers.size(), "plan"));
    Figure::Series& bars = figure.series.emplace_back();
    bars.mark = Figure::Mark::bars;
    for (const auto& [from, to, plans] : histogram.bins) {
      bars.x.push_back(from);
      bars.x_end.push_back(to);
      bars.y.push_back(static_cast<double>(plans));
    }
    report.add(std::move(figure));
  }
  report.add(std::move(outliers));
}

Figure figure_of_times(const std::vector<ProgramTime>& times) {
  Figure figure{"seconds_a_plan", "seconds a plan, wall time", {}, {"seconds a plan"}};
  Figure::Series& bars = figure.series.emplace_back();
  bars.mark = Figure::Mark::bars;
  for (const ProgramTime& time : times) {
    constexpr double half_width = 0.38;
    const auto place = static_cast<double>(figure.x.names.size());
    figure.x.names.push_back(time.name);
    bars.x.push_back(place - half_width);
    bars.x_end.push_back(place + half_width);
    bars.y.push_back(time.seconds_a_plan);
    bars.labels.push_back(seconds_text(time.seconds_a_plan));
  }
  const auto [least, largest] = std::ranges::minmax(bars.y);
  constexpr double most_on_linear_axis = 20;  // beyond, a bar cannot be seen
  if (largest > most_on_linear_axis * least)
    figure.y = {
        "seconds a plan (logarithmic)", Figure::Scale::powers_of_10, {}, least / 4, 3 * largest};
  return figure;
}

void add_times(const Compared& found, Report& report) {
  report.add(Fact{"plans", "", found.plans});
  Table table{"times",
              "",
              {{"name", "program"},
               {"workers", "workers"},
               {"cpu_seconds_a_plan", "CPU s a plan", {Form::seconds}},
               {"seconds_a_plan", "s a plan", {Form::seconds}},
               {"speedup", "speed-up", {Form::digits, 4}},
               {"seconds", fmt::format("s for {} plans", found.plans), {Form::decimals, 1}},
               {"hours", "hours", {Form::decimals, 2}}}};
  for (const ProgramTime& time : found.times) {
    const double all_s = time.seconds_a_plan * static_cast<double>(found.plans);
    table.rows.push_back({time.name, time.workers, time.cpu_seconds_a_plan, time.seconds_a_plan,
                          found.base_time().seconds_a_plan / time.seconds_a_plan, all_s,
                          all_s / seconds_an_hour});
  }
  report.add(std::move(table));
  if (found.times.empty()) return;
  report.add(
      Fact{"base", found.times.size() > 1 ? "speed-ups are against" : "", found.base_time().name});
  if (found.times.size() > 1) report.add(figure_of_times(found.times));
}

/// What a plan's time on GPUs went to.
void add_gpu_times(const Compared& found, Report& report) {
  Table table{"gpu_times", "", {{"name", "GPU s a plan"}}};
  constexpr std::array heads{"host's work", "upload", "kernels", "download", "waiting"};
  for (std::size_t i = 0; i < heads.size(); ++i)
    table.columns.push_back({gpu_seconds_names.at(i).first, heads.at(i), {Form::seconds}});
  for (const ProgramTime& time : found.times) {
    if (!time.gpu_seconds_a_plan) continue;
    Table::Row& row = table.rows.emplace_back(Table::Row{time.name});
    for (const auto& [name, part] : gpu_seconds_names)
      row.emplace_back((*time.gpu_seconds_a_plan).*part);
  }
  report.add(std::move(table));
}

double sum_of(const ThreadSeconds& entries) {
  return std::accumulate(entries.begin(), entries.end(), 0.0,
                         [](double sum, const auto& entry) { return sum + entry.second; });
}

/// A row for each thing that threads did, and two columns for each file.
void add_thread_times(const Compared& found, Report& report) {
  Table table{"thread_time", "where the time of all threads went", {{"name", "where"}}};
  std::vector<std::string> names;
  std::vector<std::pair<const ThreadSeconds*, double>> files;
  for (const auto& [file, entries] : found.threads) {
    if (entries.empty()) {
      report.add(Note{fmt::format("{} does not tell where its time went", file)});
      continue;
    }
    files.emplace_back(&entries, sum_of(entries));
    table.columns.push_back({fmt::format("seconds_{}", files.size()), file, {Form::duration}});
    table.columns.push_back(
        {fmt::format("share_{}", files.size()), "share", {Form::decimals, 2, "%"}});
    auto place = names.begin();
    for (const auto& [name, seconds] : entries) {
      const auto known = std::ranges::find(names, name);
      place = (known == names.end() ? names.insert(place, name) : known) + 1;
    }
  }
  for (const std::string& name : names) {
    Table::Row row{name};
    bool any = false;
    for (const auto& [entries, all_s] : files) {
      const auto entry = std::ranges::find(*entries, name, &ThreadSeconds::value_type::first);
      const double seconds = entry == entries->end() ? 0 : entry->second;
      row.insert(row.end(), {seconds, 100 * seconds / all_s});
      any = any || seconds > 0;
    }
    if (any) table.rows.push_back(std::move(row));
  }
  if (!files.empty()) {
    Table::Row& all = table.rows.emplace_back(Table::Row{"all threads"});
    for (const auto& [entries, all_s] : files) all.insert(all.end(), {all_s, 100.0});
  }
  report.add(std::move(table));
}

}  // namespace

Report report_of(Compared compared, std::size_t most_listed) {
  const auto found = std::make_shared<const Compared>(std::move(compared));
  Report report;
  report.csv_table = found->comparisons.empty() ? "times" : "columns";
  if (!found->comparisons.empty()) {
    report.add(Fact{"first", "", found->comparisons.front().first});
    add_counts(*found, report);
    add_settings(*found, report);
    add_plans_apart(found, most_listed, report);
    add_columns(*found, report);
    add_histograms(*found, report);
  }
  for (const auto& [file, entries] : found->threads)
    if (std::ranges::count(found->times, file, &ProgramTime::name) == 0)
      report.add(Note{fmt::format("no session of {} left its wall time", file)});
  add_times(*found, report);
  add_gpu_times(*found, report);
  add_thread_times(*found, report);
  return report;
}

}  // namespace wallheat
