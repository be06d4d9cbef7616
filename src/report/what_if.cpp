#include "report/what_if.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <ostream>

#include "core/larger.hpp"
#include "core/python_float.hpp"
#include "forecast/listing_line.hpp"
#include "report/unknown.hpp"
#include "solve/superposition.hpp"
#include "view/json.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// How many of some plans or rooms something holds for: surely, as computed, perhaps.
struct Count {
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
  std::size_t plans = 0;  ///< with a temperature
  double mean = 0;        ///< of the plans' means
  double bound = 0;       ///< of it
  Count half_above;       ///< plans with at least half of their cells above the upper threshold
  Count half_below;
  std::size_t rooms = 0;
  Count rooms_above;  ///< rooms with a mean above the upper threshold
  Count rooms_below;
};

SettingTotals totals_of(const WhatIf& what_if, std::size_t setting) {
  SettingTotals totals;
  std::vector<double> means;
  constexpr double half = 50;
  for (const WhatIfPlan& plan : what_if.plans) {
    const Figures& figures = plan.figures.at(setting);
    if (figures.cells == 0) continue;
    means.push_back(figures.mean);
    totals.bound = larger(totals.bound, figures.bound);
    const auto& [above, below] = std::pair(figures.above, figures.below);
    totals.half_above.add(above.value >= half, above.least >= half, above.most >= half);
    totals.half_below.add(below.value >= half, below.least >= half, below.most >= half);
    if (plan.rooms.empty()) continue;
    const Thresholds& limits = what_if.thresholds;
    for (const Figures& room : plan.rooms[setting]) {
      ++totals.rooms;
      totals.rooms_above.add(room.mean > limits.above, room.mean - room.bound > limits.above,
                             room.mean + room.bound > limits.above);
      totals.rooms_below.add(room.mean < limits.below, room.mean + room.bound < limits.below,
                             room.mean - room.bound < limits.below);
    }
  }
  totals.plans = means.size();
  const BoundedValue mean = bounded_mean(means, totals.bound);
  totals.mean = means.empty() ? unknown : mean.value;
  totals.bound = mean.bound;
  return totals;
}

/// "1204", or "1203 to 1205" where not all is proven.
std::string count_text(const Count& count) {
  return count.least == count.most ? fmt::format("{}", count.value)
                                   : fmt::format("{} to {}", count.least, count.most);
}

std::string share_text_of(const Bounded& share) {
  return share.least == share.most ? fmt::format("{:.2f}", share.value)
                                   : fmt::format("{:.3f} to {:.3f}", share.least, share.most);
}

std::vector<std::string> setting_cells(const WhatIf& what_if, std::size_t setting) {
  std::vector<std::string> cells;
  for (const double temperature : what_if.settings[setting])
    cells.push_back(fmt::format("{:.6g}", temperature));
  cells.front() = (setting == 0 ? "now  " : "") + cells.front();
  return cells;
}

std::vector<std::string> wall_heads(const WhatIf& what_if) {
  std::vector<std::string> heads;
  for (const double wall : what_if.walls) heads.push_back(fmt::format("wall {:.6g} °C", wall));
  return heads;
}

void print_settings(const WhatIf& what_if) {
  const auto& [above, below] = what_if.thresholds;
  const bool one = what_if.plans.size() == 1;
  const bool rooms = !one && !what_if.plans.front().rooms.empty();
  std::vector<std::string> head = wall_heads(what_if);
  head.insert(head.end(), {one ? "mean °C" : "mean of means °C", "± °C"});
  if (one) {
    head.insert(head.end(), {"std °C", fmt::format("% above {:.6g} °C", above),
                             fmt::format("% below {:.6g} °C", below)});
  } else {
    head.insert(head.end(), {fmt::format("plans half above {:.6g} °C", above),
                             fmt::format("half below {:.6g} °C", below)});
  }
  if (rooms)
    head.insert(head.end(), {fmt::format("rooms above {:.6g} °C", above),
                             fmt::format("below {:.6g} °C", below)});
  std::vector<std::vector<std::string>> table{head};
  for (std::size_t setting = 0; setting < what_if.settings.size(); ++setting) {
    auto cells = setting_cells(what_if, setting);
    const SettingTotals all = totals_of(what_if, setting);
    const Figures& figures = what_if.plans.front().figures[setting];
    cells.push_back(fmt::format("{:.4f}", all.mean));
    cells.push_back(fmt::format("{:.1g}", all.bound));
    if (one) {
      cells.insert(cells.end(), {fmt::format("{:.4f}", figures.deviation),
                                 share_text_of(figures.above), share_text_of(figures.below)});
    } else {
      cells.insert(cells.end(), {count_text(all.half_above), count_text(all.half_below)});
    }
    if (rooms)
      cells.insert(cells.end(), {count_text(all.rooms_above), count_text(all.rooms_below)});
    table.push_back(std::move(cells));
  }
  print_table(std::string(head.size(), 'r'), table, 0);
}

double area_of_cells(const WhatIf& what_if, std::size_t cells) {
  return static_cast<double>(cells) * what_if.cell_metres * what_if.cell_metres;
}

/// The rooms of the only plan, now and with the last setting.
void print_rooms_of(const WhatIf& what_if) {
  const WhatIfPlan& plan = what_if.plans.front();
  const auto& [above, below] = what_if.thresholds;
  const std::vector<Figures>& now = plan.rooms.front();
  const std::vector<Figures>& then = plan.rooms.back();
  fmt::print("\nits rooms, now and with the {} setting\n",
             what_if.settings.size() > 2 ? "last" : "other");
  std::vector<std::vector<std::string>> table{
      {"room", "cells", "mean °C now", "then", "± °C", "lowest", "highest",
       fmt::format("% above {:.6g} °C", above), fmt::format("% below {:.6g} °C", below)}};
  if (what_if.cell_metres > 0) table.front().insert(table.front().begin() + 2, "m²");
  for (std::size_t room = 0; room < then.size(); ++room) {
    const Figures& figures = then[room];
    table.push_back({fmt::format("{}", room + 1), fmt::format("{}", figures.cells),
                     fmt::format("{:.3f}", now[room].mean), fmt::format("{:.3f}", figures.mean),
                     fmt::format("{:.1g}", figures.bound), fmt::format("{:.2f}", figures.lowest),
                     fmt::format("{:.2f}", figures.highest), share_text_of(figures.above),
                     share_text_of(figures.below)});
    if (what_if.cell_metres > 0)
      table.back().insert(table.back().begin() + 2,
                          fmt::format("{:.1f}", area_of_cells(what_if, figures.cells)));
  }
  print_table(what_if.cell_metres > 0 ? "rrrrrrrrrr" : "rrrrrrrrr", table, table_margin);
}

Json json_of_share(const Bounded& share) {
  return {{"value", share.value}, {"least", share.least}, {"most", share.most}};
}

Json json_of_count(const Count& count) {
  return {{"value", count.value}, {"least", count.least}, {"most", count.most}};
}

Json json_of_figures(const WhatIf& what_if, const Figures& figures) {
  Json json{{"cells", figures.cells},
            {"mean_temp", figures.mean},
            {"std_temp", figures.deviation},
            {"min_temp", figures.lowest},
            {"max_temp", figures.highest},
            {"error_bound", figures.bound},
            {"pct_above", json_of_share(figures.above)},
            {"pct_below", json_of_share(figures.below)}};
  if (what_if.cell_metres > 0) json["area_m2"] = area_of_cells(what_if, figures.cells);
  return json;
}

Json json_of_plan(const WhatIf& what_if, const WhatIfPlan& plan) {
  const bool with_rooms = what_if.plans.size() == 1 && !plan.rooms.empty();
  Json json{{"id", plan.id}, {"settings", Json::array()}};
  for (std::size_t setting = 0; setting < plan.figures.size(); ++setting) {
    Json one = json_of_figures(what_if, plan.figures[setting]);
    if (with_rooms) {
      one["rooms"] = Json::array();
      for (const Figures& room : plan.rooms[setting]) {
        one["rooms"].push_back(json_of_figures(what_if, room));
        one["rooms"].back()["room"] = one["rooms"].size();
      }
    }
    json["settings"].push_back(std::move(one));
  }
  return json;
}

/// The settings of one curve: places in WhatIf::settings, and what the other walls are.
struct Curve {
  std::vector<std::size_t> settings;
  std::string name;
};

/// The wall with the most temperatures, and its curves.
std::pair<std::size_t, std::vector<Curve>> curves_of(const WhatIf& what_if) {
  std::size_t axis = 0;
  std::size_t most = 0;
  for (std::size_t wall = 0; wall < what_if.walls.size(); ++wall) {
    std::vector<double> different;
    for (std::size_t setting = 1; setting < what_if.settings.size(); ++setting)
      different.push_back(what_if.settings[setting][wall]);
    std::sort(different.begin(), different.end());
    different.erase(std::unique(different.begin(), different.end()), different.end());
    if (different.size() > most) axis = wall;
    most = std::max(most, different.size());
  }
  std::map<std::vector<double>, Curve> curves;
  for (std::size_t setting = 1; setting < what_if.settings.size(); ++setting) {
    std::vector<double> others = what_if.settings[setting];
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));
    Curve& curve = curves[others];
    curve.settings.push_back(setting);
    std::vector<std::string> names;
    for (std::size_t wall = 0, other = 0; wall < what_if.walls.size(); ++wall)
      if (wall != axis)
        names.push_back(
            fmt::format("walls of {:.6g} °C at {:.6g} °C", what_if.walls[wall], others[other++]));
    curve.name = fmt::format("{}", fmt::join(names, ", "));
  }
  std::pair<std::size_t, std::vector<Curve>> result{axis, {}};
  for (auto& [others, curve] : curves) result.second.push_back(std::move(curve));
  return result;
}

/// Adds the shares of a single curve, on the right axis.
std::string share_curves(Plot& plot, const WhatIf& what_if, std::size_t axis, const Curve& curve) {
  const bool one = what_if.plans.size() == 1;
  std::vector<std::vector<double>> shares;
  for (const std::size_t setting : curve.settings) {
    const SettingTotals all = totals_of(what_if, setting);
    const auto percent = [&](const Count& count) {
      return 100 * static_cast<double>(count.value) / static_cast<double>(all.plans);
    };
    const Figures& figures = what_if.plans.front().figures[setting];
    shares.push_back({what_if.settings[setting][axis],
                      one ? figures.above.value : percent(all.half_above),
                      one ? figures.below.value : percent(all.half_below)});
  }
  plot.add("set y2label '{}, %'",
           one ? "share of the area" : "plans with half of their area or more");
  plot.add("set y2range [0:100]");
  plot.add("set y2tics 0,20,100");
  plot.add("set border 11 linecolor rgb '#686e7a'");
  const std::string data = plot.add_data(shares);
  return fmt::format(
      ", {0} using 1:2 axes x1y2 with linespoints linetype 2 dashtype 2 title {1}, {0} using 1:3 "
      "axes x1y2 with linespoints linetype 3 dashtype 2 title {2}",
      data, Plot::quoted(fmt::format("above {:.6g} °C (right)", what_if.thresholds.above)),
      Plot::quoted(fmt::format("below {:.6g} °C (right)", what_if.thresholds.below)));
}

/// A thin curve for each room of the only plan.
std::string room_curves(Plot& plot, const WhatIf& what_if, std::size_t axis, const Curve& curve) {
  std::string more;
  const auto& rooms = what_if.plans.front().rooms;
  for (std::size_t room = 0; room < rooms.front().size(); ++room) {
    std::vector<std::vector<double>> means;
    for (const std::size_t setting : curve.settings)
      means.push_back({what_if.settings[setting][axis], rooms[setting][room].mean});
    more += fmt::format(", {} with lines linetype 4 linewidth 0.7{}", plot.add_data(means),
                        room == 0 ? " title 'its rooms'" : "");
  }
  return more;
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

void print_what_if(const WhatIf& what_if) {
  if (what_if.plans.empty()) return;
  const bool one = what_if.plans.size() == 1;
  const SettingTotals now = totals_of(what_if, 0);
  if (one) {
    print_line(fmt::format("plan {}, {} interior cells", what_if.plans.front().id,
                           what_if.plans.front().figures.front().cells),
               table_margin);
  } else {
    fmt::print("{} plans{}\n", now.plans,
               now.rooms > 0 ? fmt::format(", {} rooms", now.rooms) : "");
  }
  print_settings(what_if);
  if (one && !what_if.plans.front().rooms.empty()) print_rooms_of(what_if);
}

Json to_json(const WhatIf& what_if) {
  Json json{{"walls", what_if.walls},
            {"above", what_if.thresholds.above},
            {"below", what_if.thresholds.below},
            {"settings", Json::array()},
            {"plans", Json::array()}};
  for (std::size_t setting = 0; setting < what_if.settings.size(); ++setting) {
    const SettingTotals all = totals_of(what_if, setting);
    Json one{{"temperatures", what_if.settings[setting]},
             {"now", setting == 0},
             {"plans", all.plans},
             {"mean_of_means", all.mean},
             {"error_bound", all.bound},
             {"half_above", json_of_count(all.half_above)},
             {"half_below", json_of_count(all.half_below)}};
    if (all.rooms > 0) {
      one["rooms"] = all.rooms;
      one["rooms_above"] = json_of_count(all.rooms_above);
      one["rooms_below"] = json_of_count(all.rooms_below);
    }
    json["settings"].push_back(std::move(one));
  }
  for (const WhatIfPlan& plan : what_if.plans) json["plans"].push_back(json_of_plan(what_if, plan));
  return json;
}

void write_csv(std::ostream& out, const WhatIf& what_if) {
  out << "id,room";
  for (const double wall : what_if.walls) out << fmt::format(",wall_{}", wall);
  out << ",cells,mean_temp,std_temp,min_temp,max_temp,error_bound,pct_above,pct_above_least,"
         "pct_above_most,pct_below,pct_below_least,pct_below_most"
      << (what_if.cell_metres > 0 ? ",area_m2\n" : "\n");
  const auto number = [&](double value) {
    out << ',' << (std::isfinite(value) ? python_float(value) : "");
  };
  const auto line = [&](const WhatIfPlan& plan, std::size_t setting, const std::string& room,
                        const Figures& figures) {
    out << csv_cell(plan.id) << ',' << room;
    for (const double temperature : what_if.settings[setting]) number(temperature);
    out << ',' << figures.cells;
    for (const double value :
         {figures.mean, figures.deviation, figures.lowest, figures.highest, figures.bound,
          figures.above.value, figures.above.least, figures.above.most, figures.below.value,
          figures.below.least, figures.below.most})
      number(value);
    if (what_if.cell_metres > 0) number(area_of_cells(what_if, figures.cells));
    out << '\n';
  };
  for (const WhatIfPlan& plan : what_if.plans) {
    for (std::size_t setting = 0; setting < what_if.settings.size(); ++setting) {
      line(plan, setting, "", plan.figures[setting]);
      if (plan.rooms.empty()) continue;
      for (std::size_t room = 0; room < plan.rooms[setting].size(); ++room)
        line(plan, setting, std::to_string(room + 1), plan.rooms[setting][room]);
    }
  }
}

Plot what_if_plot(const WhatIf& what_if) {
  const bool one = what_if.plans.size() == 1;
  if (totals_of(what_if, 0).plans == 0)
    throw RunError("there is no plan with a temperature to draw");
  const auto [axis, curves] = curves_of(what_if);
  Plot plot;
  plot.set_heading(one ? fmt::format("plan {} with other walls", what_if.plans.front().id)
                       : fmt::format("{} plans with other walls", totals_of(what_if, 0).plans));
  plot.add("set title heading");
  plot.add("set xlabel 'temperature of walls that are at {:.6g} °C, °C'", what_if.walls[axis]);
  plot.add("set ylabel 'mean temperature, °C'");
  plot.add("set key outside below center horizontal");
  plot.add("set bmargin 6");
  std::string lines = "plot ";
  for (const Curve& curve : curves) {
    std::vector<std::vector<double>> means;
    for (const std::size_t setting : curve.settings)
      means.push_back({what_if.settings[setting][axis], totals_of(what_if, setting).mean});
    lines += fmt::format(
        "{}{} with linespoints linetype {} title {}", &curve == &curves.front() ? "" : ", ",
        plot.add_data(means), &curve - &curves.front() + 1,
        Plot::quoted(curves.size() == 1 ? (one ? "mean" : "mean of means") : curve.name));
  }
  if (curves.size() == 1)
    lines += one && !what_if.plans.front().rooms.empty()
                 ? room_curves(plot, what_if, axis, curves.front())
                 : share_curves(plot, what_if, axis, curves.front());
  plot.add(lines);
  return plot;
}

}  // namespace wallheat
