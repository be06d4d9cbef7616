#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "core/cell_statistics.hpp"
#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "report/field_picture.hpp"
#include "report/summary.hpp"
#include "store/merge.hpp"

namespace wallheat {
namespace {

/// An axis that is divided into bins of equal width.
struct BinnedAxis {
  double low;
  double high;
  double bins;

  [[nodiscard]] std::size_t bin_of(double value) const {
    const double bin = (value - low) / (high - low) * bins;
    return static_cast<std::size_t>(std::clamp(bin, 0.0, bins - 1));
  }
  [[nodiscard]] double edge(std::size_t bin) const {
    return low + static_cast<double>(bin) / bins * (high - low);
  }
};

/// Adds the number of plans in each bin of a grid, so that a million plans take no more space than
/// a thousand.
void add_bins(Figure& figure, const BinnedAxis& along_x, const BinnedAxis& along_y,
              const std::vector<double>& x, const std::vector<double>& y) {
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> counts;
  for (std::size_t i = 0; i < x.size(); ++i) ++counts[{along_x.bin_of(x[i]), along_y.bin_of(y[i])}];
  constexpr std::array names{"1 plan", "2 to 9 plans", "10 to 99", "100 to 999", "1000 or more"};
  std::array<Figure::Series, names.size()> steps;
  for (const auto& [bin, count] : counts) {
    const std::size_t digits = std::to_string(count).size();
    steps.at(count == 1 ? 0 : std::min(digits, names.size() - 1))
        .add_rectangle(along_x.edge(bin.first), along_x.edge(bin.first + 1),
                       along_y.edge(bin.second), along_y.edge(bin.second + 1));
  }
  figure.is_sequential = true;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps.at(i).x.empty()) continue;
    steps.at(i).name = names.at(i);
    steps.at(i).mark = Figure::Mark::rectangles;
    figure.series.push_back(std::move(steps.at(i)));
  }
}

/// Adds a few plans, given by their means and row indices, as a table, and as pictures if their
/// fields are stored.
void add_extremes(const char* key, const char* name, const auto& plans, const ResultReader& reader,
                  const Thresholds& thresholds, Report& page) {
  const ValueStyle share{ValueFormat::decimals, 1, "%"};
  Table table{key,
              name,
              {{"id", "plan"},
               {"mean_temp", "mean", {ValueFormat::decimals, 3, "°C"}},
               {"pct_below", fmt::format("below {} °C", thresholds.below), share},
               {"pct_above", fmt::format("above {} °C", thresholds.above), share},
               {"iterations", "iterations"}}};
  FieldPicture picture;
  for (const auto& [mean, index] : plans) {
    const PlanResult plan = reader.row(index);
    table.rows.push_back({plan.id, mean, plan.statistics.pct_below, plan.statistics.pct_above,
                          known_iterations(plan)});
    if (auto field = reader.field(index))
      picture.panels.push_back(
          {fmt::format("{}, mean {:.2f} °C", escape_control_chars(plan.id), mean),
           mask_ground(*std::move(field), has_walls_at_zero(reader))});
  }
  page.add(std::move(table));
  if (picture.panels.empty()) return;
  picture.columns = 3;
  picture.side = 200;
  page.add(Figure{.key = std::string(key) + "_fields",
                  .name = std::string(name) + ": temperatures",
                  .fields = std::make_shared<const FieldPicture>(std::move(picture))});
}

}  // namespace

void add_provenance(const ResultReader& reader, Report& report) {
  Table& settings =
      report.add(Table{"settings", "settings of the run", {{"name", "name"}, {"value", "value"}}});
  settings.is_collapsed = true;
  for (const auto& [name, setting] : reader.settings()) settings.rows.push_back({name, setting});
  Table& sessions =
      report.add(Table{"sessions",
                       fmt::format("sessions ({})", reader.sessions().size()),
                       {{"started_utc", "started", {ValueFormat::time}},
                        {"ended_utc", "ended (- if killed, or still running)", {ValueFormat::time}},
                        {"end", "end"},
                        {"solved", "solved"},
                        {"failed", "failed"},
                        json_only_column("restored"),
                        {"seconds", "wall time", {ValueFormat::duration}},
                        {"threads", "threads"},
                        json_only_column("plans_at_once"),
                        json_only_column("rank_memory"),
                        json_only_column("program_start_seconds"),
                        {"command_line", "command"}}});
  sessions.is_collapsed = true;
  for (const Attributes& session : reader.sessions()) {
    Table::Row& row = sessions.rows.emplace_back();
    for (const Table::Column& column : sessions.columns) {
      const auto found = session.find(column.key);
      const auto number =
          found == session.end() ? std::nullopt : parse_number<double>(found->second);
      row.push_back(found == session.end() ? Value() : number ? Value(*number) : found->second);
    }
  }
}

void add_run_info(const SummaryInput& of, const std::vector<SlotTimeline>& slots, Report& page) {
  const auto add = [&](const char* name, const std::set<std::string>& values, const char* more) {
    if (values.size() == 1) page.add_text_fact(name, *values.begin());
    if (values.size() > 1) page.add_text_fact(std::string(name) + "s", values.size(), more);
  };
  std::set<std::string> commands;
  std::set<std::string> started;  // UTC times sort as strings
  std::set<std::string> ended;
  std::size_t parts = 0;
  for (const Attributes& session : of.reader->sessions()) {
    parts += merged_parts(session).value_or(0);
    for (const auto& [name, texts] :
         {std::pair("command_line", &commands), {"started_utc", &started}, {"ended_utc", &ended}})
      if (session.contains(name)) texts->insert(session.at(name));
  }
  if (parts > 0) page.add_text_fact("merged from", count_text(parts, "shard file"));
  add("command", commands, ", listed under sessions");
  std::set<std::string> hosts;
  for (const SlotTimeline& slot : slots) hosts.insert(slot.host);
  add("host", hosts, "");
  if (!started.empty()) page.add_fact("", "started", *started.begin(), {ValueFormat::time});
  if (!ended.empty()) page.add_fact("", "last ended", *ended.rbegin(), {ValueFormat::time});
  for (const std::string& message : of.reader->damage_messages()) page.add_note(message);
}

void add_distribution(const SummaryInput& of, Report& page) {
  constexpr std::size_t max_extremes = 5;
  std::vector<double> means;
  std::vector<double> deviations;
  // Means and row indices of the coldest and warmest plans.
  std::set<std::pair<double, std::size_t>> extremes;
  of.rows([&](const PlanResult& row) {
    const auto [mean, deviation, above, below] = row.statistics;
    if (!is_solved(row.status) || !std::isfinite(mean) || !std::isfinite(deviation)) return;
    means.push_back(mean);
    deviations.push_back(deviation);
    extremes.emplace(mean, row.index);
    if (extremes.size() > 2 * max_extremes)
      extremes.erase(std::next(extremes.begin(), max_extremes));
  });
  if (means.empty()) return;
  const auto [left, right] = std::ranges::minmax(means);
  const auto [low, high] = std::ranges::minmax(deviations);
  Figure& figure = page.add(Figure{"spread",
                                   "mean and standard deviation of each plan",
                                   {"mean temperature, °C"},
                                   {"standard deviation, °C"}});
  add_bins(figure, {std::floor(left), std::floor(right) + 1, 90},
           {std::floor(low), std::floor(high) + 1, 50}, means, deviations);
  const auto count = std::ssize(extremes);
  const auto coldest = std::min<std::ptrdiff_t>(max_extremes, (count + 1) / 2);
  add_extremes("coldest", "coldest plans", extremes | std::views::take(coldest), *of.reader,
               of.thresholds, page);
  if (count > coldest)
    add_extremes("warmest", "warmest plans",
                 extremes | std::views::reverse | std::views::take(count - coldest), *of.reader,
                 of.thresholds, page);
}

void add_predictions(const SummaryInput& of, Report& page) {
  std::vector<double> ratios;
  of.rows([&](const PlanResult& row) {
    const double ratio = row.seconds / row.predicted_s;
    if (ratio > 0 && std::isfinite(ratio)) ratios.push_back(ratio);
  });
  if (ratios.empty()) {
    page.add_note("No plan has a predicted time: the run was too short.");
    return;
  }
  const auto [min, max] = std::ranges::minmax(ratios);
  page.add_note(fmt::format(
      "The time of {} was predicted. The actual time was {:.2f} to {:.2f} times as long, with a "
      "median of {:.2f}.",
      count_text(ratios.size(), "plan"), min, max, median(ratios)));
}

void add_plan_table(const SummaryInput& of, Report& page) {
  Table& table = page.add(
      table_of("plans", of.rows,
               parse_columns("columns",
                             "id,status,mean_temp,std_temp,pct_below,pct_above,iterations,seconds",
                             all_columns())));
  table.name = "plans";
  for (Table::Column& column : table.columns) {
    column.style.digits = 5;
    if (column.key == "pct_below") column.name = fmt::format("% below {} °C", of.thresholds.below);
    if (column.key == "pct_above") column.name = fmt::format("% above {} °C", of.thresholds.above);
  }
  page.add_note(fmt::format("'wallheat list {}' prints all of them.", of.file));
}

}  // namespace wallheat
