#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "core/cell_statistics.hpp"
#include "core/text.hpp"
#include "report/walls.hpp"

namespace wallheat {
namespace {

using WhatIfPlans = std::vector<WhatIfPlan>;

const ValueStyle uncertainty{ValueFormat::digits, 1, "°C"};

/// Totals of all plans for one setting.
struct SettingTotals {
  std::size_t plans = 0;  ///< plans with interior cells
  BoundedValue mean{nan_value, nan_value};
  BoundedCount half_above;  ///< plans with at least half of their cells above the threshold
  BoundedCount half_below;
  std::size_t rooms = 0;
  BoundedCount rooms_above;  ///< rooms with a mean above the threshold
  BoundedCount rooms_below;
};

SettingTotals totals_of(const WhatIf& asked, const WhatIfPlans& plans, std::size_t setting) {
  const auto& [above, below] = asked.thresholds;
  SettingTotals totals;
  std::vector<double> means;
  double bound_of_all = 0;
  for (const WhatIfPlan& plan : plans) {
    const BoundedStatistics& whole = plan.of(setting);
    if (whole.cells == 0) continue;
    means.push_back(whole.mean);
    bound_of_all = nan_max(bound_of_all, whole.bound);
    const auto is_half = [&](std::uint32_t cells) { return 2UL * cells >= whole.cells; };
    for (const auto& [count, cells] :
         {std::pair(&totals.half_above, &whole.above), {&totals.half_below, &whole.below}})
      count->add(is_half(cells->value), is_half(cells->lower), is_half(cells->upper));
    totals.rooms += plan.rooms.size();
    for (std::size_t room = 1; room <= plan.rooms.size(); ++room) {
      const double mean = plan.of(setting, room).mean;
      const double bound = plan.of(setting, room).bound;
      totals.rooms_above.add(mean > above, mean - bound > above, mean + bound > above);
      totals.rooms_below.add(mean < below, mean + bound < below, mean - bound < below);
    }
  }
  totals.plans = means.size();
  if (!means.empty()) totals.mean = bounded_mean(means, bound_of_all);
  return totals;
}

std::string above_text(const WhatIf& asked) {
  return fmt::format("above {:.6g} °C", asked.thresholds.above);
}
std::string below_text(const WhatIf& asked) {
  return fmt::format("below {:.6g} °C", asked.thresholds.below);
}

void add_wall_columns(const WhatIf& asked, Table& table) {
  for (const double wall : asked.walls)
    table.columns.push_back({fmt::format("wall_{}", wall), fmt::format("wall {:.6g} °C", wall)});
}

/// Adds a column for text output, and three for JSON and CSV.
void add_bounded_columns(const std::string& key, const std::string& name, const ValueStyle& style,
                         Table& table) {
  table.columns.insert(table.columns.end(),
                       {text_only_column(name, style), json_only_column(key),
                        json_only_column(key + "_lower"), json_only_column(key + "_upper")});
}
/// Adds the cells of these columns. Text output has 1204, or "1203 to 1205" if the value is not
/// completely proven.
void add_bounded_cells(const Value& value, const Value& min, const Value& max, Table::Row& row) {
  const ValueStyle style{ValueFormat::decimals, 3};
  const Value range = fmt::format("{} to {}", value_text(min, style), value_text(max, style));
  row.insert(row.end(), {min < max ? range : value, value, min, max});
}

/// Returns a table with a row for each plan, and then for each of its rooms, with each setting.
Table table_of_each_plan(const WhatIf& asked, std::shared_ptr<const WhatIfPlans> plans) {
  const ValueStyle mean{ValueFormat::decimals, 3, "°C"};
  const ValueStyle extreme{ValueFormat::decimals, 2, "°C"};
  Table table{
      "plans", "", {json_only_column("id"), json_only_column("room"), text_only_column("room")}};
  add_wall_columns(asked, table);
  table.columns.push_back({"cells", "cells"});
  if (asked.cell_metres > 0)
    table.columns.push_back({"area_m2", "area", {ValueFormat::decimals, 1, "m²"}});
  table.columns.insert(table.columns.end(), {{"mean_temp", "mean", mean},
                                             {"error_bound", "±", uncertainty},
                                             {"std_temp", "std", mean},
                                             {"min_temp", "lowest", extreme},
                                             {"max_temp", "highest", extreme}});
  add_bounded_columns("pct_above", "% " + above_text(asked), {ValueFormat::decimals, 2}, table);
  add_bounded_columns("pct_below", "% " + below_text(asked), {ValueFormat::decimals, 2}, table);
  table.columns.insert(table.columns.end(), {json_only_column("above"), json_only_column("below")});
  table.row_source = [asked, plans = std::move(plans)](const auto& take) {
    for (const WhatIfPlan& plan : *plans)
      for (std::size_t room = 0; room <= plan.rooms.size(); ++room)
        for (std::size_t setting = 0; setting < asked.settings.size(); ++setting) {
          const auto& [cells, above, below, mean_temp, std, lowest, highest, bound] =
              plan.of(setting, room);
          const auto all = static_cast<double>(cells);
          const Value number = room > 0 ? Value(plan.rooms[room - 1]) : Value();
          // The number in text output is a string, as the complete plan has none.
          Table::Row row{plan.id, number, room > 0 ? value_text(number) : "all"};
          row.insert(row.end(), asked.settings[setting].begin(), asked.settings[setting].end());
          row.emplace_back(cells);
          if (asked.cell_metres > 0) row.emplace_back(all * asked.cell_metres * asked.cell_metres);
          row.insert(row.end(), {mean_temp, bound, std, lowest, highest});
          for (const BoundedCount& side : {above, below})
            add_bounded_cells(side.value / all * 100, side.lower / all * 100,
                              side.upper / all * 100, row);
          row.insert(row.end(), {asked.thresholds.above, asked.thresholds.below});
          take(row);
        }
  };
  return table;
}

/// Returns a table of the totals of all plans with each setting.
Table table_of_settings(const WhatIf& asked, const std::vector<SettingTotals>& totals) {
  Table table{"settings", "", {{"setting", "setting"}}};
  add_wall_columns(asked, table);
  table.columns.insert(table.columns.end(),
                       {json_only_column("plans"),
                        {"mean_of_means", "mean of means", {ValueFormat::decimals, 4, "°C"}},
                        {"error_bound", "±", uncertainty},
                        json_only_column("rooms")});
  const bool has_rooms = totals.front().rooms > 0;
  add_bounded_columns("half_above", "plans half " + above_text(asked), {}, table);
  add_bounded_columns("half_below", "half " + below_text(asked), {}, table);
  add_bounded_columns("rooms_above", has_rooms ? "rooms " + above_text(asked) : "", {}, table);
  add_bounded_columns("rooms_below", has_rooms ? below_text(asked) : "", {}, table);
  for (std::size_t setting = 0; setting < totals.size(); ++setting) {
    const SettingTotals& all = totals[setting];
    Table::Row& row = table.rows.emplace_back(Table::Row{setting == 0 ? "now" : "other"});
    row.insert(row.end(), asked.settings[setting].begin(), asked.settings[setting].end());
    row.insert(row.end(), {all.plans, all.mean.value, all.mean.bound, all.rooms});
    for (const BoundedCount& of :
         {all.half_above, all.half_below, all.rooms_above, all.rooms_below})
      add_bounded_cells(of.value, of.lower, of.upper, row);
  }
  return table;
}

/// Returns the index of the wall with the most temperatures.
std::size_t axis_of(const WhatIf& asked) {
  std::vector<std::size_t> temperatures;
  for (std::size_t wall = 0; wall < asked.walls.size(); ++wall) {
    std::set<double> different;
    for (std::size_t setting = 1; setting < asked.settings.size(); ++setting)
      different.insert(asked.settings[setting][wall]);
    temperatures.push_back(different.size());
  }
  const auto max = std::ranges::max_element(temperatures);
  return static_cast<std::size_t>(max - temperatures.begin());
}

/// Returns a figure of the means over the temperature of the wall with the most temperatures, with
/// a curve for each setting of the others.
Figure figure_of_means(const WhatIf& asked, const std::vector<SettingTotals>& totals,
                       const std::string& name) {
  const std::size_t axis = axis_of(asked);
  Figure figure{"means",
                name,
                {fmt::format("new temperature of the walls at {:.6g} °C, °C", asked.walls[axis])},
                {"mean temperature, °C"}};
  // Curves by the temperatures of the other walls.
  std::map<std::vector<double>, Figure::Series> curves;
  // With one setting, include the present temperatures, because a line needs two points.
  const std::size_t first = asked.settings.size() == 2 ? 0 : 1;
  for (std::size_t setting = first; setting < asked.settings.size(); ++setting) {
    std::vector<double> others = asked.settings[setting];
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));
    Figure::Series& curve = curves[others];
    curve.name = asked.walls.size() > 1 ? asked.setting_text(setting, axis) : "mean of means";
    curve.mark = Figure::Mark::points_and_line;
    curve.add(asked.settings[setting][axis], totals[setting].mean.value);
  }
  for (auto& [others, curve] : curves) figure.series.push_back(std::move(curve));
  return figure;
}

}  // namespace

BoundedStatistics bounded_statistics(std::span<const double> values, double bound,
                                     const Thresholds& thresholds) {
  if (values.empty()) return {};
  const auto& [statistics, uncertain] = summarize_cells(values, thresholds, bound);
  const auto count_of = [](std::int64_t cells) { return static_cast<std::uint32_t>(cells); };
  const auto count_if = [&](auto holds) { return count_of(std::ranges::count_if(values, holds)); };
  return {count_of(std::ssize(values)),
          {count_if([&](double value) { return value > thresholds.above; }),
           count_of(uncertain.min_above), count_of(uncertain.max_above)},
          {count_if([&](double value) { return value < thresholds.below; }),
           count_of(uncertain.min_below), count_of(uncertain.max_below)},
          statistics.mean_temp,
          statistics.std_temp,
          std::accumulate(values.begin(), values.end(), values.front(), nan_min),
          std::accumulate(values.begin(), values.end(), values.front(), nan_max),
          // The error of the deviation is at most that of the values, and its rounding is twice
          // that of the mean.
          bound + 2 * (bounded_mean(values, bound).bound - bound)};
}

std::string WhatIf::setting_text(std::size_t setting, std::size_t without) const {
  std::vector<std::string> texts;
  for (std::size_t wall = 0; wall < walls.size(); ++wall)
    if (wall != without)
      texts.push_back(
          fmt::format("walls of {:.6g} °C at {:.6g} °C", walls[wall], settings[setting][wall]));
  return fmt::format("{}", fmt::join(texts, ", "));
}

WhatIfPlan answer_of(const WhatIf& asked, const std::string& id, const FloorPlan& floor_plan,
                     const Superposition& plan) {
  WhatIfPlan answer{id};
  RoomCells rooms;
  if (asked.door) {
    answer.door_cells = asked.door->of({floor_plan.interior.rows, floor_plan.interior.cols});
    rooms = room_cells_of(floor_plan, answer.door_cells);
  }
  for (std::uint32_t room = 1; room <= rooms.size(); ++room)
    if (rooms[room - 1].size() >= asked.min_cells) answer.rooms.push_back(room);
  answer.small_rooms = rooms.size() - answer.rooms.size();
  std::erase_if(rooms, [&](const CellIndices& cells) { return cells.size() < asked.min_cells; });
  answer.all.reserve(asked.settings.size() * (rooms.size() + 1));
  for (const auto& setting : asked.settings) {
    const auto [cells, bound] = plan.at(setting);
    answer.all.push_back(bounded_statistics(cells, bound, asked.thresholds));
    for (const CellIndices& room_cells : rooms)
      answer.all.push_back(
          bounded_statistics(values_at(room_cells, cells), bound, asked.thresholds));
  }
  return answer;
}

Report make_report(const WhatIf& asked, std::vector<WhatIfPlan> plans) {
  const bool is_one = plans.size() == 1;
  std::erase_if(plans, [](const WhatIfPlan& plan) { return plan.all.empty(); });
  const auto answers = std::make_shared<const WhatIfPlans>(std::move(plans));
  std::vector<SettingTotals> totals;
  for (std::size_t setting = 0; setting < asked.settings.size(); ++setting)
    totals.push_back(totals_of(asked, *answers, setting));
  const auto [count, rooms] = std::pair(totals.front().plans, totals.front().rooms);
  Report report{is_one ? fmt::format("plan {} with other walls", answers->front().id)
                       : count_text(count, "plan") + " with other walls"};
  report.csv_table = "plans";
  report.add_json_fact("above", asked.thresholds.above);
  report.add_json_fact("below", asked.thresholds.below);
  if (is_one) {
    report.add_note(report.title);
  } else {
    report.add_text_fact("plans", count);
  }
  if (asked.door) {
    RoomCounts counts;
    for (const WhatIfPlan& plan : *answers) {
      counts.small += plan.small_rooms;
      for (std::size_t room = 1; room <= plan.rooms.size(); ++room)
        counts.add(plan.of(0, room).cells, asked.min_cells);
    }
    const auto door_cells = common_door_cells(*answers);
    report.add_text_fact("rooms", rooms,
                         counts.suffix(asked.min_cells) +
                             door_suffix(door_cells, *asked.door == Door(), asked.cell_metres));
    report.add_json_fact("door_cells", door_cells);
    report.add_json_fact("min_cells", asked.min_cells);
    report.add_json_fact("small_rooms", counts.small);
  }
  Table& of_all = report.add(table_of_settings(asked, totals));
  if (is_one) of_all.hide();
  Table& of_each = report.add(table_of_each_plan(asked, answers));
  if (!is_one) of_each.hide();
  if (rooms == 0) of_each.columns.at(2).hide();
  if (count > 0) report.add(figure_of_means(asked, totals, report.title));
  return report;
}

}  // namespace wallheat
