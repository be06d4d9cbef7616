#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/histogram.hpp"
#include "report/walls.hpp"

namespace wallheat {

std::vector<RoomRequirement> room_requirements(const WallTemperatureQuery& question,
                                               const Superposition& linear,
                                               const RoomCells& rooms) {
  const bool is_area = question.area_share > 0;
  const WallInfluence& wall = linear.walls.front();
  std::vector<RequiredTemperature> of_cells;
  if (is_area) of_cells = needed_of_cells(linear, 0, question.target);
  std::vector<RoomRequirement> needs;
  std::uint32_t number = 0;
  for (const CellIndices& room_cells : rooms) {
    ++number;
    if (room_cells.size() < question.min_cells) continue;
    RoomRequirement& room = needs.emplace_back(RoomRequirement{number, room_cells.size()});
    if (is_area) {
      const auto above = std::ranges::count_if(
          room_cells, [&](std::uint32_t cell) { return linear.now.cells[cell] > question.target; });
      room.now = 100 * static_cast<double>(above) / static_cast<double>(room_cells.size());
      room.needed = needed_for_count(values_at(room_cells, of_cells),
                                     share_to_count(question.area_share, room_cells.size()));
    } else {
      const auto mean_of = [&](const BoundedCells& all) {
        return bounded_mean(values_at(room_cells, all.cells), all.bound);
      };
      const BoundedValue now = mean_of(linear.now);
      const BoundedValue rise = mean_of(wall.per_degree);
      room.now = now.value;
      room.per_degree = rise.value;
      room.needed = needed_temperature({wall.nominal, now, rise}, question.target);
    }
  }
  return needs;
}

Feasibility feasibility_of(const RequiredTemperature& needed, double max) {
  if (needed.value < absolute_zero) return Feasibility::already_warm;
  if (needed.value <= max) return Feasibility::reachable;
  return needed.value <= max_meaningful_wall ? Feasibility::above_max : Feasibility::not_warmed;
}

std::string_view to_string(Feasibility verdict) {
  constexpr std::array<std::string_view, 4> names{
      "already warm enough", "reachable", "requires more than --max", "not warmed by these walls"};
  return names.at(static_cast<std::size_t>(verdict));
}

RequiredTemperature needed_for_share(const std::vector<RoomRequirement>& rooms, double share) {
  std::vector<RequiredTemperature> all;
  for (const RoomRequirement& room : rooms) all.push_back(room.needed);
  return needed_for_count(all, share_to_count(share, all.size()));
}

namespace {

/// The requirements of the rooms of all plans, highest requirement first.
struct NeedOfAll {
  const WallTemperatureQuery& question;
  std::vector<RoomRequirement> rooms;
  std::vector<const PlanRequirements*> plans;  ///< plan of each room
  std::vector<double> reachable;               ///< temperatures of the rooms that are reachable

  [[nodiscard]] Feasibility verdict(std::size_t room) const {
    return feasibility_of(rooms[room].needed, question.max);
  }
  [[nodiscard]] const char* word() const { return question.whole_plans ? "plans" : "rooms"; }
  /// Returns the number of rooms that reach the goal with a wall at this temperature.
  [[nodiscard]] std::size_t count_reached(double wall) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        rooms, [&](const RoomRequirement& room) { return room.needed.value <= wall; }));
  }
};

/// Formats a required temperature so that a wall at the printed temperature is warm enough.
std::string required_text(double temperature) {
  return value_text(temperature, {ValueFormat::decimals_up, 2, "°C"});
}

NeedOfAll all_rooms(const WallRequirements& need) {
  NeedOfAll all{need.question, {}, {}, {}};
  std::vector<std::pair<const RoomRequirement*, const PlanRequirements*>> rooms;
  for (const PlanRequirements& plan : need.plans)
    for (const RoomRequirement& room : plan.rooms) rooms.emplace_back(&room, &plan);
  std::ranges::stable_sort(rooms, std::greater(),
                           [](const auto& of) { return of.first->needed.value; });
  for (const auto& [room, plan] : rooms) {
    all.rooms.push_back(*room);
    all.plans.push_back(plan);
    if (feasibility_of(room->needed, need.question.max) == Feasibility::reachable)
      all.reachable.push_back(room->needed.value);
  }
  return all;
}

std::string goal_text(const WallTemperatureQuery& question) {
  const char* one = question.whole_plans ? "a plan" : "a room";
  if (question.area_share > 0)
    return fmt::format("{:.6g} % of {}'s area above {:.6g} °C", 100 * question.area_share, one,
                       question.target);
  return fmt::format("a mean of at least {:.6g} °C in {}", question.target, one);
}

/// Returns the answer for a share of the rooms: the temperature of the wall and the room that
/// requires it, or why there is none.
std::string answer_text(const RequiredTemperature& needed, const NeedOfAll& all, bool is_one) {
  const std::size_t count = all.rooms.size();
  const std::size_t required_count = share_to_count(all.question.room_share, count);
  const std::string rooms = fmt::format("{} of {} {} (at least {:.6g} %)", required_count, count,
                                        all.word(), 100 * all.question.room_share);
  switch (feasibility_of(needed, all.question.max)) {
    case Feasibility::already_warm:
      return fmt::format("{} are already warm enough, however cold the wall is", rooms);
    case Feasibility::above_max:
      return fmt::format(
          "{} require {}, more than {:.6g} °C (--max), at which {} of {} "
          "reach the target",
          rooms, required_text(needed.value), all.question.max, all.count_reached(all.question.max),
          count);
    case Feasibility::not_warmed:
      return fmt::format(
          "these walls cannot warm {} enough; at {:.6g} °C (--max) {} of {} reach the target",
          rooms, all.question.max, all.count_reached(all.question.max), count);
    case Feasibility::reachable:
      break;
  }
  const std::size_t deciding = count - required_count;
  std::string cause = fmt::format("room {}", all.rooms[deciding].room);
  if (all.question.whole_plans)
    cause = "plan " + all.plans[deciding]->id;
  else if (!is_one)
    cause += " of plan " + all.plans[deciding]->id;
  return fmt::format("the wall must be at {} for {}; {} requires this temperature",
                     required_text(needed.value), rooms, cause);
}

/// Returns the temperature, its lower and its upper bound as they are printed; unknown values if
/// any wall or none is warm enough. A bound that is not known is infinite.
std::array<Value, 3> answer_cells(const RequiredTemperature& needed,
                                  const WallTemperatureQuery& question) {
  const Feasibility verdict = feasibility_of(needed, question.max);
  if (verdict != Feasibility::reachable && verdict != Feasibility::above_max) return {};
  return {needed.value, std::max(needed.lower, absolute_zero),
          std::isfinite(needed.upper) ? Value(needed.upper) : Value()};
}

/// Columns of the requirement of some rooms, and their cells, which are unknown without rooms.
const std::array<Table::Column, 4> needed_columns{
    {json_only_column("verdict"), json_only_column("temperature"), json_only_column("lower"),
     json_only_column("upper")}};
Table::Row needed_cells(const std::vector<RoomRequirement>& rooms,
                        const WallTemperatureQuery& question) {
  if (rooms.empty()) return Table::Row(needed_columns.size());
  const RequiredTemperature needed = needed_for_share(rooms, question.room_share);
  const auto [value, lower, upper] = answer_cells(needed, question);
  return {to_string(feasibility_of(needed, question.max)), value, lower, upper};
}

/// Adds the query, and the result for all plans.
void add_answer(const WallRequirements& need, const NeedOfAll& all, Report& report) {
  const WallTemperatureQuery& question = need.question;
  const std::size_t rooms = all.rooms.size();
  const auto with_wall = std::ranges::count(need.plans, true, &PlanRequirements::has_wall);
  if (need.plans.size() == 1)
    report.add_text_fact("plan", need.plans.front().id);
  else
    report.add_text_fact(
        "plans", need.plans.size(),
        fmt::format(", {} of them with a wall at {:.6g} °C", with_wall, question.wall));
  RoomCounts counts{rooms};  // add_verdicts() reports the corners
  for (const PlanRequirements& plan : need.plans) counts.small += plan.small_rooms;
  const auto door_cells = common_door_cells(need.plans);
  report.add_fact("rooms", question.whole_plans ? "" : "rooms", rooms, {},
                  counts.suffix(question.min_cells) +
                      door_suffix(door_cells, question.door == Door(), question.cell_metres));
  report.add_text_fact("target", goal_text(question));
  const bool is_area = question.area_share > 0;
  report.add_json_fact("wall", question.wall);
  report.add_json_fact("goal", is_area ? "area" : "mean");
  report.add_json_fact("target", question.target);
  report.add_json_fact("area_share", is_area ? Value(question.area_share) : Value());
  report.add_json_fact("share", question.room_share);
  report.add_json_fact("max", question.max);
  report.add_json_fact("whole_plans", question.whole_plans);
  report.add_json_fact("min_cells", question.min_cells);
  report.add_json_fact("small_rooms", counts.small);
  report.add_json_fact("door_cells", question.whole_plans ? Value() : Value(door_cells));
  const std::size_t reached = all.count_reached(question.wall);
  report.add_fact("reached_now", rooms > 0 ? fmt::format("wall at {:.6g} °C", question.wall) : "",
                  reached, {.unit = fmt::format("of {} {} reach it", rooms, all.word())},
                  Report::share(static_cast<double>(reached), static_cast<double>(rooms)));
  if (rooms > 0)
    report.add_text_fact("answer", answer_text(needed_for_share(all.rooms, question.room_share),
                                               all, need.plans.size() == 1));
  const Table::Row cells = needed_cells(all.rooms, question);
  std::size_t cell = 0;
  for (const char* key : {"verdict", "needed", "needed_lower", "needed_upper"})
    report.add_json_fact(key, cells.at(cell++));
}

/// Adds the number of rooms with each verdict. Text output contains the numbers of rooms that
/// require more than --max, and of rooms that these walls do not warm.
void add_verdicts(const NeedOfAll& all, Report& report) {
  std::array<RoomCounts, 4> counts{};
  for (std::size_t room = 0; room < all.rooms.size(); ++room)
    counts.at(static_cast<std::size_t>(all.verdict(room))).add(all.rooms[room].cells, 1);
  for (const auto& [verdict, key] : {std::pair(Feasibility::already_warm, "already_warm"),
                                     {Feasibility::reachable, "reachable"},
                                     {Feasibility::above_max, "above_max"},
                                     {Feasibility::not_warmed, "not_warmed"}}) {
    const RoomCounts& with_verdict = counts.at(static_cast<std::size_t>(verdict));
    report.add_json_fact(key, with_verdict.counted);
    if (verdict < Feasibility::above_max || with_verdict.counted == 0) continue;
    std::string text =
        fmt::format("{} of {} {}", with_verdict.counted, all.rooms.size(), all.word()) +
        Report::share(static_cast<double>(with_verdict.counted),
                      static_cast<double>(all.rooms.size()));
    if (verdict == Feasibility::above_max) {
      // The rooms are in descending order of their requirements.
      const std::size_t highest = counts.back().counted;
      text += fmt::format(", up to {}", required_text(all.rooms[highest].needed.value));
    }
    report.add_text_fact(std::string(to_string(verdict)), text + with_verdict.suffix(1));
  }
}

/// Returns the table of all rooms. If there are many plans, the rooms with a temperature as their
/// answer come first.
Table table_of_rooms(bool is_one, const NeedOfAll& all) {
  const WallTemperatureQuery& question = all.question;
  const bool is_area = question.area_share > 0;
  const bool has_area = question.cell_metres > 0;
  Table table{"each_room",
              is_one ? "rooms, highest required temperature first"
                     : fmt::format("the {} that require the warmest walls, up to {:.6g} °C",
                                   all.word(), question.max),
              {{"id", "plan"}, {"room", "room"}, {"cells", "cells"}}};
  if (is_one) table.columns.front().hide();
  const auto add = [&](Table::Column column) { table.columns.push_back(std::move(column)); };
  if (has_area) add({"area_m2", "area", {ValueFormat::decimals, 1, "m²"}});
  if (is_area) {
    add({"pct_above_now",
         fmt::format("% above {:.6g} °C, wall at {:.6g} °C", question.target, question.wall),
         {ValueFormat::decimals, 3}});
    add(json_only_column("target"));
  } else {
    add({"mean_now",
         fmt::format("mean °C, wall at {:.6g} °C", question.wall),
         {ValueFormat::decimals, 3}});
    add({"per_degree", "rise per °C of wall", {ValueFormat::decimals, 4}});
  }
  const ValueStyle required{ValueFormat::decimals_up, 3, "°C"};
  add({"needed", "required", required});
  add({"uncertainty", "±", {ValueFormat::digits, 1, "°C"}});
  add(json_only_column("lower"));
  add({"upper", "", required});  // CSV for spreadsheets rounds it
  add(json_only_column("verdict"));
  constexpr std::size_t max_rooms = 10;
  if (!is_one) table.max_text_rows = std::min(max_rooms, all.reachable.size());
  if (is_one && all.reachable.size() < all.rooms.size()) table.columns.back().name = "verdict";
  if (table.max_text_rows == 0 || (is_one && question.whole_plans)) table.hide();
  for (const bool is_first : {true, false})
    for (std::size_t i = 0; i < all.rooms.size(); ++i) {
      const Feasibility verdict = all.verdict(i);
      if ((is_one || verdict == Feasibility::reachable) != is_first) continue;
      const RoomRequirement& room = all.rooms[i];
      const auto [value, lower, upper] = answer_cells(room.needed, question);
      const double uncertainty =
          std::max(room.needed.upper - room.needed.value, room.needed.value - room.needed.lower);
      const bool is_bounded = value.is_known() && std::isfinite(uncertainty);
      Table::Row& row =
          table.rows.emplace_back(Table::Row{all.plans[i]->id, room.room, room.cells});
      if (has_area)
        row.emplace_back(static_cast<double>(room.cells) * question.cell_metres *
                         question.cell_metres);
      row.emplace_back(room.now);
      row.emplace_back(is_area ? question.target : room.per_degree);
      row.insert(row.end(), {value, is_bounded ? Value(uncertainty) : Value(), lower, upper,
                             to_string(verdict)});
    }
  return table;
}

/// Returns the requirements of each plan, for JSON and CSV output.
Table table_of_plan_needs(const WallRequirements& need) {
  Table table{"plans",
              "",
              {json_only_column("id"), json_only_column("has_wall"),
               json_only_column("error_bound"), json_only_column("rooms")}};
  table.columns.insert(table.columns.end(), needed_columns.begin(), needed_columns.end());
  for (const auto& [id, has_wall, bound, rooms, door_cells, small_rooms] : need.plans) {
    Table::Row& row = table.rows.emplace_back(Table::Row{id, has_wall, bound, rooms.size()});
    std::ranges::move(needed_cells(rooms, need.question), std::back_inserter(row));
  }
  return table;
}

}  // namespace

Report make_report(const WallRequirements& need) {
  const NeedOfAll all = all_rooms(need);
  const WallTemperatureQuery& question = need.question;
  const bool is_one = need.plans.size() == 1;
  Report report{"required wall temperatures"};
  report.csv_table = "each_room";
  add_answer(need, all, report);
  add_verdicts(all, report);
  constexpr std::size_t max_bins = 16;
  const Histogram histogram = histogram_of(all.reachable, max_bins, false);
  Figure& figure =
      add_histogram(histogram,
                    fmt::format("{} of {} {} by the wall temperature that they require",
                                all.reachable.size(), all.rooms.size(), all.word()),
                    "wall temperature, °C", report, all.word());
  if (!histogram.bins.empty()) {
    const RequiredTemperature answer = needed_for_share(all.rooms, question.room_share);
    if (feasibility_of(answer, question.max) == Feasibility::reachable)
      figure.add_vertical_line(
          fmt::format("{:.6g} % at {}", 100 * question.room_share, required_text(answer.value)),
          answer.value, 0, std::ranges::max(figure.series.front().y));
  }
  // The rooms of a single plan are listed.
  if (is_one) std::get<Table>(*(report.elements.end() - 2)).hide();
  report.add(table_of_rooms(is_one, all));
  report.add(table_of_plan_needs(need));
  return report;
}

}  // namespace wallheat
