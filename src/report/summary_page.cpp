#include "report/summary_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

#include "core/plural.hpp"
#include "core/printable.hpp"
#include "report/attributes.hpp"
#include "report/field_picture.hpp"
#include "report/time_ledger.hpp"
#include "store/merge.hpp"
#include "view/advice.hpp"

namespace wallheat {
namespace {

const Style in_celsius{Form::decimals, 3, "°C"};
const Style share_of_cells{Form::decimals, 1, "%"};

/// What the page draws of each plan, without the plans.
struct Points {
  std::vector<double> means, deviations;             ///< °C, finite
  std::vector<double> predicted, actual;             ///< s, finite
  std::set<std::pair<double, std::size_t>> by_mean;  ///< the coldest and warmest, with their rows
};

constexpr std::size_t most_extremes = 5;

Points points_of(const Rows& rows) {
  Points points;
  rows([&](const PlanResult& row) {
    if (row.predicted_s > 0 && row.seconds > 0 && std::isfinite(row.predicted_s) &&
        std::isfinite(row.seconds)) {
      points.predicted.push_back(row.predicted_s);
      points.actual.push_back(row.seconds);
    }
    const Statistics& s = row.statistics;
    if (!is_answer(row.status) || row.status == PlanStatus::empty || !std::isfinite(s.mean_temp))
      return;
    if (std::isfinite(s.std_temp)) {
      points.means.push_back(s.mean_temp);
      points.deviations.push_back(s.std_temp);
    }
    points.by_mean.emplace(s.mean_temp, row.index);
    if (points.by_mean.size() > 2 * most_extremes)
      points.by_mean.erase(std::next(points.by_mean.begin(), most_extremes));
  });
  return points;
}

/// One axis of a field of bins, which are equally wide, or as logarithms.
struct Binned {
  double low;
  double high;
  std::size_t bins;
  bool is_logarithmic = false;
  [[nodiscard]] std::size_t bin_of(double value) const {
    const double part = is_logarithmic ? std::log(value / low) / std::log(high / low)
                                       : (value - low) / (high - low);
    const auto all = static_cast<double>(bins);
    return static_cast<std::size_t>(std::clamp(part * all, 0.0, all - 1));
  }
  [[nodiscard]] double edge(std::size_t bin) const {
    const double part = static_cast<double>(bin) / static_cast<double>(bins);
    return is_logarithmic ? low * std::pow(high / low, part) : low + part * (high - low);
  }
};

/// How many plans are in each bin of a field, so that a million plans take no more room than a
/// thousand.
void add_bins(Figure& figure, const Binned& along_x, const Binned& along_y,
              const std::vector<double>& x, const std::vector<double>& y) {
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> counts;
  for (std::size_t i = 0; i < x.size(); ++i) ++counts[{along_x.bin_of(x[i]), along_y.bin_of(y[i])}];
  constexpr std::array names{"1 plan", "2 to 9 plans", "10 to 99", "100 to 999", "1000 or more"};
  std::vector<Figure::Series> steps(names.size());
  for (const auto& [bin, count] : counts) {
    const std::size_t digits = std::to_string(count).size();
    const std::size_t step = count == 1 ? 0 : std::min(digits, names.size() - 1);
    Figure::Series& of = steps[step];
    of.x.push_back(along_x.edge(bin.first));
    of.x_end.push_back(along_x.edge(bin.first + 1));
    of.y.push_back(along_y.edge(bin.second));
    of.y_end.push_back(along_y.edge(bin.second + 1));
  }
  figure.is_graded = true;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].x.empty()) continue;
    steps[i].name = names.at(i);
    steps[i].mark = Figure::Mark::rectangles;
    figure.series.push_back(std::move(steps[i]));
  }
}

constexpr std::size_t bins_across = 90;
constexpr std::size_t bins_up = 50;

void add_spread(const Points& points, Report& page) {
  if (points.means.empty()) return;
  const auto [left, right] = std::ranges::minmax(points.means);
  const auto [low, high] = std::ranges::minmax(points.deviations);
  Figure& figure = page.add(Figure{"spread",
                                   "mean and spread of each plan",
                                   {"mean temperature, °C"},
                                   {"standard deviation, °C"}});
  add_bins(figure, {std::floor(left), std::floor(right) + 1, bins_across},
           {std::floor(low), std::floor(high) + 1, bins_up}, points.means, points.deviations);
}

void add_predictions(const Points& points, Report& page) {
  const std::size_t plans = points.actual.size();
  if (plans == 0) {
    page.add_note("No plan's time was predicted: the run was too short.");
    return;
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < plans; ++i) ratios.push_back(points.actual[i] / points.predicted[i]);
  std::ranges::sort(ratios);
  page.add_note(
      fmt::format("The time of {} was predicted. The actual one was {:.2f} to {:.2f} times as "
                  "long, and for half "
                  "of them {:.2f} times at most.",
                  counted(plans, "plan"), ratios.front(), ratios.back(), ratios[(plans - 1) / 2]));
  const auto [least, most] = std::ranges::minmax(points.actual);
  const auto [least_predicted, most_predicted] = std::ranges::minmax(points.predicted);
  constexpr double margin = 1.25;
  const double low = std::min(least, least_predicted) / margin;
  const double high = std::max(most, most_predicted) * margin;
  Figure& figure = page.add(Figure{"predicted",
                                   "predicted and actual time of plans",
                                   {"predicted", Figure::Scale::time, {}, low, high},
                                   {"actual", Figure::Scale::time, {}, low, high}});
  add_bins(figure, {low, high, bins_across, true}, {low, high, bins_up, true}, points.predicted,
           points.actual);
  figure.series.push_back({.name = "as predicted",
                           .mark = Figure::Mark::line,
                           .x = {low, high},
                           .y = {low, high},
                           .is_dashed = true});
}

/// A few plans as a table, and as pictures if their fields are stored.
template <class Range>
void add_extremes(const char* key, const char* name, const Range& by_mean, const SummaryPage& of,
                  Report& page) {
  Table table{key,
              name,
              {{"id", "plan"},
               {"mean_temp", "mean", in_celsius},
               {"pct_below", fmt::format("below {} °C", of.thresholds.below), share_of_cells},
               {"pct_above", fmt::format("above {} °C", of.thresholds.above), share_of_cells},
               {"iterations", "iterations"}}};
  FieldPicture picture;
  for (const auto& [mean, index] : by_mean) {
    const PlanResult plan = of.reader.row(index);
    table.rows.push_back({plan.id, mean, plan.statistics.pct_below_15, plan.statistics.pct_above_18,
                          plan.iterations});
    if (auto field = of.reader.field(index))
      picture.panels.push_back({fmt::format("{} mean {:.2f} °C", printable(plan.id), mean),
                                without_ground(*std::move(field))});
  }
  if (table.rows.empty()) return;
  page.add(std::move(table));
  if (picture.panels.empty()) return;
  picture.columns = 3;
  picture.side = 200;
  page.add(Figure{.key = std::string(key) + "_fields",
                  .name = std::string(name) + ": temperatures",
                  .fields = std::make_shared<const FieldPicture>(std::move(picture))});
}

/// By which command, where and when.
void add_origin(const std::vector<Attributes>& sessions, const std::vector<Lane>& lanes,
                Report& page) {
  const auto add = [&](const char* name, const std::set<std::string>& values, const char* place) {
    if (values.size() == 1) page.add_line(name, *values.begin());
    if (values.size() > 1) page.add_line(std::string(name) + "s", values.size(), place);
  };
  std::set<std::string> commands;
  std::set<std::string> started;  // in this form they sort as they follow each other
  std::set<std::string> ended;
  std::size_t parts = 0;
  for (const Attributes& session : sessions) {
    if (const auto merged = merged_parts(session)) parts += *merged;
    for (const auto& [name, texts] :
         {std::pair("command_line", &commands), {"started_utc", &started}, {"ended_utc", &ended}})
      if (session.contains(name)) texts->insert(session.at(name));
  }
  if (parts > 0) page.add_fact("", "merged from", parts, {.unit = "parts"});
  add("command", commands, ", listed under sessions");
  std::set<std::string> hosts;
  for (const Lane& lane : lanes) hosts.insert(lane.host);
  add("host", hosts, "");
  if (!started.empty()) page.add_fact("", "started", *started.begin(), {Form::time});
  if (!ended.empty()) page.add_fact("", "last ended", *ended.rbegin(), {Form::time});
}

/// All plans, as `wallheat list` tells them.
void add_plan_rows(const SummaryPage& of, Report& page) {
  Table& table = page.add(table_of(
      "plans", of.rows,
      columns_named("columns",
                    "id,status,mean_temp,std_temp,pct_below_15,pct_above_18,iterations,seconds",
                    all_columns())));
  table.name = "plans";
  for (Table::Column& column : table.columns) {
    column.style.digits = 5;
    if (column.key == "pct_below_15")
      column.name = fmt::format("% below {} °C", of.thresholds.below);
    if (column.key == "pct_above_18")
      column.name = fmt::format("% above {} °C", of.thresholds.above);
  }
  page.add_note(fmt::format("wallheat list {} prints all of them.", of.file));
}

}  // namespace

Report page_of(const Report& summary, const SummaryPage& of) {
  const Points points = points_of(of.rows);
  const std::vector<Lane> lanes = of.are_all_rows ? lanes_of(of.rows) : std::vector<Lane>{};
  Report page{summary.title};
  for (const auto& part : summary.parts)
    if (std::holds_alternative<Fact>(part)) page.parts.push_back(part);
  add_origin(of.reader.sessions(), lanes, page);
  for (const std::string& sentence : of.reader.damage()) page.add_note(sentence);
  // The histogram stands for its table.
  for (const auto& part : summary.parts)
    if (const auto* figure = std::get_if<Figure>(&part))
      page.add(*figure).name = "plans by mean temperature";
  add_spread(points, page);
  const std::size_t coldest = std::min(most_extremes, (points.by_mean.size() + 1) / 2);
  const auto middle = std::next(points.by_mean.begin(), static_cast<std::ptrdiff_t>(coldest));
  add_extremes("coldest", "coldest plans", std::ranges::subrange(points.by_mean.begin(), middle),
               of, page);
  add_extremes("warmest", "warmest plans",
               std::ranges::subrange(middle, points.by_mean.end()) | std::views::reverse, of, page);
  const std::vector<TimeLedger> ledgers = ledgers_of(lanes, of.reader.sessions());
  for (const auto& part : summary.parts) {
    const auto* const table = std::get_if<Table>(&part);
    // A ledger tells more than the phases of plans.
    if (table != nullptr && !table->is_folded && (table->key != "phases" || ledgers.empty()))
      page.add(*table);
    if (table != nullptr && table->key == "failures" && !table->rows.empty())
      page.add_note("All of them again, once their input is mended: " + resume_command(of.file) +
                    and_retry_failed);
    if (const auto* note = std::get_if<Note>(&part)) page.add(*note);
  }
  add_session_times(ledgers, lanes, page);
  add_predictions(points, page);
  for (const auto& part : summary.parts)
    if (const auto* const table = std::get_if<Table>(&part); table != nullptr && table->is_folded)
      page.add(*table);
  add_plan_rows(of, page);
  return page;
}

}  // namespace wallheat
