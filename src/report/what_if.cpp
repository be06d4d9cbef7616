#include "report/what_if.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "core/larger.hpp"
#include "core/plural.hpp"

namespace wallheat {
namespace {

const Style uncertainty{Form::digits, 1, "°C"};

/// Of how many plans or rooms something holds: as computed, surely, perhaps.
using BoundedCount = Bounded<std::size_t>;
void count(BoundedCount& of, bool holds, bool surely, bool perhaps) {
  of.value += holds ? 1U : 0U;
  of.least += surely ? 1U : 0U;
  of.most += perhaps ? 1U : 0U;
}

/// All plans with one setting.
struct SettingTotals {
  std::size_t plans = 0;  ///< with a cell
  BoundedValue mean{not_known, not_known};
  BoundedCount half_above;  ///< plans with at least half of their cells above the threshold
  BoundedCount half_below;
  std::size_t rooms = 0;
  BoundedCount rooms_above;  ///< rooms with a mean above the threshold
  BoundedCount rooms_below;
};

std::string above_text(const WhatIf& asked) {
  return fmt::format("above {:.6g} °C", asked.thresholds.above);
}
std::string below_text(const WhatIf& asked) {
  return fmt::format("below {:.6g} °C", asked.thresholds.below);
}

void add_plan(const WhatIfPlan& plan, std::size_t setting, const Thresholds& thresholds,
              SettingTotals& totals) {
  constexpr double half = 50;
  const auto& [above, below] = thresholds;
  const auto count_half = [](BoundedCount& of, const Bounded<double>& share) {
    count(of, share.value >= half, share.least >= half, share.most >= half);
  };
  count_half(totals.half_above, plan.of(setting).above);
  count_half(totals.half_below, plan.of(setting).below);
  totals.rooms += plan.rooms;
  for (std::size_t room = 1; room <= plan.rooms; ++room) {
    const double mean = plan.of(setting, room).mean;
    const double bound = plan.of(setting, room).bound;
    count(totals.rooms_above, mean > above, mean - bound > above, mean + bound > above);
    count(totals.rooms_below, mean < below, mean + bound < below, mean - bound < below);
  }
}

std::vector<SettingTotals> totals_of(const WhatIf& asked, const WhatIfPlans& plans) {
  const std::size_t settings = asked.settings.size();
  std::vector<SettingTotals> totals(settings);
  std::vector<std::vector<double>> means(settings);
  std::vector<double> bounds(settings);
  plans.for_each([&](const WhatIfPlan& plan) {
    if (plan.of(0).cells == 0) return;
    for (std::size_t setting = 0; setting < settings; ++setting) {
      means[setting].push_back(plan.of(setting).mean);
      bounds[setting] = larger(bounds[setting], plan.of(setting).bound);
      add_plan(plan, setting, asked.thresholds, totals[setting]);
    }
  });
  for (std::size_t setting = 0; setting < settings; ++setting) {
    totals[setting].plans = means[setting].size();
    if (!means[setting].empty())
      totals[setting].mean = bounded_mean(means[setting], bounds[setting]);
  }
  return totals;
}

/// 1204, or "1203 to 1205" if not all is proven.
template <class Number>
Value shown(const Bounded<Number>& of) {
  if (!(of.least < of.most)) return of.value;
  const Style style{Form::decimals, 3};
  return fmt::format("{} to {}", text_of(of.least, style), text_of(of.most, style));
}

void add_wall_columns(const WhatIf& asked, Table& table) {
  for (const double wall : asked.walls)
    table.columns.push_back({fmt::format("wall_{}", wall), fmt::format("wall {:.6g} °C", wall)});
}

/// A row for each plan, then for each of its rooms, with each setting.
Table table_of_each_plan(const WhatIf& asked, std::shared_ptr<const WhatIfPlans> plans) {
  const Style mean{Form::decimals, 3, "°C"};
  const Style extreme{Form::decimals, 2, "°C"};
  const Style share{Form::decimals, 2};
  const bool has_area = asked.cell_metres > 0;
  Table table{"plans", "", {{"id", ""}, {"room", "room"}}};
  add_wall_columns(asked, table);
  for (const Table::Column& column :
       {Table::Column{"cells", "cells"},
        {has_area ? "area_m2" : "", has_area ? "area" : "", {Form::decimals, 1, "m²"}},
        {"mean_temp", "mean", mean},
        {"error_bound", "±", uncertainty},
        {"std_temp", "std", mean},
        {"min_temp", "lowest", extreme},
        {"max_temp", "highest", extreme},
        {"", "% " + above_text(asked), share},
        {"pct_above", ""},
        {"pct_above_least", ""},
        {"pct_above_most", ""},
        {"", "% " + below_text(asked), share},
        {"pct_below", ""},
        {"pct_below_least", ""},
        {"pct_below_most", ""}})
    table.columns.push_back(column);
  table.source = [asked, plans = std::move(plans)](const auto& take) {
    plans->for_each([&](const WhatIfPlan& plan) {
      for (std::size_t room = 0; room <= plan.rooms; ++room)
        for (std::size_t setting = 0; setting < asked.settings.size(); ++setting) {
          const auto& [cells, mean_temp, std, lowest, highest, bound, above, below] =
              plan.of(setting, room);
          const double area = static_cast<double>(cells) * asked.cell_metres * asked.cell_metres;
          Table::Row row{plan.id, room > 0 ? Value(room) : Value()};
          row.insert(row.end(), asked.settings[setting].begin(), asked.settings[setting].end());
          row.insert(row.end(), {cells, area, mean_temp, bound, std, lowest, highest});
          for (const auto& side : {above, below})
            row.insert(row.end(), {shown(side), side.value, side.least, side.most});
          take(row);
        }
    });
  };
  return table;
}

/// All plans with each setting.
Table table_of_settings(const WhatIf& asked, const std::vector<SettingTotals>& totals) {
  Table table{"settings", "", {{"setting", "setting"}}};
  add_wall_columns(asked, table);
  table.columns.insert(table.columns.end(),
                       {{"plans", ""},
                        {"mean_of_means", "mean of means", {Form::decimals, 4, "°C"}},
                        {"error_bound", "±", uncertainty},
                        {"rooms", ""}});
  // Of each, one column that people see, and three that scripts read.
  const bool has_rooms = totals.front().rooms > 0;
  const auto counts =
      std::to_array<std::tuple<std::string, std::string, BoundedCount SettingTotals::*>>(
          {{"half_above", "plans half " + above_text(asked), &SettingTotals::half_above},
           {"half_below", "half " + below_text(asked), &SettingTotals::half_below},
           {"rooms_above", has_rooms ? "rooms " + above_text(asked) : "",
            &SettingTotals::rooms_above},
           {"rooms_below", has_rooms ? below_text(asked) : "", &SettingTotals::rooms_below}});
  for (const auto& [key, name, count] : counts)
    table.columns.insert(
        table.columns.end(),
        {{key + "_text", name}, {key, ""}, {key + "_least", ""}, {key + "_most", ""}});
  for (std::size_t setting = 0; setting < totals.size(); ++setting) {
    const SettingTotals& all = totals[setting];
    Table::Row& row = table.rows.emplace_back(Table::Row{setting == 0 ? "now" : "other"});
    row.insert(row.end(), asked.settings[setting].begin(), asked.settings[setting].end());
    row.insert(row.end(), {all.plans, all.mean.value, all.mean.bound, all.rooms});
    for (const auto& [key, name, member] : counts) {
      const BoundedCount& count = all.*member;
      row.insert(row.end(), {shown(count), count.value, count.least, count.most});
    }
  }
  return table;
}

/// The number of the wall with the most temperatures.
std::size_t axis_of(const WhatIf& asked) {
  std::vector<std::size_t> temperatures;
  for (std::size_t wall = 0; wall < asked.walls.size(); ++wall) {
    std::set<double> different;
    for (std::size_t setting = 1; setting < asked.settings.size(); ++setting)
      different.insert(asked.settings[setting][wall]);
    temperatures.push_back(different.size());
  }
  const auto most = std::ranges::max_element(temperatures);
  return static_cast<std::size_t>(most - temperatures.begin());
}

/// The means over the wall with the most temperatures: a curve for each setting of the others. If
/// there is one curve, also the shares of the plans above and below the thresholds.
void add_curves(const WhatIf& asked, const std::vector<SettingTotals>& totals, Report& report) {
  const std::size_t axis = axis_of(asked);
  std::map<std::vector<double>, std::vector<std::size_t>> curves;  // settings by the other walls
  const std::size_t first = asked.settings.size() == 2 ? 0 : 1;    // now, too: a line has two ends
  for (std::size_t setting = first; setting < asked.settings.size(); ++setting) {
    std::vector<double> others = asked.settings[setting];
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));
    curves[others].push_back(setting);
  }
  const Figure::Axis x{
      fmt::format("temperature of walls that are at {:.6g} °C, °C", asked.walls[axis])};
  const auto add_curve = [&](const std::string& name, const std::vector<std::size_t>& settings,
                             const auto& value_in, Figure& figure) {
    Figure::Series& series =
        figure.series.emplace_back(Figure::Series{name, Figure::Mark::points_and_line});
    for (const std::size_t setting : settings)
      series.add(asked.settings[setting][axis], value_in(totals[setting]));
  };
  Figure means{"means", report.title, x, {"mean temperature, °C"}};
  for (const auto& [others, settings] : curves)
    add_curve(
        curves.size() > 1 ? asked.text_of(settings.front(), axis) : "mean of means", settings,
        [](const SettingTotals& all) { return all.mean.value; }, means);
  report.add(std::move(means));
  if (curves.size() > 1 || totals.front().plans == 1) return;
  const char* const name = "plans with half of their area";
  Figure shares{"shares", name, x, {fmt::format("{}, %", name), Figure::Scale::linear, {}, 0, 100}};
  for (const auto& [side, count] : {std::pair(above_text(asked), &SettingTotals::half_above),
                                    {below_text(asked), &SettingTotals::half_below}})
    add_curve(
        side, curves.begin()->second,
        [count = count](const SettingTotals& all) {
          return 100 * static_cast<double>((all.*count).value) / static_cast<double>(all.plans);
        },
        shares);
  report.add(std::move(shares));
}

/// A new file that ends with its descriptor.
File nameless_file() {
  std::error_code missing;
  const auto folder = std::filesystem::temp_directory_path(missing);
  if (missing) throw RunError("there is no folder for temporary files: set TMPDIR to one");
  const auto path =
      folder / fmt::format("wallheat-{:08x}{:08x}", std::random_device()(), std::random_device()());
  File file(path, O_CREAT | O_EXCL | O_RDWR);
  remove_file(path);
  return file;
}

}  // namespace

Figures figures_of(std::span<const double> values, double bound, const Thresholds& thresholds) {
  if (values.empty()) return {};
  const auto& [statistics, doubt] = summary_of(values, thresholds, bound);
  const auto percent = [&](std::int64_t cells) {
    return static_cast<double>(cells) / static_cast<double>(values.size()) * 100;
  };
  return {values.size(),
          statistics.mean_temp,
          statistics.std_temp,
          std::accumulate(values.begin(), values.end(), values.front(), smaller),
          std::accumulate(values.begin(), values.end(), values.front(), larger),
          // The deviation is no farther off than the values, and rounds as the mean does, twice.
          bound + 2 * (bounded_mean(values, bound).bound - bound),
          {statistics.pct_above_18, percent(doubt.above_least), percent(doubt.above_most)},
          {statistics.pct_below_15, percent(doubt.below_least), percent(doubt.below_most)}};
}

std::string WhatIf::text_of(std::size_t setting, std::size_t without) const {
  std::vector<std::string> texts;
  for (std::size_t wall = 0; wall < walls.size(); ++wall)
    if (wall != without)
      texts.push_back(
          fmt::format("walls of {:.6g} °C at {:.6g} °C", walls[wall], settings[setting][wall]));
  return fmt::format("{}", fmt::join(texts, ", "));
}

WhatIfPlan answer_of(const WhatIf& asked, const std::string& id, const Superposition& plan,
                     const RoomPlaces& rooms) {
  WhatIfPlan answer{id, rooms.size()};
  for (const auto& setting : asked.settings) {
    const auto [cells, bound] = plan.at(setting);
    answer.figures.push_back(figures_of(cells, bound, asked.thresholds));
    for (const CellPlaces& places : rooms)
      answer.figures.push_back(figures_of(values_at(places, cells), bound, asked.thresholds));
  }
  return answer;
}

WhatIfPlans::WhatIfPlans(std::size_t plans) : places_(plans), file_(nameless_file()) {}

void WhatIfPlans::put(std::size_t index, const WhatIfPlan& plan) {
  const auto bytes = std::as_bytes(std::span(plan.figures));
  const std::uint64_t begin = end_.fetch_add(bytes.size());
  file_.write_at(begin, bytes);
  places_.at(index) = {{plan.id, plan.rooms}, begin, plan.figures.size()};
}

void WhatIfPlans::for_each(const std::function<void(const WhatIfPlan&)>& take) const {
  for (const auto& [put, begin, figures] : places_) {
    if (figures == 0) continue;
    WhatIfPlan plan = put;
    plan.figures.resize(figures);
    if (!file_.read_at(begin, std::as_writable_bytes(std::span(plan.figures))))
      throw RunError(fmt::format("{} cannot be read again", file_.path().string()));
    take(plan);
  }
}

Report report_of(const WhatIf& asked, std::shared_ptr<const WhatIfPlans> plans, bool is_one) {
  const std::vector<SettingTotals> totals = totals_of(asked, *plans);
  const auto [count, rooms] = std::pair(totals.front().plans, totals.front().rooms);
  Report report{is_one ? "a plan with other walls" : counted(count, "plan") + " with other walls"};
  report.csv_table = "plans";
  report.add_data("above", asked.thresholds.above);
  report.add_data("below", asked.thresholds.below);
  if (is_one) {
    plans->for_each([&](const WhatIfPlan& plan) {
      report.title = fmt::format("plan {} with other walls", plan.id);
    });
    report.add_note(report.title);
  } else {
    report.add_line("plans", count);
    if (rooms > 0) report.add_line("rooms", rooms);
  }
  Table& of_all = report.add(table_of_settings(asked, totals));
  if (is_one) of_all.hide();
  Table& of_each = report.add(table_of_each_plan(asked, std::move(plans)));
  if (!is_one) of_each.hide();
  if (rooms == 0) of_each.columns.at(1).name.clear();
  if (count > 0) add_curves(asked, totals, report);
  return report;
}

}  // namespace wallheat
