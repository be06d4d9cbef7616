#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "report/histogram.hpp"
#include "report/unknown.hpp"
#include "report/wall_need.hpp"

namespace wallheat {
namespace {

Style degrees(int decimals) { return {Form::decimals, decimals, "°C"}; }

const char* rooms_word(const NeedQuestion& question) {
  return question.whole_plans ? "plans" : "rooms";
}

std::string goal_text(const NeedQuestion& question) {
  const char* one = question.whole_plans ? "a plan" : "a room";
  if (question.area_share > 0)
    return fmt::format("{:.6g} % of {}'s area above {:.6g} °C", 100 * question.area_share, one,
                       question.target);
  return fmt::format("a mean of at least {:.6g} °C in {}", question.target, one);
}

double uncertainty_of(const NeededTemperature& needed) {
  return std::max(needed.most - needed.value, needed.value - needed.least);
}

/// "the wall must be at 63.06 °C for 95 % of the rooms", or why there is no such wall.
std::string answer_text(const NeededTemperature& needed, const NeedQuestion& question) {
  const std::string whom =
      fmt::format("for {:.6g} % of the {}", 100 * question.room_share, rooms_word(question));
  switch (verdict_on(needed, question.limit)) {
    case NeedVerdict::always:
      return fmt::format("the wall may be at any temperature {}", whom);
    case NeedVerdict::never:
      return fmt::format("no temperature of the wall is enough {}", whom);
    case NeedVerdict::above_limit: {
      constexpr double far = 10;  // the walls hardly warm those rooms
      const bool is_far = needed.value > far * std::max(100.0, std::abs(question.limit));
      return fmt::format(
          "a wall of {:.6g} °C is not enough {}{}", question.limit, whom,
          is_far ? ", by far" : fmt::format(": it would have to be at {:.2f} °C", needed.value));
    }
    case NeedVerdict::reachable:
      break;
  }
  return fmt::format("the wall must be at {:.2f} °C {}", needed.value, whom);
}

double area_of(const RoomNeed& room, const NeedQuestion& question) {
  return static_cast<double>(room.cells) * question.cell_metres * question.cell_metres;
}

/// Nothing if no temperature suffices, or any does.
Value known(double temperature) {
  return std::isfinite(temperature) ? Value(temperature) : Value();
}

Value area_value(const RoomNeed& room, const NeedQuestion& question) {
  return question.cell_metres > 0 ? Value(area_of(room, question)) : Value();
}

/// Rooms of all plans, one after the other.
template <class Take>
void for_each_room(const WallNeed& need, const Take& take) {
  for (const PlanNeed& plan : need.plans)
    for (const RoomNeed& room : plan.rooms) take(plan, room);
}

struct RoomOfPlan {
  const PlanNeed* plan;
  const RoomNeed* room;
};

/// All rooms, those that need the most first; of many plans those first that reach their goal
/// within the limit, of which people see a few.
Table table_of_room_needs(const std::shared_ptr<const WallNeed>& need) {
  const NeedQuestion& question = need->question;
  const bool is_one = need->plans.size() == 1;
  const bool is_area = question.area_share > 0;
  const bool has_area = question.cell_metres > 0;
  Table table{"each_room",
              is_one
                  ? "its rooms, by what they need"
                  : fmt::format("the {} that need most, those within the limit of {:.6g} °C first",
                                rooms_word(question), question.limit),
              {{"id", is_one ? "" : "plan"},
               {"room", "room"},
               {"cells", "cells"},
               {has_area ? "area_m2" : "", has_area ? "area" : "", {Form::decimals, 1, "m²"}},
               {is_area ? "pct_above_now" : "mean_now",
                is_area ? "above now" : "mean now",
                {Form::decimals, 3, is_area ? "%" : "°C"}},
               {is_area ? "" : "per_degree", is_area ? "" : "°C per °C", {Form::decimals, 4}},
               {"needed", "needs", degrees(3)},
               {"uncertainty", "±", {Form::digits, 1, "°C"}},
               {"least", ""},
               {"most", ""},
               {"verdict", ""}}};
  const auto verdict_of = [limit = question.limit](const RoomOfPlan& of) {
    return verdict_on(of.room->needed, limit);
  };
  const auto is_reachable = [&](const RoomOfPlan& of) {
    return verdict_of(of) == NeedVerdict::reachable;
  };
  std::vector<RoomOfPlan> rooms;
  for_each_room(*need, [&](const PlanNeed& plan, const RoomNeed& room) {
    rooms.push_back({&plan, &room});
  });
  std::ranges::stable_sort(rooms, [](const auto& a, const auto& b) {
    return a.room->needed.value > b.room->needed.value;
  });
  if (!is_one) {
    const auto others = std::ranges::stable_partition(rooms, is_reachable);
    constexpr std::size_t most_rooms = 10;
    table.most_shown = std::min(most_rooms, rooms.size() - others.size());
  }
  if (is_one && !std::ranges::all_of(rooms, is_reachable)) table.columns.back().name = "verdict";
  if (table.most_shown == 0 || (is_one && question.whole_plans))
    for (Table::Column& column : table.columns) column.name.clear();
  table.source = [need, rooms = std::move(rooms), verdict_of](const auto& take) {
    for (const RoomOfPlan& of : rooms) {
      const auto& [value, least, most] = of.room->needed;
      const bool is_number = std::isfinite(value);
      take({of.plan->id, of.room->room, of.room->cells, area_value(*of.room, need->question),
            of.room->now, of.room->per_degree, known(value),
            is_number ? Value(uncertainty_of(of.room->needed)) : Value(), known(least), known(most),
            to_string(verdict_of(of))});
    }
  };
  return table;
}

/// What rooms need that reach their goal within the limit.
std::vector<double> reachable_needs(const WallNeed& need) {
  std::vector<double> values;
  for_each_room(need, [&](const PlanNeed&, const RoomNeed& room) {
    if (verdict_on(room.needed, need.question.limit) == NeedVerdict::reachable)
      values.push_back(room.needed.value);
  });
  return values;
}

double percent_of(std::size_t part, std::size_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

/// What is needed, as the last cells of a row of these columns.
const std::array<Table::Column, 4> needed_columns{
    {{"verdict", ""}, {"temperature", ""}, {"least", ""}, {"most", ""}}};

void add_needed(Table::Row& row, const NeededTemperature& needed, double limit) {
  row.insert(row.end(), {to_string(verdict_on(needed, limit)), known(needed.value),
                         known(needed.least), known(needed.most)});
}

/// Shares that are told beside the one that is asked for; people read them in a line.
void add_other_shares(const WallNeed& need, Report& report) {
  Table table{"other_shares", "", {{"share", ""}}};
  table.columns.insert(table.columns.end(), needed_columns.begin(), needed_columns.end());
  std::string text;
  if (need.rooms() > 0)
    for (const double share : {0.5, 0.75, 0.9, 1.0}) {
      const NeededTemperature needed = need.for_share(share);
      add_needed(table.rows.emplace_back(Table::Row{share}), needed, need.question.limit);
      const NeedVerdict verdict = verdict_on(needed, need.question.limit);
      text += fmt::format("{}{:.6g} %: {}", text.empty() ? "" : ", ", 100 * share,
                          verdict == NeedVerdict::reachable ? fmt::format("{:.2f} °C", needed.value)
                                                            : to_string(verdict));
    }
  report.add(std::move(table));
  constexpr std::size_t few = 8;
  if (need.rooms() >= few) report.add(Fact{"", "other shares", text});
}

/// How many rooms have each verdict; and for people why some cannot reach the goal.
void add_verdicts(const WallNeed& need, Report& report) {
  std::size_t above = 0;
  std::size_t never = 0;
  for (const auto& [key, verdict] : {std::pair("always", NeedVerdict::always),
                                     {"reachable", NeedVerdict::reachable},
                                     {"above_limit", NeedVerdict::above_limit},
                                     {"never", NeedVerdict::never}}) {
    std::size_t count = 0;
    for_each_room(need, [&, verdict = verdict](const PlanNeed&, const RoomNeed& room) {
      count += verdict_on(room.needed, need.question.limit) == verdict ? 1U : 0U;
    });
    report.add(Fact{key, "", count});
    if (verdict == NeedVerdict::above_limit) above = count;
    if (verdict == NeedVerdict::never) never = count;
  }
  if (above + never == 0) return;
  std::string why;
  if (above > 0) why = fmt::format("{} would need more than {:.6g} °C", above, need.question.limit);
  if (never > 0)
    why +=
        fmt::format("{}for {} no temperature of this wall is enough", above > 0 ? ", " : "", never);
  report.add(
      Fact{"", "out of reach",
           fmt::format("{} of {} {} ({:.1f} %): {}", above + never, need.rooms(),
                       rooms_word(need.question), percent_of(above + never, need.rooms()), why)});
}

/// The question, and the answer for all plans.
void add_answer(const WallNeed& need, Report& report) {
  const NeedQuestion& question = need.question;
  const std::size_t rooms = need.rooms();
  const auto with_wall = std::ranges::count(need.plans, true, &PlanNeed::has_wall);
  if (need.plans.size() == 1)
    report.add(Fact{"", "plan", need.plans.front().id});
  else
    report.add(
        Fact{"",
             "plans",
             need.plans.size(),
             {},
             fmt::format(", {} of them with a wall at {:.6g} °C", with_wall, question.wall)});
  report.add(Fact{"rooms", question.whole_plans ? "" : "rooms", rooms});
  report.add(Fact{"wall", "", question.wall});
  report.add(Fact{"goal", "", question.area_share > 0 ? "area" : "mean"});
  report.add(Fact{"", "goal", goal_text(question)});
  report.add(Fact{"target", "", question.target});
  report.add(
      Fact{"area_share", "", question.area_share > 0 ? Value(question.area_share) : Value()});
  report.add(Fact{"share", "", question.room_share});
  report.add(Fact{"limit", "", question.limit});
  report.add(Fact{"whole_plans", "", question.whole_plans});
  report.add(Fact{"min_cells", "", question.min_cells});
  std::size_t reached = 0;
  for_each_room(need, [&](const PlanNeed&, const RoomNeed& room) {
    reached += room.needed.value <= question.wall ? 1U : 0U;
  });
  report.add(Fact{"reached_now",
                  rooms > 0 ? fmt::format("wall at {:.6g} °C", question.wall) : "",
                  reached,
                  {.unit = fmt::format("of {} {} reach it", rooms, rooms_word(question))},
                  Report::share(static_cast<double>(reached), static_cast<double>(rooms))});
  const bool any = rooms > 0;
  const auto needed = any ? need.for_share(question.room_share) : NeededTemperature();
  report.add(Fact{"", any ? "answer" : "", any ? answer_text(needed, question) : ""});
  report.add(
      Fact{"verdict", "", any ? Value(to_string(verdict_on(needed, question.limit))) : Value()});
  report.add(Fact{"needed", "", any ? known(needed.value) : Value()});
  report.add(Fact{"needed_least", "", any ? known(needed.least) : Value()});
  report.add(Fact{"needed_most", "", any ? known(needed.most) : Value()});
}

/// For scripts.
Table table_of_plan_needs(const WallNeed& need) {
  Table table{"plans", "", {{"id", ""}, {"has_wall", ""}, {"error_bound", ""}, {"rooms", ""}}};
  table.columns.insert(table.columns.end(), needed_columns.begin(), needed_columns.end());
  for (const PlanNeed& plan : need.plans) {
    Table::Row& row =
        table.rows.emplace_back(Table::Row{plan.id, plan.has_wall, plan.bound, plan.rooms.size()});
    if (plan.rooms.empty())
      row.insert(row.end(), needed_columns.size(), Value());
    else
      add_needed(row, need.for_plan(plan), need.question.limit);
  }
  return table;
}

/// The bins of a histogram, up to the largest need; they are wider where it is far from the others.
std::vector<Histogram::Bin> drawn_bins(const std::vector<double>& needs) {
  std::vector<Histogram::Bin> bins = histogram_of(needs).bins;
  if (bins.empty()) return bins;
  const double first = bins.front().from;
  double width = bins.front().to - first;
  const double last = *std::max_element(needs.begin(), needs.end());
  constexpr double most_drawn = 60;
  while ((last - first) / width >= most_drawn) width *= 2;
  bins.resize(static_cast<std::size_t>((last - first) / width) + 1);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const double from = first + static_cast<double>(i) * width;
    const auto count = std::count_if(needs.begin(), needs.end(), [&](double value) {
      return value >= from && value < from + width;
    });
    bins[i] = {from, from + width, static_cast<std::size_t>(count)};
  }
  return bins;
}

/// A vertical line up to `top`, if that place is drawn.
void add_line(Figure& figure, double at, double top, const std::string& name) {
  const double first = figure.series.front().x.front();
  const std::vector<double>& ends = figure.series.front().x_end;
  const double last = ends.empty() ? figure.series.front().x.back() : ends.back();
  if (!(at >= first && at <= last)) return;
  figure.series.push_back(
      {.name = name, .mark = Figure::Mark::line, .x = {at, at}, .y = {0, top}, .is_dashed = true});
}

/// Rooms by the temperature that they need, and which share of all reaches its goal with it; both
/// up to the room that needs most within the limit.
void add_figures(const WallNeed& need, Report& report) {
  const NeedQuestion& question = need.question;
  const std::vector<Histogram::Bin> bins = drawn_bins(reachable_needs(need));
  if (bins.empty()) return;
  const NeededTemperature answer = need.for_share(question.room_share);
  const double first = bins.front().from;
  const double last = bins.back().to;
  const Figure::Axis wall{"temperature of the wall, °C"};
  Figure needs{
      "needs",
      fmt::format("walls that are at {:.6g} °C, for {}", question.wall, goal_text(question)),
      wall,
      {fmt::format("{} that need it, in {:.3g} °C", rooms_word(question),
                   bins.front().to - first)}};
  Figure::Series bars{fmt::format("{} by need", rooms_word(question)), Figure::Mark::bars};
  for (const auto& [from, to, count] : bins) {
    bars.x.push_back(from);
    bars.x_end.push_back(to);
    bars.y.push_back(static_cast<double>(count));
  }
  const double highest = *std::ranges::max_element(bars.y);
  needs.series.push_back(std::move(bars));

  Figure shares{"shares",
                answer_text(answer, question),
                wall,
                {fmt::format("share of all {} that reach it, %", rooms_word(question)),
                 Figure::Scale::linear,
                 {},
                 0,
                 105}};
  Figure::Series curve{"share that reaches it", Figure::Mark::line};
  std::vector<double> all;
  for_each_room(need,
                [&](const PlanNeed&, const RoomNeed& room) { all.push_back(room.needed.value); });
  std::ranges::sort(all);
  constexpr int points = 400;
  for (int i = 0; i <= points; ++i) {
    curve.x.push_back(first + (last - first) * i / points);
    const auto reached = std::ranges::upper_bound(all, curve.x.back()) - all.begin();
    curve.y.push_back(percent_of(static_cast<std::size_t>(reached), all.size()));
  }
  shares.series.push_back(std::move(curve));
  for (auto [figure, top] : {std::pair(&needs, 1.08 * highest), std::pair(&shares, 100.0)}) {
    add_line(*figure, question.wall, top, fmt::format("now {:.6g} °C", question.wall));
    add_line(*figure, answer.value, top,
             fmt::format("{:.6g} % at {:.2f} °C", 100 * question.room_share, answer.value));
  }
  report.add(std::move(needs));
  report.add(std::move(shares));
}

}  // namespace

Report report_of(WallNeed wall_need) {
  const auto need = std::make_shared<const WallNeed>(std::move(wall_need));
  Report report{"how warm walls must be"};
  report.csv_table = "each_room";
  add_answer(*need, report);
  add_other_shares(*need, report);
  add_verdicts(*need, report);
  const Histogram histogram = histogram_of(reachable_needs(*need));
  constexpr int all_digits = 15;
  Table& bins = report.add(table_of(
      histogram, "histogram",
      fmt::format("{} by the wall's temperature that they need", rooms_word(need->question)),
      all_digits, "rooms"));
  if (need->plans.size() == 1)
    for (Table::Column& column : bins.columns) column.name.clear();
  else if (!histogram.outliers.empty())
    report.add(Note{fmt::format("and {} far from these", histogram.outliers.size())});
  report.add(table_of_room_needs(need));
  report.add(table_of_plan_needs(*need));
  add_figures(*need, report);
  return report;
}

}  // namespace wallheat
