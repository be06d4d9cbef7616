#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/histogram.hpp"
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

/// Nothing if no temperature suffices, or any does.
Value known(double temperature) {
  return std::isfinite(temperature) ? Value(temperature) : Value();
}

/// What is needed, as the last cells of a row of these columns; nothing if there is no room.
const std::array<Table::Column, 4> needed_columns{
    {{"verdict", ""}, {"temperature", ""}, {"least", ""}, {"most", ""}}};
Table::Row cells_of(const std::optional<NeededTemperature>& needed, double limit) {
  if (!needed) return Table::Row(needed_columns.size());
  return {to_string(verdict_on(*needed, limit)), known(needed->value), known(needed->least),
          known(needed->most)};
}

struct RoomOfPlan {
  const PlanNeed* plan;
  const RoomNeed* room;
  NeedVerdict verdict;
};

/// Rooms of all plans, those that need the most first.
std::vector<RoomOfPlan> all_rooms(const WallNeed& need) {
  std::vector<RoomOfPlan> rooms;
  for (const PlanNeed& plan : need.plans)
    for (const RoomNeed& room : plan.rooms)
      rooms.push_back({&plan, &room, verdict_on(room.needed, need.question.limit)});
  std::ranges::stable_sort(rooms, std::greater(),
                           [](const RoomOfPlan& of) { return of.room->needed.value; });
  return rooms;
}

bool is_reachable(const RoomOfPlan& of) { return of.verdict == NeedVerdict::reachable; }

/// All rooms, those that need the most first; of many plans those first that reach their goal
/// within the limit, of which people see a few.
Table table_of_room_needs(const std::shared_ptr<const WallNeed>& need,
                          std::vector<RoomOfPlan> rooms) {
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
  if (!is_one) {
    const auto others = std::ranges::stable_partition(rooms, is_reachable);
    constexpr std::size_t most_rooms = 10;
    table.most_shown = std::min(most_rooms, rooms.size() - others.size());
  }
  if (is_one && !std::ranges::all_of(rooms, is_reachable)) table.columns.back().name = "verdict";
  if (table.most_shown == 0 || (is_one && question.whole_plans))
    for (Table::Column& column : table.columns) column.name.clear();
  table.source = [need, rooms = std::move(rooms)](const auto& take) {
    const double metres = need->question.cell_metres;
    for (const auto& [plan, room, verdict] : rooms) {
      const auto& [value, least, most] = room->needed;
      const double area = static_cast<double>(room->cells) * metres * metres;
      take({plan->id, room->room, room->cells, area, room->now, room->per_degree, known(value),
            known(std::max(most - value, value - least)), known(least), known(most),
            to_string(verdict)});
    }
  };
  return table;
}

/// Shares that are told beside the one that is asked for; people read them in a line.
void add_other_shares(const WallNeed& need, Report& report) {
  Table table{"other_shares", "", {{"share", ""}}};
  table.columns.insert(table.columns.end(), needed_columns.begin(), needed_columns.end());
  std::vector<std::string> texts;
  for (const double share : {0.5, 0.75, 0.9, 1.0}) {
    if (need.rooms() == 0) break;
    const NeededTemperature needed = need.for_share(share);
    const NeedVerdict verdict = verdict_on(needed, need.question.limit);
    Table::Row& row = table.rows.emplace_back(cells_of(needed, need.question.limit));
    row.insert(row.begin(), share);
    texts.push_back(fmt::format("{:.6g} %: {}", 100 * share,
                                verdict == NeedVerdict::reachable
                                    ? fmt::format("{:.2f} °C", needed.value)
                                    : to_string(verdict)));
  }
  report.add(std::move(table));
  constexpr std::size_t few = 8;
  if (need.rooms() >= few)
    report.add(Fact{"", "other shares", fmt::format("{}", fmt::join(texts, ", "))});
}

/// How many rooms have each verdict; and for people why some cannot reach the goal.
void add_verdicts(const WallNeed& need, const std::vector<RoomOfPlan>& rooms, Report& report) {
  const auto count_of = [&](NeedVerdict verdict) {
    return std::ranges::count(rooms, verdict, &RoomOfPlan::verdict);
  };
  const auto above = count_of(NeedVerdict::above_limit);
  const auto never = count_of(NeedVerdict::never);
  report.add(Fact{"always", "", count_of(NeedVerdict::always)});
  report.add(Fact{"reachable", "", count_of(NeedVerdict::reachable)});
  report.add(Fact{"above_limit", "", above});
  report.add(Fact{"never", "", never});
  std::vector<std::string> why;
  if (above > 0)
    why.push_back(fmt::format("{} would need more than {:.6g} °C", above, need.question.limit));
  if (never > 0) why.push_back(fmt::format("for {} no temperature of this wall is enough", never));
  if (why.empty()) return;
  const auto all = static_cast<double>(rooms.size());
  report.add(
      Fact{"", "out of reach",
           fmt::format("{} of {} {} ({:.1f} %): {}", above + never, rooms.size(),
                       rooms_word(need.question), 100 * static_cast<double>(above + never) / all,
                       fmt::join(why, ", "))});
}

/// The question, and the answer for all plans.
void add_answer(const WallNeed& need, Report& report) {
  const NeedQuestion& question = need.question;
  const std::size_t rooms = need.rooms();
  const bool is_area = question.area_share > 0;
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
  report.add(Fact{"", "goal", goal_text(question)});
  for (const auto& [key, value] : {std::pair("wall", Value(question.wall)),
                                   {"goal", Value(is_area ? "area" : "mean")},
                                   {"target", Value(question.target)},
                                   {"area_share", is_area ? Value(question.area_share) : Value()},
                                   {"share", Value(question.room_share)},
                                   {"limit", Value(question.limit)},
                                   {"whole_plans", Value(question.whole_plans)},
                                   {"min_cells", Value(question.min_cells)}})
    report.add(Fact{key, "", value});
  std::size_t reached = 0;
  for (const PlanNeed& plan : need.plans)
    for (const RoomNeed& room : plan.rooms) reached += room.needed.value <= question.wall ? 1U : 0U;
  report.add(Fact{"reached_now",
                  rooms > 0 ? fmt::format("wall at {:.6g} °C", question.wall) : "",
                  reached,
                  {.unit = fmt::format("of {} {} reach it", rooms, rooms_word(question))},
                  Report::share(static_cast<double>(reached), static_cast<double>(rooms))});
  std::optional<NeededTemperature> needed;
  if (rooms > 0) needed = need.for_share(question.room_share);
  if (needed) report.add(Fact{"", "answer", answer_text(*needed, question)});
  const Table::Row cells = cells_of(needed, question.limit);
  std::size_t k = 0;
  for (const char* key : {"verdict", "needed", "needed_least", "needed_most"})
    report.add(Fact{key, "", cells.at(k++)});
}

/// For scripts.
Table table_of_plan_needs(const WallNeed& need) {
  Table table{"plans", "", {{"id", ""}, {"has_wall", ""}, {"error_bound", ""}, {"rooms", ""}}};
  table.columns.insert(table.columns.end(), needed_columns.begin(), needed_columns.end());
  for (const PlanNeed& plan : need.plans) {
    std::optional<NeededTemperature> needed;
    if (!plan.rooms.empty()) needed = need.for_plan(plan);
    const Table::Row cells = cells_of(needed, need.question.limit);
    Table::Row& row =
        table.rows.emplace_back(Table::Row{plan.id, plan.has_wall, plan.bound, plan.rooms.size()});
    row.insert(row.end(), cells.begin(), cells.end());
  }
  return table;
}

/// Rooms by the temperature that they need, and which share of all reaches its goal with it; both
/// up to the room that needs most within the limit.
void add_figures(const WallNeed& need, const std::vector<RoomOfPlan>& rooms,
                 const std::vector<double>& needs, Report& report) {
  const NeedQuestion& question = need.question;
  const Histogram histogram = histogram_of(needs);
  if (histogram.bins.empty()) return;
  const auto [least, most] = std::ranges::minmax(needs);
  double width = histogram.bins.front().to - histogram.bins.front().from;
  constexpr double most_drawn = 60;  // bars, which are wider if one room is far from the others
  while ((most - least) / width >= most_drawn) width *= 2;
  const double first = width * std::floor(least / width);

  Figure::Series bars{.name = fmt::format("{} by need", rooms_word(question)),
                      .mark = Figure::Mark::bars};
  Figure::Series curve{.name = "share that reaches it", .mark = Figure::Mark::points_and_line};
  const auto add_point = [&](double at) {
    const auto reached = std::ranges::count_if(
        rooms, [&](const RoomOfPlan& of) { return of.room->needed.value <= at; });
    curve.x.push_back(at);
    curve.y.push_back(100 * static_cast<double>(reached) / static_cast<double>(rooms.size()));
  };
  add_point(first);
  for (double from = first; from <= most; from = bars.x_end.back()) {
    const double to = first + width * static_cast<double>(bars.x.size() + 1);
    bars.x.push_back(from);
    bars.x_end.push_back(to);
    bars.y.push_back(static_cast<double>(
        std::ranges::count_if(needs, [&](double value) { return value >= from && value < to; })));
    add_point(to);
  }
  const NeededTemperature answer = need.for_share(question.room_share);
  const double highest = *std::ranges::max_element(bars.y);
  const Figure::Axis wall{"temperature of the wall, °C"};
  const std::string word = rooms_word(question);
  const std::string title =
      fmt::format("walls that are at {:.6g} °C, for {}", question.wall, goal_text(question));
  Figure of_needs{
      "needs", title, wall, {fmt::format("{} that need it, in {:.3g} °C", word, width)}};
  Figure of_shares{
      "shares",
      answer_text(answer, question),
      wall,
      {.name = fmt::format("share of all {} that reach it, %", word), .from = 0, .to = 105}};
  const double last = bars.x_end.back();
  of_needs.series.push_back(std::move(bars));
  of_shares.series.push_back(std::move(curve));
  for (auto [figure, top] : {std::pair(&of_needs, 1.08 * highest), std::pair(&of_shares, 100.0)}) {
    const auto add_line = [&, figure = figure, top = top](double at, const std::string& name) {
      if (at >= first && at <= last)
        figure->series.push_back({.name = name,
                                  .mark = Figure::Mark::line,
                                  .x = {at, at},
                                  .y = {0, top},
                                  .is_dashed = true});
    };
    add_line(question.wall, fmt::format("now {:.6g} °C", question.wall));
    add_line(answer.value,
             fmt::format("{:.6g} % at {:.2f} °C", 100 * question.room_share, answer.value));
    report.add(std::move(*figure));
  }
}

}  // namespace

Report report_of(WallNeed wall_need) {
  const auto need = std::make_shared<const WallNeed>(std::move(wall_need));
  const std::vector<RoomOfPlan> rooms = all_rooms(*need);
  std::vector<double> needs;  // of those that reach their goal within the limit
  for (const RoomOfPlan& of : rooms)
    if (is_reachable(of)) needs.push_back(of.room->needed.value);
  Report report{"how warm walls must be"};
  report.csv_table = "each_room";
  add_answer(*need, report);
  add_other_shares(*need, report);
  add_verdicts(*need, rooms, report);
  const Histogram histogram = histogram_of(needs);
  constexpr int all_digits = 15;
  Table& bins = report.add(table_of(
      histogram, "histogram",
      fmt::format("{} by the wall's temperature that they need", rooms_word(need->question)),
      all_digits, "rooms"));
  if (need->plans.size() == 1)
    for (Table::Column& column : bins.columns) column.name.clear();
  else if (!histogram.outliers.empty())
    report.add(Note{fmt::format("and {} far from these", histogram.outliers.size())});
  report.add(table_of_room_needs(need, rooms));
  report.add(table_of_plan_needs(*need));
  add_figures(*need, rooms, needs, report);
  return report;
}

}  // namespace wallheat
