#include "report/what_if.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "core/larger.hpp"

namespace wallheat {
namespace {

const Style four_decimals{Form::decimals, 4, "°C"};
const Style uncertainty{Form::digits, 1, "°C"};
const Style share_style{Form::decimals, 2};

/// How many of some plans or rooms something holds for: as computed, surely, perhaps.
struct BoundedCount {
  std::size_t value = 0;
  std::size_t least = 0;
  std::size_t most = 0;

  void add(bool holds, bool surely, bool perhaps) {
    value += holds ? 1U : 0U;
    least += surely ? 1U : 0U;
    most += perhaps ? 1U : 0U;
  }
};

/// All plans with one setting.
struct SettingTotals {
  std::size_t plans = 0;  ///< with a cell
  BoundedValue mean{unknown, unknown};
  BoundedCount half_above;  ///< plans with at least half of their cells above the threshold
  BoundedCount half_below;
  std::size_t rooms = 0;
  BoundedCount rooms_above;  ///< rooms with a mean above the threshold
  BoundedCount rooms_below;
};

/// What the report is made from.
struct WhatIfAnswer {
  const WhatIf& asked;
  std::vector<SettingTotals> totals;  ///< by setting
  const WhatIfPlan* only = nullptr;   ///< if one plan was asked for alone

  [[nodiscard]] std::string above() const {
    return fmt::format("above {:.6g} °C", asked.thresholds.above);
  }
  [[nodiscard]] std::string below() const {
    return fmt::format("below {:.6g} °C", asked.thresholds.below);
  }
};

/// How much of the cells is on one side of a threshold, in %: as computed, surely, perhaps.
struct CellShare {
  double value = 0;
  double least = 0;
  double most = 0;
};

CellShare share_of(const Figures& of, bool is_above) {
  const auto& [statistics, doubt] = of.summary;
  const auto percent = [&](std::int64_t cells) {
    return static_cast<double>(cells) / static_cast<double>(of.cells) * 100;
  };
  if (is_above)
    return {statistics.pct_above_18, percent(doubt.above_least), percent(doubt.above_most)};
  return {statistics.pct_below_15, percent(doubt.below_least), percent(doubt.below_most)};
}

void count_plan(const Figures& of, SettingTotals& totals) {
  constexpr double half = 50;
  for (const bool is_above : {true, false}) {
    const auto [value, least, most] = share_of(of, is_above);
    (is_above ? totals.half_above : totals.half_below)
        .add(value >= half, least >= half, most >= half);
  }
}

void count_room(const Figures& of, const Thresholds& thresholds, SettingTotals& totals) {
  const auto [above, below] = thresholds;
  const double mean = of.summary.statistics.mean_temp;
  ++totals.rooms;
  totals.rooms_above.add(mean > above, mean - of.bound > above, mean + of.bound > above);
  totals.rooms_below.add(mean < below, mean + of.bound < below, mean - of.bound < below);
}

std::vector<SettingTotals> totals_of(const WhatIf& asked, const WhatIfPlans& plans) {
  const std::size_t settings = asked.settings.size();
  std::vector<SettingTotals> totals(settings);
  std::vector<std::vector<double>> means(settings);
  std::vector<double> bounds(settings);
  plans.for_each([&](const WhatIfPlan& plan) {
    for (std::size_t setting = 0; setting < settings; ++setting) {
      const Figures& of = plan.of(setting);
      if (of.cells == 0) continue;
      means[setting].push_back(of.summary.statistics.mean_temp);
      bounds[setting] = larger(bounds[setting], of.bound);
      count_plan(of, totals[setting]);
      for (std::size_t room = 1; room <= plan.rooms; ++room)
        count_room(plan.of(setting, room), asked.thresholds, totals[setting]);
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
Value shown(const BoundedCount& count) {
  if (count.least == count.most) return count.value;
  return fmt::format("{} to {}", count.least, count.most);
}

Value shown(const CellShare& share) {
  if (!(share.least < share.most)) return share.value;
  return fmt::format("{:.3f} to {:.3f}", share.least, share.most);
}

void add_wall_columns(const WhatIf& asked, bool is_for_people, Table& table) {
  for (const double wall : asked.walls)
    table.columns.push_back(
        {fmt::format("wall_{}", wall), is_for_people ? fmt::format("wall {:.6g} °C", wall) : ""});
}

Value area_of_cells(const WhatIf& asked, const Figures& of) {
  if (asked.cell_metres == 0) return {};
  return static_cast<double>(of.cells) * asked.cell_metres * asked.cell_metres;
}

/// For scripts: a row for each plan and setting, and one for each room.
Table table_of_each_plan(const WhatIf& asked, std::shared_ptr<const WhatIfPlans> plans) {
  Table table{"plans", "", {{"id", ""}, {"room", ""}}};
  add_wall_columns(asked, false, table);
  for (const char* key :
       {"cells", "mean_temp", "std_temp", "min_temp", "max_temp", "error_bound", "pct_above",
        "pct_above_least", "pct_above_most", "pct_below", "pct_below_least", "pct_below_most"})
    table.columns.push_back({key, ""});
  if (asked.cell_metres > 0) table.columns.push_back({"area_m2", ""});
  table.source = [asked, plans = std::move(plans)](const auto& take) {
    plans->for_each([&](const WhatIfPlan& plan) {
      for (std::size_t setting = 0; setting < asked.settings.size(); ++setting)
        for (std::size_t room = 0; room <= plan.rooms; ++room) {
          const Figures& of = plan.of(setting, room);
          const Statistics& statistics = of.summary.statistics;
          Table::Row row{plan.id, room > 0 ? Value(room) : Value()};
          row.insert(row.end(), asked.settings[setting].begin(), asked.settings[setting].end());
          row.insert(row.end(), {of.cells, statistics.mean_temp, statistics.std_temp, of.lowest,
                                 of.highest, of.bound});
          for (const bool is_above : {true, false}) {
            const auto [value, least, most] = share_of(of, is_above);
            row.insert(row.end(), {value, least, most});
          }
          if (asked.cell_metres > 0) row.push_back(area_of_cells(asked, of));
          take(row);
        }
    });
  };
  return table;
}

/// A row for each setting. People see what all plans are, or what the only one is.
Table table_of_settings(const WhatIfAnswer& answer) {
  const auto& [asked, totals, only] = answer;
  const bool is_one = only != nullptr;
  const bool with_rooms = !is_one && totals.front().rooms > 0;
  Table table{"settings", "", {{"setting", "setting"}}};
  const auto add_column = [&](const char* key, const std::string& name, const Style& style = {}) {
    table.columns.push_back({key, name, style});
  };
  /// One that people see, and three that scripts read.
  const auto add_count_columns = [&](const std::string& key, const std::string& name,
                                     bool is_seen) {
    table.columns.push_back({key + "_text", is_seen ? name : ""});
    for (const char* end : {"", "_least", "_most"}) table.columns.push_back({key + end, ""});
  };
  add_wall_columns(asked, true, table);
  add_column("plans", "");
  add_column("mean_of_means", is_one ? "mean" : "mean of means", four_decimals);
  add_column("error_bound", "±", uncertainty);
  if (is_one) {
    add_column("std_temp", "std", four_decimals);
    add_column("pct_above", "% " + answer.above(), share_style);
    add_column("pct_below", "% " + answer.below(), share_style);
  }
  add_count_columns("half_above", "plans half " + answer.above(), !is_one);
  add_count_columns("half_below", "half " + answer.below(), !is_one);
  add_column("rooms", "");
  add_count_columns("rooms_above", "rooms " + answer.above(), with_rooms);
  add_count_columns("rooms_below", answer.below(), with_rooms);
  for (std::size_t setting = 0; setting < totals.size(); ++setting) {
    const SettingTotals& all = totals[setting];
    Table::Row& row = table.rows.emplace_back(Table::Row{setting == 0 ? "now" : "other"});
    const auto add_count = [&](const BoundedCount& count) {
      row.insert(row.end(), {shown(count), count.value, count.least, count.most});
    };
    row.insert(row.end(), asked.settings[setting].begin(), asked.settings[setting].end());
    row.insert(row.end(), {all.plans, all.mean.value, all.mean.bound});
    if (is_one) {
      const Figures& of = only->of(setting);
      row.insert(row.end(), {of.summary.statistics.std_temp, shown(share_of(of, true)),
                             shown(share_of(of, false))});
    }
    add_count(all.half_above);
    add_count(all.half_below);
    row.emplace_back(all.rooms);
    add_count(all.rooms_above);
    add_count(all.rooms_below);
  }
  return table;
}

/// For people: the only plan's rooms, now and with the last setting.
Table table_of_changed_rooms(const WhatIfAnswer& answer) {
  const auto& [asked, totals, plan] = answer;
  const Style mean{Form::decimals, 3, "°C"};
  const Style extreme{Form::decimals, 2, "°C"};
  const std::size_t last = totals.size() - 1;
  Table table{"rooms",
              fmt::format("its rooms, now and with the {} setting", last > 1 ? "last" : "other"),
              {{"room", "room"},
               {"cells", "cells"},
               {"area_m2", asked.cell_metres > 0 ? "area" : "", {Form::decimals, 1, "m²"}},
               {"mean_now", "mean now", mean},
               {"mean_then", "then", mean},
               {"error_bound", "±", uncertainty},
               {"min_temp", "lowest", extreme},
               {"max_temp", "highest", extreme},
               {"pct_above", "% " + answer.above(), share_style},
               {"pct_below", "% " + answer.below(), share_style}}};
  for (std::size_t room = 1; room <= plan->rooms; ++room) {
    const Figures& then = plan->of(last, room);
    table.rows.push_back({room, then.cells, area_of_cells(asked, then),
                          plan->of(0, room).summary.statistics.mean_temp,
                          then.summary.statistics.mean_temp, then.bound, then.lowest, then.highest,
                          shown(share_of(then, true)), shown(share_of(then, false))});
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
/// there is one curve, also the means of the only plan's rooms; and the shares above and below the
/// thresholds, of the only plan's area or of all plans.
void add_curves(const WhatIfAnswer& answer, Report& report) {
  const WhatIf& asked = answer.asked;
  const std::vector<SettingTotals>& totals = answer.totals;
  const WhatIfPlan* const only = answer.only;
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
  const char* const name = only != nullptr ? "share of the area" : "plans with half of their area";
  Figure means{"means", report.title, x, {"mean temperature, °C"}};
  Figure shares{"shares", name, x, {fmt::format("{}, %", name), Figure::Scale::linear, {}, 0, 100}};
  const auto add = [&](Figure& figure, const std::string& of, Figure::Mark mark,
                       const std::vector<std::size_t>& settings, const auto& value_with) {
    Figure::Series& series = figure.series.emplace_back(Figure::Series{of, mark});
    for (const std::size_t setting : settings) {
      series.x.push_back(asked.settings[setting][axis]);
      series.y.push_back(value_with(setting));
    }
  };
  for (const auto& [others, settings] : curves)
    add(means,
        curves.size() > 1 ? asked.text_of(settings.front(), axis)
        : only != nullptr ? "mean"
                          : "mean of means",
        Figure::Mark::points_and_line, settings,
        [&](std::size_t setting) { return totals[setting].mean.value; });
  if (curves.size() == 1) {
    const std::vector<std::size_t>& settings = curves.begin()->second;
    for (std::size_t room = 1; only != nullptr && room <= only->rooms; ++room)
      add(means, room == 1 ? "its rooms" : "", Figure::Mark::line, settings,
          [&](std::size_t setting) {
            return only->of(setting, room).summary.statistics.mean_temp;
          });
    const auto share = [&](std::size_t setting, bool is_above) {
      if (only != nullptr) return share_of(only->of(setting), is_above).value;
      const SettingTotals& all = totals[setting];
      const BoundedCount& half = is_above ? all.half_above : all.half_below;
      return 100 * static_cast<double>(half.value) / static_cast<double>(all.plans);
    };
    for (const bool is_above : {true, false})
      add(shares, is_above ? answer.above() : answer.below(), Figure::Mark::points_and_line,
          settings, [&](std::size_t setting) { return share(setting, is_above); });
  }
  report.add(std::move(means));
  if (!shares.series.empty()) report.add(std::move(shares));
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
  Figures figures{values.size(), summary_of(values, thresholds, bound)};
  if (values.empty()) return figures;
  figures.lowest = std::accumulate(values.begin(), values.end(), values.front(), smaller);
  figures.highest = std::accumulate(values.begin(), values.end(), values.front(), larger);
  // The deviation is no farther off than the values, and rounds as the mean does, twice.
  figures.bound = bound + 2 * (bounded_mean(values, bound).bound - bound);
  return figures;
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
  WhatIfPlan only;
  WhatIfAnswer answer{asked, totals_of(asked, *plans)};
  if (is_one) {
    plans->for_each([&](const WhatIfPlan& plan) { only = plan; });
    answer.only = &only;
  }
  const auto [count, rooms] = std::pair(answer.totals.front().plans, answer.totals.front().rooms);
  Report report{is_one ? fmt::format("plan {} with other walls", only.id)
                       : fmt::format("{} plans with other walls", count)};
  report.csv_table = "plans";
  report.add(Fact{"above", "", asked.thresholds.above});
  report.add(Fact{"below", "", asked.thresholds.below});
  if (is_one) {
    report.add(Fact{"", "plan", only.id});
    report.add(Fact{"", "interior cells", only.of(0).cells});
  } else {
    report.add(Fact{"", "plans", count});
    report.add(Fact{"", rooms > 0 ? "rooms" : "", rooms});
  }
  report.add(table_of_settings(answer));
  if (only.rooms > 0) report.add(table_of_changed_rooms(answer));
  report.add(table_of_each_plan(asked, std::move(plans)));
  if (count > 0) add_curves(answer, report);
  return report;
}

}  // namespace wallheat
