#include "report/what_if.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/larger.hpp"
#include "report/unknown.hpp"
#include "solve/superposition.hpp"

namespace wallheat {
namespace {

const Style four_decimals{Form::decimals, 4, "°C"};
const Style uncertainty{Form::digits, 1, "°C"};

/// The plans' means, their mean, and how far off that is.
struct MeanOfMeans {
  std::size_t plans = 0;
  BoundedValue mean{unknown, unknown};
};

MeanOfMeans mean_of_plans(const SettingTotals& totals) {
  std::vector<double> means;
  for (const auto& mean : totals.means)
    if (mean) means.push_back(*mean);
  if (means.empty()) return {};
  return {means.size(), bounded_mean(means, totals.largest_bound)};
}

/// 1204, or "1203 to 1205" if not all is proven.
Value shown(const BoundedCount& count) {
  if (count.least == count.most) return count.value;
  return fmt::format("{} to {}", count.least, count.most);
}

Value shown(const Bounded& share) {
  if (share.least == share.most || std::isnan(share.value)) return share.value;
  return fmt::format("{:.3f} to {:.3f}", share.least, share.most);
}

const Style share_style{Form::decimals, 2};

/// A column that people see, and three that scripts read.
void add_bounded_columns(Table& table, const std::string& key, const std::string& name) {
  table.columns.insert(
      table.columns.end(),
      {{key + "_text", name}, {key, ""}, {key + "_least", ""}, {key + "_most", ""}});
}

void add_bounded(Table::Row& row, const BoundedCount& count) {
  row.insert(row.end(), {shown(count), count.value, count.least, count.most});
}

std::string above_text(const WhatIf& asked) {
  return fmt::format("above {:.6g} °C", asked.thresholds.above);
}
std::string below_text(const WhatIf& asked) {
  return fmt::format("below {:.6g} °C", asked.thresholds.below);
}

void add_wall_columns(const WhatIf& asked, bool is_for_people, Table& table) {
  for (const double wall : asked.walls)
    table.columns.push_back(
        {fmt::format("wall_{}", wall), is_for_people ? fmt::format("wall {:.6g} °C", wall) : ""});
}

void add_walls(const WhatIf& asked, std::size_t setting, Table::Row& row) {
  row.insert(row.end(), asked.settings[setting].begin(), asked.settings[setting].end());
}

Value area_of_cells(const WhatIf& asked, const Figures& figures) {
  if (asked.cell_metres == 0) return {};
  return static_cast<double>(figures.cells) * asked.cell_metres * asked.cell_metres;
}

/// For scripts: a row for each plan and setting, and one for each room.
Table table_of_each_plan(const WhatIf& asked, WhatIfPlans plans) {
  Table table{"plans", "", {{"id", ""}, {"room", ""}}};
  add_wall_columns(asked, false, table);
  for (const char* key :
       {"cells", "mean_temp", "std_temp", "min_temp", "max_temp", "error_bound", "pct_above",
        "pct_above_least", "pct_above_most", "pct_below", "pct_below_least", "pct_below_most"})
    table.columns.push_back({key, ""});
  if (asked.cell_metres > 0) table.columns.push_back({"area_m2", ""});
  table.source = [asked, plans = std::move(plans)](const auto& take) {
    const auto take_row = [&](const std::string& id, const Value& room, std::size_t setting,
                              const Figures& of) {
      Table::Row row{id, room};
      add_walls(asked, setting, row);
      row.insert(row.end(),
                 {of.cells, of.mean, of.deviation, of.lowest, of.highest, of.bound, of.above.value,
                  of.above.least, of.above.most, of.below.value, of.below.least, of.below.most});
      if (asked.cell_metres > 0) row.push_back(area_of_cells(asked, of));
      take(row);
    };
    plans([&](const WhatIfPlan& plan) {
      for (std::size_t setting = 0; setting < plan.figures.size(); ++setting) {
        take_row(plan.id, {}, setting, plan.figures[setting]);
        if (plan.rooms.empty()) continue;
        std::size_t room = 0;
        for (const Figures& of_room : plan.rooms[setting])
          take_row(plan.id, ++room, setting, of_room);
      }
    });
  };
  return table;
}

/// A row for each setting. People see what all plans are, or what the only one is.
Table table_of_settings(const WhatIf& asked, const WhatIfTotals& totals, const WhatIfPlan* only) {
  const bool is_one = only != nullptr;
  const bool with_rooms = totals.settings.front().rooms > 0;
  const auto name_if = [](bool is_shown, const std::string& name) {
    return is_shown ? name : std::string();
  };
  Table table{"settings", "", {{"setting", "setting"}}};
  add_wall_columns(asked, true, table);
  table.columns.insert(table.columns.end(),
                       {{"plans", ""},
                        {"mean_of_means", is_one ? "mean" : "mean of means", four_decimals},
                        {"error_bound", "±", uncertainty}});
  if (is_one)
    table.columns.insert(table.columns.end(),
                         {{"std_temp", "std", four_decimals},
                          {"pct_above", "% " + above_text(asked), share_style},
                          {"pct_below", "% " + below_text(asked), share_style}});
  add_bounded_columns(table, "half_above", name_if(!is_one, "plans half " + above_text(asked)));
  add_bounded_columns(table, "half_below", name_if(!is_one, "half " + below_text(asked)));
  table.columns.push_back({"rooms", ""});
  add_bounded_columns(table, "rooms_above",
                      name_if(!is_one && with_rooms, "rooms " + above_text(asked)));
  add_bounded_columns(table, "rooms_below", name_if(!is_one && with_rooms, below_text(asked)));
  for (std::size_t setting = 0; setting < asked.settings.size(); ++setting) {
    const SettingTotals& all = totals.settings[setting];
    const auto [plans, mean] = mean_of_plans(all);
    Table::Row& row = table.rows.emplace_back(Table::Row{setting == 0 ? "now" : "other"});
    add_walls(asked, setting, row);
    row.insert(row.end(), {plans, mean.value, mean.bound});
    if (is_one) {
      const Figures& of = only->figures[setting];
      row.insert(row.end(), {of.deviation, shown(of.above), shown(of.below)});
    }
    add_bounded(row, all.half_above);
    add_bounded(row, all.half_below);
    row.emplace_back(all.rooms);
    add_bounded(row, all.rooms_above);
    add_bounded(row, all.rooms_below);
  }
  return table;
}

/// For people: the only plan's rooms, now and with the last setting.
Table table_of_changed_rooms(const WhatIf& asked, const WhatIfPlan& plan) {
  const Style mean{Form::decimals, 3, "°C"};
  const Style extreme{Form::decimals, 2, "°C"};
  Table table{"rooms",
              fmt::format("its rooms, now and with the {} setting",
                          asked.settings.size() > 2 ? "last" : "other"),
              {{"room", "room"},
               {"cells", "cells"},
               {"area_m2", asked.cell_metres > 0 ? "area" : "", {Form::decimals, 1, "m²"}},
               {"mean_now", "mean now", mean},
               {"mean_then", "then", mean},
               {"error_bound", "±", uncertainty},
               {"min_temp", "lowest", extreme},
               {"max_temp", "highest", extreme},
               {"pct_above", "% " + above_text(asked), share_style},
               {"pct_below", "% " + below_text(asked), share_style}}};
  const std::vector<Figures>& now = plan.rooms.front();
  const std::vector<Figures>& then = plan.rooms.back();
  for (std::size_t room = 0; room < then.size(); ++room) {
    const Figures& of = then[room];
    table.rows.push_back({room + 1, of.cells, area_of_cells(asked, of), now[room].mean, of.mean,
                          of.bound, of.lowest, of.highest, shown(of.above), shown(of.below)});
  }
  return table;
}

/// The settings of one curve: places in WhatIf::settings, and what the other walls are.
struct Curve {
  std::vector<std::size_t> settings;
  std::string name;
};

/// The wall with the most temperatures, and its curves.
std::pair<std::size_t, std::vector<Curve>> curves_of(const WhatIf& asked) {
  std::size_t axis = 0;
  std::size_t most = 0;
  for (std::size_t wall = 0; wall < asked.walls.size(); ++wall) {
    std::vector<double> different;
    for (std::size_t setting = 1; setting < asked.settings.size(); ++setting)
      different.push_back(asked.settings[setting][wall]);
    std::sort(different.begin(), different.end());
    different.erase(std::unique(different.begin(), different.end()), different.end());
    if (different.size() > most) axis = wall;
    most = std::max(most, different.size());
  }
  std::map<std::vector<double>, Curve> curves;
  const std::size_t first = asked.settings.size() == 2 ? 0 : 1;  // now, too: a line has two ends
  for (std::size_t setting = first; setting < asked.settings.size(); ++setting) {
    std::vector<double> others = asked.settings[setting];
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));
    Curve& curve = curves[others];
    curve.settings.push_back(setting);
    std::vector<std::string> names;
    for (std::size_t wall = 0, other = 0; wall < asked.walls.size(); ++wall)
      if (wall != axis)
        names.push_back(
            fmt::format("walls of {:.6g} °C at {:.6g} °C", asked.walls[wall], others[other++]));
    curve.name = fmt::format("{}", fmt::join(names, ", "));
  }
  std::pair<std::size_t, std::vector<Curve>> result{axis, {}};
  for (auto& [others, curve] : curves) result.second.push_back(std::move(curve));
  return result;
}

/// The means over the wall with the most temperatures: a curve for each setting of the others. If
/// there is one curve, also the means of the only plan's rooms; and the shares above and below the
/// thresholds, of the only plan's area or of all plans.
void add_curves(const WhatIf& asked, const WhatIfTotals& totals, const WhatIfPlan* only,
                Report& report) {
  const auto [axis, curves] = curves_of(asked);
  const Figure::Axis x{
      fmt::format("temperature of walls that are at {:.6g} °C, °C", asked.walls[axis])};
  Figure means{"means", report.title, x, {"mean temperature, °C"}};
  const char* name = only != nullptr ? "share of the area" : "plans with half of their area";
  Figure shares{"shares", name, x, {fmt::format("{}, %", name), Figure::Scale::linear, {}, 0, 100}};
  const auto add = [&, axis = axis](Figure& figure, const std::string& of, Figure::Mark mark,
                                    const Curve& curve, const auto& value_with) {
    Figure::Series& series = figure.series.emplace_back();
    series.name = of;
    series.mark = mark;
    for (const std::size_t setting : curve.settings) {
      series.x.push_back(asked.settings[setting][axis]);
      series.y.push_back(value_with(setting));
    }
  };
  for (const Curve& curve : curves)
    add(means,
        curves.size() > 1 ? curve.name
        : only != nullptr ? "mean"
                          : "mean of means",
        Figure::Mark::points_and_line, curve,
        [&](std::size_t setting) { return mean_of_plans(totals.settings[setting]).mean.value; });
  if (curves.size() == 1) {
    const std::size_t rooms =
        only == nullptr || only->rooms.empty() ? 0 : only->rooms.front().size();
    for (std::size_t room = 0; room < rooms; ++room)
      add(means, room == 0 ? "its rooms" : "", Figure::Mark::line, curves.front(),
          [&](std::size_t setting) { return only->rooms[setting][room].mean; });
    for (const auto& [side, of_plan, of_plans] :
         {std::tuple(above_text(asked), &Figures::above, &SettingTotals::half_above),
          {below_text(asked), &Figures::below, &SettingTotals::half_below}})
      add(shares, side, Figure::Mark::points_and_line, curves.front(),
          [&, of_plan = of_plan, of_plans = of_plans](std::size_t setting) {
            if (only != nullptr) return (only->figures[setting].*of_plan).value;
            const SettingTotals& all = totals.settings[setting];
            return 100 * static_cast<double>((all.*of_plans).value) /
                   static_cast<double>(mean_of_plans(all).plans);
          });
  }
  report.add(std::move(means));
  if (!shares.series.empty()) report.add(std::move(shares));
}

}  // namespace

Figures figures_of(std::span<const double> values, double bound, const Thresholds& thresholds) {
  Figures figures{values.size(), unknown, unknown, unknown, unknown, bound, {}, {}};
  figures.above = figures.below = {unknown, unknown, unknown};
  if (values.empty()) return figures;
  figures.lowest = std::accumulate(values.begin(), values.end(), values.front(), smaller);
  figures.highest = std::accumulate(values.begin(), values.end(), values.front(), larger);
  const BoundedValue mean = bounded_mean(values, bound);
  figures.mean = mean.value;
  // The deviation is no farther off than the values, and rounds as the mean does, twice.
  figures.bound = bound + 2 * (mean.bound - bound);
  std::vector<double> squares(values.begin(), values.end());
  std::size_t above[3]{};
  std::size_t below[3]{};
  for (double& value : squares) {
    above[0] += value > thresholds.above ? 1U : 0U;
    above[1] += value - bound > thresholds.above ? 1U : 0U;
    above[2] += value + bound > thresholds.above ? 1U : 0U;
    below[0] += value < thresholds.below ? 1U : 0U;
    below[1] += value + bound < thresholds.below ? 1U : 0U;
    below[2] += value - bound < thresholds.below ? 1U : 0U;
    value = (value - figures.mean) * (value - figures.mean);
  }
  const auto count = static_cast<double>(values.size());
  figures.deviation = std::sqrt(numpy_sum(squares) / count);
  const auto shares = [&](const std::size_t(&cells)[3]) {
    const auto percent = [&](std::size_t part) { return static_cast<double>(part) / count * 100; };
    return Bounded{percent(cells[0]), percent(cells[1]), percent(cells[2])};
  };
  figures.above = shares(above);
  figures.below = shares(below);
  return figures;
}

void BoundedCount::add(bool holds, bool surely, bool perhaps) {
  value += holds ? 1U : 0U;
  least += surely ? 1U : 0U;
  most += perhaps ? 1U : 0U;
}

WhatIfTotals::WhatIfTotals(const WhatIf& asked, std::size_t plans)
    : settings(asked.settings.size(), {std::vector<std::optional<double>>(plans)}) {}

void WhatIfTotals::add(std::size_t index, const WhatIfPlan& plan, const Thresholds& thresholds) {
  constexpr double half = 50;
  for (std::size_t setting = 0; setting < settings.size(); ++setting) {
    SettingTotals& totals = settings[setting];
    const Figures& figures = plan.figures.at(setting);
    if (figures.cells == 0) continue;
    totals.means[index] = figures.mean;
    totals.largest_bound = larger(totals.largest_bound, figures.bound);
    const auto& [above, below] = std::pair(figures.above, figures.below);
    totals.half_above.add(above.value >= half, above.least >= half, above.most >= half);
    totals.half_below.add(below.value >= half, below.least >= half, below.most >= half);
    if (plan.rooms.empty()) continue;
    for (const auto& room : plan.rooms[setting]) {
      const auto [limit_above, limit_below] = thresholds;
      ++totals.rooms;
      totals.rooms_above.add(room.mean > limit_above, room.mean - room.bound > limit_above,
                             room.mean + room.bound > limit_above);
      totals.rooms_below.add(room.mean < limit_below, room.mean + room.bound < limit_below,
                             room.mean - room.bound < limit_below);
    }
  }
}

Report report_of(const WhatIf& asked, const WhatIfTotals& totals, WhatIfPlans plans,
                 const WhatIfPlan* only) {
  const std::size_t count = mean_of_plans(totals.settings.front()).plans;
  const std::string title = only != nullptr ? fmt::format("plan {} with other walls", only->id)
                                            : fmt::format("{} plans with other walls", count);
  Report report{title};
  report.csv_table = "plans";
  report.add(Fact{"above", "", asked.thresholds.above});
  report.add(Fact{"below", "", asked.thresholds.below});
  if (only != nullptr) {
    report.add(Fact{"", "plan", only->id});
    report.add(Fact{"", "interior cells", only->figures.front().cells});
  } else {
    report.add(Fact{"", "plans", count});
    const std::size_t rooms = totals.settings.front().rooms;
    report.add(Fact{"", rooms > 0 ? "rooms" : "", rooms});
  }
  report.add(table_of_settings(asked, totals, only));
  if (only != nullptr && !only->rooms.empty()) report.add(table_of_changed_rooms(asked, *only));
  report.add(table_of_each_plan(asked, std::move(plans)));
  if (count > 0) add_curves(asked, totals, only, report);
  return report;
}

}  // namespace wallheat
