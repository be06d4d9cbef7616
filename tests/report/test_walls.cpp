#include <cmath>
#include <limits>
#include <sstream>
#include <tuple>

#include "report/walls.hpp"
#include "support/matchers.hpp"
#include "support/report_values.hpp"

namespace wallheat {
namespace {

/// Returns a plan with three rooms of one grid row each: next to warm walls, between a warm and a
/// cold wall, and next to cold walls.
FloorPlan three_rooms() {
  FloorPlan plan{Grid<double>(9, 12, 5.0), Grid<std::uint8_t>(9, 12)};
  for (std::size_t col = 1; col < 11; ++col)
    for (const std::size_t row : {1U, 4U, 7U}) plan.interior(row, col) = 1;
  for (std::size_t col = 0; col < 12; ++col)
    for (const std::size_t row : {0U, 2U, 3U}) plan.domain(row, col) = 25;
  return plan;
}

WallRequirements need_of(const WallTemperatureQuery& question) {
  const FloorPlan plan = three_rooms();
  const Superposition linear =
      solve_superposition(plan, {25}, *make_steady_solver(Isa::baseline), {});
  return {question,
          {{"one", true, linear.now.bound,
            room_requirements(question, linear, room_cells_of(plan, {0}))}}};
}

std::vector<Feasibility> verdicts_on(const WallRequirements& need) {
  std::vector<Feasibility> verdicts;
  for (const RoomRequirement& room : need.plans.front().rooms)
    verdicts.push_back(feasibility_of(room.needed, need.question.max));
  return verdicts;
}

TEST(WallRequirements, ClassifiesRoomsByFeasibility) {
  using enum Feasibility;
  const WallRequirements cold = need_of({.target = 40, .max = 50});
  EXPECT_THAT(verdicts_on(cold), ElementsAre(reachable, above_max, not_warmed));
  EXPECT_EQ(verdicts_on(need_of({.target = 40, .max = 100}))[1], reachable);
  EXPECT_EQ(verdicts_on(need_of({.target = 4})).back(), already_warm);
  // A third of three rooms is one room, two thirds are two rooms; the third room is infeasible.
  const std::vector<RoomRequirement>& rooms = cold.plans.front().rooms;
  EXPECT_LT(needed_for_share(rooms, 1.0 / 3).value, needed_for_share(rooms, 2.0 / 3).value);
  EXPECT_EQ(needed_for_share(rooms, 0.67).value, std::numeric_limits<double>::infinity());
  EXPECT_THAT(messages_of(make_report(cold)),
              Contains(Mentions({"1 of 3", "20 cells", "--min-cells 20"})));
  // The goal is half of the area of a room.
  const WallRequirements area = need_of({.target = 18, .area_share = 0.5});
  EXPECT_GT(area.plans.front().rooms.front().now, 50);
  EXPECT_EQ(area.plans.front().rooms.back().now, 0);
  EXPECT_EQ(verdicts_on(area).front(), reachable);
  EXPECT_EQ(verdicts_on(area).back(), not_warmed);
  // Each room has ten cells.
  EXPECT_THAT(need_of({.min_cells = 10}).plans.front().rooms, SizeIs(3));
  EXPECT_EQ(value_of(make_report(need_of({.min_cells = 11})), "rooms"), Value(0));
}

/// Returns the requirements of one plan whose rooms need these temperatures.
WallRequirements need_of_rooms(const std::vector<double>& needs,
                               const WallTemperatureQuery& question) {
  PlanRequirements plan{"one", true, 0, {}};
  for (const double needed : needs)
    plan.rooms.push_back({static_cast<std::uint32_t>(plan.rooms.size() + 1),
                          100,
                          0,
                          nan_value,
                          {needed, needed, needed}});
  return {question, {plan}};
}

constexpr double never_reached = std::numeric_limits<double>::infinity();

TEST(WallRequirements, StatesRequiredTemperatureOrReason) {
  using enum Feasibility;
  const std::vector<double> needs{20, 21, 22, 63.0625, 124.5, never_reached, never_reached};
  for (const auto& [of_rooms, share, verdict, facts] :
       {std::tuple(needs, 0.5, reachable, Facts{"63.07 °C", "4 of 7 rooms", "50 %", "room 4"}),
        {needs, 0.7, above_max, {"124.50 °C", "100 °C", "5 of 7 rooms", "70 %", "--max", "4 of 7"}},
        {needs, 0.7, above_max, {"1 of 7 rooms", "14.3 %", "124.50 °C"}},
        {{20, 27879680.7}, 1, not_warmed, {"these walls", "100 °C", "100 %", "1 of 2"}},
        {needs, 1, not_warmed, {"2 of 7", "28.6 %"}},
        {{-never_reached, -never_reached}, 0.95, already_warm, {"already warm enough", "95 %"}},
        {{-32241998324680.37, 20}, 0.5, already_warm, {"already warm enough", "50 %"}}}) {
    const Report report = make_report(need_of_rooms(of_rooms, {.room_share = share}));
    EXPECT_EQ(value_of(report, "verdict"), Value(to_string(verdict)));
    EXPECT_THAT(messages_of(report), Contains(Mentions(facts)));
    EXPECT_EQ(value_of(report, "needed").is_known(), verdict == reachable || verdict == above_max);
    for (const char* impossible : {"27879680", "32241998324680"})
      EXPECT_THAT(text_of(report), Not(HasSubstr(impossible)));
  }
  WallRequirements corners = need_of_rooms(
      {20, 21, 22, 124.5, never_reached, never_reached, never_reached, never_reached}, {});
  for (const std::size_t room : {5U, 6U, 7U}) corners.plans.front().rooms[room].cells = 19;
  EXPECT_THAT(messages_of(make_report(corners)),
              Contains(Mentions({"4 of 8", "3", "20 cells", "--min-cells 20"})));
  EXPECT_THAT(messages_of(make_report(need_of_rooms({20, 30}, {}))), SizeIs(3))
      << "plan, goal and answer, but no message about infeasible rooms";
}

TEST(WallRequirements, CountsRoomsByFeasibility) {
  WallRequirements need = need_of_rooms(
      {-never_reached, 20, 21, 22, 25, 63.0625, 124.5, never_reached}, {.room_share = 0.5});
  const Report report = make_report(need);
  for (const auto& [key, value] : {std::pair("reached_now", Value(5)),
                                   {"already_warm", Value(1)},
                                   {"reachable", Value(5)},
                                   {"above_max", Value(1)},
                                   {"not_warmed", Value(1)},
                                   {"needed", Value(22.0)}})
    EXPECT_EQ(value_of(report, key), value) << key;
  const Table::Column& last = table_of(report, "each_room").columns.back();
  EXPECT_EQ(last.key, "verdict");
  EXPECT_TRUE(last.is_in_text()) << "shown because not all rooms can reach the goal";
  EXPECT_FALSE(cell_of(report, "each_room", 0, "needed").is_known())
      << "the room with the largest requirement";
  EXPECT_EQ(cell_of(report, "each_room", 0, "verdict"), Value(to_string(Feasibility::not_warmed)));
  EXPECT_EQ(report.csv_table_or_null(), &table_of(report, "each_room"));
  need.plans.push_back({"two", false, 0, {{4, 10, 0, nan_value, {40, 40, 40}}}});
  const Report of_two = make_report(need);
  EXPECT_EQ(cell_of(of_two, "each_room", 0, "needed"), Value(63.0625));
  EXPECT_EQ(cell_of(of_two, "each_room", 1, "needed"), Value(40.0));
  EXPECT_EQ(table_of(of_two, "each_room").max_text_rows, 6U) << "rows of the text output";
  EXPECT_EQ(cell_of(of_two, "plans", 1, "temperature"), Value(40.0));
  EXPECT_THAT(messages_of(of_two), Contains(Mentions({"5 of 9 rooms", "room 5", "plan one"})));
}

TEST(WallRequirements, AgreesInTextTableJsonAndPicture) {
  const WallRequirements need = need_of_rooms(
      {-1e13, -273.2, -273.1, 20, 30, 100, 100.1, 4e9, never_reached}, {.room_share = 1});
  const Report report = make_report(need);
  const auto json = json_of(report);
  EXPECT_EQ(json["already_warm"], 2);
  EXPECT_EQ(json["reachable"], 4);
  EXPECT_EQ(json["above_max"], 1);
  EXPECT_EQ(json["not_warmed"], 2);
  for (const auto& room : json["each_room"]) {
    const bool has_answer =
        room["verdict"] == "reachable" || room["verdict"] == to_string(Feasibility::above_max);
    for (const char* key : {"needed", "lower", "upper", "uncertainty"})
      EXPECT_EQ(room[key].is_number(), has_answer) << key << " of " << room;
    if (has_answer) {
      EXPECT_GE(room["needed"], absolute_zero);
    }
  }
  EXPECT_THAT(table_of(report, "histogram").name, Mentions("4 of 9 rooms"));
  double drawn = 0;
  for (const double height : report.first<Figure>()->series.front().y) drawn += height;
  EXPECT_EQ(drawn, 4);
  EXPECT_THAT(text_of(report), Not(HasSubstr("e+")));
}

TEST(WallRequirements, PrintsTemperaturesThatSuffice) {
  const Report report = make_report(need_of_rooms({20, 31.06227}, {.room_share = 1}));
  EXPECT_THAT(messages_of(report), Contains(Mentions("31.07 °C")));
  EXPECT_THAT(text_of(report), Mentions({"31.063", "20.000"}));
  EXPECT_THAT(report.first<Figure>()->series.back().name, Mentions("31.07 °C"));
  std::ostringstream csv;
  write_csv(*report.csv_table_or_null(), csv, CsvDialect::semicolons);
  EXPECT_THAT(csv.str(), AllOf(HasSubstr(";31,063;0;"), HasSubstr(";31,063;reachable")))
      << "neither the value nor its upper bound is rounded down";
  EXPECT_EQ(value_of(report, "needed"), Value(31.06227)) << "JSON has all digits";
}

TEST(WallRequirements, DrawsHistogramUpToLargestFeasibleTemperature) {
  std::vector<double> needs{30, 31, 31, 32, 32, 33, 33, 34, 34, 35, 36, 38, 63};
  Report report = make_report(need_of_rooms(needs, {.room_share = 0.5}));
  EXPECT_EQ(report.first<Figure>()->series.front().x_end.back(), 65);
  EXPECT_THAT(report.first<Figure>()->series.back().name, Mentions({"50 %", "33.00 °C"}));
  needs.back() = 9000;
  report = make_report(need_of_rooms(needs, {}));
  EXPECT_LT(report.first<Figure>()->series.front().x_end.back(), 63);
  EXPECT_EQ(report.first<Figure>()->series.size(), 1U)
      << "no line, because the answer is above the limit";
}

/// Returns the statistics of ten cells with this mean and this count above the threshold.
BoundedStatistics ten_cells(double mean, const BoundedCount& above) {
  return {.cells = 10, .above = above, .mean = mean, .std = 1, .bound = 0.125};
}

/// Two plans: with the second setting the first plan has a mean of 20 °C, and half of the cells of
/// the second plan are above the threshold.
TEST(WhatIf, ReportsTotalsOfEachSetting) {
  const WhatIf asked{{25}, {{25}, {30}}, {}, Door()};
  const WhatIfPlan one{
      "one",
      {1},
      0,
      2,
      {ten_cells(16, {}), ten_cells(15.1, {}), ten_cells(20, {10, 5, 10}), ten_cells(14.9, {})}};
  const WhatIfPlan two{"two",
                       {1},
                       3,
                       2,
                       {ten_cells(10, {}), ten_cells(17.9, {}), ten_cells(18, {5, 4, 6}),
                        ten_cells(18.1, {5, 5, 5})}};
  const Report report = make_report(asked, {one, {"cannot be used"}, two});
  for (const auto& [table, row, key, value] :
       {std::tuple("settings", 0, "mean_of_means", Value(13.0)),
        {"settings", 0, "wall_25", 25.0},
        {"settings", 0, "rooms_above_upper", 1},
        {"settings", 0, "rooms_below", 0},
        {"settings", 0, "rooms_below_upper", 1},
        {"settings", 1, "mean_of_means", 19.0},
        {"settings", 1, "plans", 2},
        {"settings", 1, "half_above", 2},
        {"settings", 1, "half_above_lower", 1},
        {"settings", 1, "half_below", 0},
        {"settings", 1, "rooms", 2},
        {"settings", 1, "rooms_below", 1},
        {"settings", 1, "rooms_below_lower", 0},
        {"settings", 1, "rooms_above", 1},
        {"settings", 1, "rooms_above_lower", 0},
        {"plans", 5, "id", "two"},
        {"plans", 5, "wall_25", 30.0},
        {"plans", 5, "pct_above", 50.0},
        {"plans", 5, "pct_above_lower", 40.0},
        {"plans", 5, "pct_above_upper", 60.0},
        {"plans", 7, "room", 1}})
    EXPECT_EQ(cell_of(report, table, row, key), value) << table << ' ' << row << ' ' << key;
  EXPECT_NEAR(std::get<double>(cell_of(report, "settings", 1, "error_bound")), 0.125, 1e-9);
  EXPECT_EQ(rows_of(report, "plans").size(), 8U);
  EXPECT_THAT(report.first<Figure>()->series.at(0).y, ElementsAre(13, 19))
      << "the curve begins at the present temperature";
  EXPECT_THAT(text_of(report), Mentions("1 to 2"));
}

/// One plan with two nominal wall temperatures; the second one gets two different overrides.
TEST(WhatIf, ShowsRoomsOfSinglePlan) {
  const WhatIf asked{{5, 25}, {{5, 25}, {8, 20}, {8, 22}}, {}, Door(), 1, 0.5};
  WhatIfPlan plan{"one", {4}};
  for (const double mean : {16.0, 17.0, 18.0}) {
    plan.all.push_back(ten_cells(mean, {5, 5, 5}));
    plan.all.push_back(ten_cells(mean + 1, {5, 4, 6}));
  }
  const Report report = make_report(asked, {plan});
  const std::string text = text_of(report);
  EXPECT_THAT(text.substr(0, text.find('\n')), Mentions("one"));
  EXPECT_THAT(text, Mentions({"2.5", "40.000 to 60.000"}));
  EXPECT_THAT(text, HasSubstr("\nall ")) << "the complete plan";
  EXPECT_EQ(cell_of(report, "plans", 0, "room"), Value());
  EXPECT_EQ(cell_of(report, "plans", 5, "room"), Value(4));
  EXPECT_EQ(cell_of(report, "plans", 5, "mean_temp"), Value(19.0));
  EXPECT_EQ(cell_of(report, "plans", 5, "area_m2"), Value(2.5));
  const Figure& means = *report.first<Figure>();
  EXPECT_THAT(means.x.name, Mentions("25 °C"));
  EXPECT_THAT(means.series.at(0).x, ElementsAre(20, 22));
  EXPECT_THAT(means.series.at(0).y, ElementsAre(17, 18));
  EXPECT_THAT(asked.setting_text(2), testing::ContainsRegex("5 °C.* 8 °C.* 25 °C.* 22 °C"));
}

TEST(BoundedStatistics, CountsUncertainCellsNearThresholds) {
  std::vector<double> values{14, 15 - 1e-9, 15, 18, 18 + 1e-9, 20, 21, 22};
  const BoundedStatistics found = bounded_statistics(values, 1e-8, {});
  EXPECT_EQ(found.above.value, 4U);
  EXPECT_EQ(found.above.lower, 3U);
  EXPECT_EQ(found.above.upper, 5U);
  EXPECT_EQ(found.below.value, 2U);
  EXPECT_EQ(found.lowest, 14);
  EXPECT_EQ(found.highest, 22);
  EXPECT_GE(found.bound, 1e-8);
  values[3] = std::nan("");
  const BoundedStatistics odd = bounded_statistics(values, 1e-8, {});
  for (const double extreme : {odd.lowest, odd.highest, odd.bound, BoundedStatistics().lowest})
    EXPECT_TRUE(std::isnan(extreme));
}

}  // namespace
}  // namespace wallheat
