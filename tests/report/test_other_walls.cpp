#include <limits>
#include <memory>

#include "report/unknown.hpp"
#include "report/wall_need.hpp"
#include "report/what_if.hpp"
#include "support/matchers.hpp"
#include "support/report_values.hpp"

namespace wallheat {
namespace {

/// Three rooms of a row each: beside a warm wall, between a warm and a cold one, beside cold ones.
FloorPlan three_rooms() {
  FloorPlan plan{Grid<double>(9, 12, 5.0), Grid<std::uint8_t>(9, 12)};
  for (std::size_t col = 1; col < 11; ++col)
    for (const std::size_t row : {1U, 4U, 7U}) plan.interior(row, col) = 1;
  for (std::size_t col = 0; col < 12; ++col)
    for (const std::size_t row : {0U, 2U, 3U}) plan.domain(row, col) = 25;
  return plan;
}

WallNeed need_of(const NeedQuestion& question) {
  const FloorPlan plan = three_rooms();
  const Superposition linear = superposition_of(plan, {25}, *make_steady_solver(Isa::baseline), {});
  return {question,
          {{"one", true, linear.now.bound,
            needs_of_rooms(question, linear, room_places_of(plan, {0}))}}};
}

NeedVerdict verdict_of_room(const WallNeed& need, std::size_t room) {
  return verdict_on(need.plans.front().rooms.at(room).needed, need.question.limit);
}

TEST(WallNeed, tells_rooms_that_need_no_wall_much_wall_and_whom_no_wall_helps) {
  const WallNeed cold = need_of({.target = 40, .limit = 50});
  EXPECT_EQ(verdict_of_room(cold, 0), NeedVerdict::reachable);
  EXPECT_EQ(verdict_of_room(cold, 1), NeedVerdict::above_limit);
  EXPECT_EQ(verdict_of_room(cold, 2), NeedVerdict::never);
  EXPECT_EQ(verdict_of_room(need_of({.target = 4}), 2), NeedVerdict::always);
  // Of three rooms a third is one, two thirds are two, and one more than that is never reached.
  EXPECT_LT(cold.for_share(1.0 / 3).value, cold.for_share(2.0 / 3).value);
  EXPECT_EQ(cold.for_share(0.67).value, std::numeric_limits<double>::infinity());
}

TEST(WallNeed, of_an_area_tells_how_much_of_it_is_above_the_target_now) {
  const WallNeed need = need_of({.target = 18, .area_share = 0.5});
  const std::vector<RoomNeed>& rooms = need.plans.front().rooms;
  EXPECT_GT(rooms.at(0).now, 50);
  EXPECT_EQ(rooms.at(2).now, 0);
  EXPECT_EQ(verdict_of_room(need, 0), NeedVerdict::reachable);
  EXPECT_EQ(verdict_of_room(need, 2), NeedVerdict::never);
}

TEST(WallNeed, leaves_rooms_out_that_are_too_small_to_count) {
  EXPECT_EQ(need_of({.min_cells = 10}).rooms(), 3U);
  const Report none = report_of(need_of({.min_cells = 11}));
  EXPECT_EQ(value_of(none, "rooms"), Value(0));
  EXPECT_FALSE(value_of(none, "needed").is_known());
}

TEST(WallNeed, has_no_number_in_its_files_if_there_is_none) {
  const Report report = report_of(need_of({.target = 40, .limit = 50}));
  const std::vector<Table::Row> rooms = rows_of(report, "each_room");
  ASSERT_EQ(rooms.size(), 3U);
  EXPECT_EQ(cell_of(report, "each_room", 0, "room"), Value(3)) << "who needs the most";
  for (const char* column : {"needed", "uncertainty", "most"})
    EXPECT_FALSE(cell_of(report, "each_room", 0, column).is_known()) << column;
  EXPECT_EQ(cell_of(report, "each_room", 0, "verdict"), Value("never"));
  EXPECT_EQ(cell_of(report, "each_room", 2, "verdict"), Value("reachable"));
  EXPECT_FALSE(cell_of(report, "plans", 0, "temperature").is_known());
  EXPECT_EQ(report.table_of_csv(), &table_of(report, "each_room"));
}

/// A plan whose rooms need these temperatures.
WallNeed need_of_rooms(const std::vector<double>& needs, const NeedQuestion& question) {
  PlanNeed plan{"one", true, 0, {}};
  for (const double needed : needs)
    plan.rooms.push_back({1, 10, 0, unknown, {needed, needed, needed}});
  return {question, {plan}};
}

constexpr double never = std::numeric_limits<double>::infinity();

TEST(WallNeed, is_told_in_sentences_that_hold) {
  const std::vector<double> needs{20, 21, 22, 63.0625, 124.5, never, never};
  const auto told = [](const std::vector<double>& of_rooms, double share) {
    return sentences_of(report_of(need_of_rooms(of_rooms, {.room_share = share})));
  };
  EXPECT_THAT(told(needs, 0.5), Contains("the wall must be at 63.06 °C for 50 % of the rooms"));
  EXPECT_THAT(told(needs, 0.7),
              Contains("a wall of 100 °C is not enough for 70 % of the rooms: it would have to be "
                       "at 124.50 °C"));
  EXPECT_THAT(told({20, 27879680.7}, 1),
              Contains("a wall of 100 °C is not enough for 100 % of the rooms, by far"));
  EXPECT_THAT(told(needs, 1), testing::IsSupersetOf(
                                  {"no temperature of the wall is enough for 100 % of the rooms",
                                   "3 of 7 rooms (42.9 %): 1 would need more than 100 °C, for 2 no "
                                   "temperature of this wall is enough"}));
  EXPECT_THAT(told({20, 124.5}, 1),
              Contains("1 of 2 rooms (50.0 %): 1 would need more than 100 °C"));
  EXPECT_THAT(told({20, never}, 1),
              Contains("1 of 2 rooms (50.0 %): for 1 no temperature of this wall is enough"));
  EXPECT_THAT(told({-never, -never}, 0.95),
              Contains("the wall may be at any temperature for 95 % of the rooms"));
  EXPECT_THAT(told({20, 30}, 1), Not(Contains(HasSubstr("would need"))));
}

/// Of each share of the rooms that is told beside the one that is asked for.
TEST(WallNeed, is_counted_by_verdict_and_by_share) {
  const Report report = report_of(
      need_of_rooms({-never, 20, 21, 22, 25, 63.0625, 124.5, never}, {.room_share = 0.5}));
  EXPECT_EQ(value_of(report, "reached_now"), Value(5));
  EXPECT_EQ(value_of(report, "always"), Value(1));
  EXPECT_EQ(value_of(report, "reachable"), Value(5));
  EXPECT_EQ(value_of(report, "above_limit"), Value(1));
  EXPECT_EQ(value_of(report, "never"), Value(1));
  EXPECT_EQ(value_of(report, "needed"), Value(22.0));
  EXPECT_EQ(cell_of(report, "other_shares", 1, "temperature"), Value(63.0625));
  EXPECT_EQ(cell_of(report, "other_shares", 2, "verdict"), Value("never"));
  EXPECT_THAT(sentences_of(report),
              Contains("50 %: 22.00 °C, 75 %: 63.06 °C, 90 %: never, 100 %: never"));
  EXPECT_EQ(table_of(report, "each_room").columns.back().name, "verdict") << "not all are reached";
}

TEST(WallNeed, lists_the_rooms_within_the_limit_first_if_there_are_several_plans) {
  WallNeed need = need_of_rooms({20, 150, 30}, {});
  need.plans.push_back({"two", false, 0, {{4, 10, 0, unknown, {40, 40, 40}}}});
  const Report report = report_of(need);
  const auto needed = [&](std::size_t row) { return cell_of(report, "each_room", row, "needed"); };
  EXPECT_EQ(needed(0), Value(40.0));
  EXPECT_EQ(needed(2), Value(20.0));
  EXPECT_EQ(needed(3), Value(150.0));
  EXPECT_EQ(table_of(report, "each_room").most_shown, 3U) << "people see those";
  EXPECT_EQ(cell_of(report, "plans", 1, "temperature"), Value(40.0));
}

TEST(WallNeed, says_of_no_wall_that_makes_a_difference_that_it_makes_none) {
  // Two of the room's four cells are beside the wall, and two are beyond its reach.
  FloorPlan plan{Grid<double>(3, 12, 5.0), Grid<std::uint8_t>(3, 12)};
  for (const std::size_t col : {1U, 2U, 8U, 9U}) plan.interior(1, col) = 1;
  plan.domain(0, 1) = plan.domain(0, 2) = 25;
  const Superposition linear = superposition_of(plan, {25}, *make_steady_solver(Isa::baseline), {});
  const NeedQuestion question{.area_share = 0.9};
  const WallNeed need{
      question,
      {{"one", true, linear.now.bound, needs_of_rooms(question, linear, {{0, 1, 2, 3}})}}};
  EXPECT_LT(needed_of_cells(linear, 0, question.target).front().value, never);
  ASSERT_EQ(verdict_of_room(need, 0), NeedVerdict::never);
  EXPECT_THAT(sentences_of(report_of(need)),
              Contains("no temperature of the wall is enough for 95 % of the rooms"));
}

TEST(WallNeed, is_drawn_up_to_the_room_that_needs_most) {
  std::vector<double> needs{30, 31, 31, 32, 32, 33, 33, 34, 34, 35, 36, 38, 63};
  Report report;
  const auto end = [&] {
    report = report_of(need_of_rooms(needs, {.room_share = 0.5}));
    return report.first<Figure>()->series.front().x_end.back();
  };
  EXPECT_GE(end(), 63);
  EXPECT_LT(end(), 70);
  const Figure shares = std::get<Figure>(report.parts.back());
  EXPECT_EQ(shares.series.front().y.front(), 100.0 / 13) << "30 °C is one's need";
  EXPECT_EQ(shares.series.front().y.back(), 100);
  needs.back() = 9000;
  EXPECT_LT(end(), 70) << "9000 is above the limit";
}

/// Of ten cells: a mean, and how many of them are above a threshold, surely and perhaps.
Figures ten_cells(double mean, std::int64_t above, std::int64_t least, std::int64_t most) {
  Figures figures;
  figures.cells = 10;
  figures.summary.statistics = {mean, 1, 10.0 * static_cast<double>(above), 0};
  figures.summary.doubt.above_least = least;
  figures.summary.doubt.above_most = most;
  figures.bound = 0.125;
  return figures;
}

/// Two plans: with the second setting the first has a mean of 20, and half of the other is warm.
TEST(WhatIf, tells_of_all_plans_and_of_each) {
  const WhatIf asked{{25}, {{25}, {30}}, {}, 0};
  const auto plans = std::make_shared<WhatIfPlans>(3);  // the third cannot be used
  plans->put(1, {"two",
                 1,
                 {ten_cells(10, 0, 0, 0), ten_cells(17.9, 0, 0, 0), ten_cells(18, 5, 4, 6),
                  ten_cells(18.1, 5, 5, 5)}});
  plans->put(0, {"one", 0, {ten_cells(16, 0, 0, 0), ten_cells(20, 10, 10, 10)}});
  const Report report = report_of(asked, plans, false);
  const auto now = [&](const char* key) { return cell_of(report, "settings", 0, key); };
  const auto then = [&](const char* key) { return cell_of(report, "settings", 1, key); };
  EXPECT_EQ(now("mean_of_means"), Value(13.0));
  EXPECT_EQ(now("wall_25"), Value(25.0));
  EXPECT_EQ(then("mean_of_means"), Value(19.0));
  EXPECT_EQ(then("plans"), Value(2));
  EXPECT_EQ(then("half_above"), Value(2));
  EXPECT_EQ(then("half_above_text"), Value("1 to 2"));
  EXPECT_EQ(then("half_below"), Value(0));
  EXPECT_EQ(then("rooms"), Value(1));
  EXPECT_EQ(then("rooms_above"), Value(1));
  EXPECT_EQ(then("rooms_above_least"), Value(0));
  EXPECT_EQ(now("rooms_above_most"), Value(1));
  EXPECT_NEAR(std::get<double>(then("error_bound")), 0.125, 1e-9);
  EXPECT_EQ(now("rooms_below"), Value(0));
  const auto plan = [&](const char* key) { return cell_of(report, "plans", 4, key); };
  ASSERT_EQ(rows_of(report, "plans").size(), 6U);
  EXPECT_EQ(plan("id"), Value("two"));
  EXPECT_EQ(plan("wall_25"), Value(30.0));
  EXPECT_EQ(plan("pct_above"), Value(50.0));
  EXPECT_EQ(plan("pct_above_least"), Value(40.0));
  EXPECT_EQ(plan("pct_above_most"), Value(60.0));
  EXPECT_EQ(cell_of(report, "plans", 5, "room"), Value(1));
  EXPECT_THAT(report.first<Figure>()->series.at(0).y, ElementsAre(13, 19)) << "from now on";
}

/// One plan, and two walls of which one has two temperatures.
TEST(WhatIf, shows_a_plan_that_was_asked_for_alone_and_its_rooms) {
  const WhatIf asked{{5, 25}, {{5, 25}, {8, 20}, {8, 22}}, {}, 0.5};
  const auto plans = std::make_shared<WhatIfPlans>(1);
  WhatIfPlan plan{"one", 1};
  for (const double mean : {16.0, 17.0, 18.0}) {
    plan.figures.push_back(ten_cells(mean, 5, 5, 5));
    plan.figures.push_back(ten_cells(mean + 1, 5, 4, 6));
  }
  plans->put(0, plan);
  const Report report = report_of(asked, plans, true);
  const auto room = [&](const char* key) { return cell_of(report, "rooms", 0, key); };
  EXPECT_EQ(room("mean_now"), Value(17.0));
  EXPECT_EQ(room("mean_then"), Value(19.0));
  EXPECT_EQ(room("area_m2"), Value(2.5));
  EXPECT_EQ(room("pct_above"), Value("40.000 to 60.000"));
  EXPECT_EQ(cell_of(report, "settings", 2, "std_temp"), Value(1.0));
  const Figure& means = *report.first<Figure>();
  EXPECT_THAT(means.x.name, HasSubstr("25 °C"));
  ASSERT_EQ(means.series.size(), 2U) << "of the plan, and of its room";
  EXPECT_THAT(means.series[0].x, ElementsAre(20, 22));
  EXPECT_THAT(means.series[1].y, ElementsAre(18, 19));
  EXPECT_EQ(asked.text_of(2), "walls of 5 °C at 8 °C, walls of 25 °C at 22 °C");
}

TEST(Figures, count_cells_near_a_threshold_as_uncertain) {
  const std::vector<double> values{14, 15 - 1e-9, 15, 18, 18 + 1e-9, 20, 21, 22};
  const Figures figures = figures_of(values, 1e-8, {});
  EXPECT_EQ(figures.summary.statistics.pct_above_18, 50);
  EXPECT_EQ(figures.summary.doubt.above_least, 3);
  EXPECT_EQ(figures.summary.doubt.above_most, 5);
  EXPECT_EQ(figures.lowest, 14);
  EXPECT_EQ(figures.highest, 22);
  EXPECT_GE(figures.bound, 1e-8);
}

TEST(Figures, of_cells_of_which_one_is_nan_have_no_extremes) {
  for (std::size_t cell = 0; cell < 3; ++cell) {
    std::vector<double> values{19, 20, 21};
    values[cell] = std::nan("");
    const Figures figures = figures_of(values, 1e-8, {});
    EXPECT_TRUE(std::isnan(figures.lowest)) << cell;
    EXPECT_TRUE(std::isnan(figures.highest)) << cell;
    EXPECT_TRUE(std::isnan(figures.bound)) << cell;
  }
  EXPECT_TRUE(std::isnan(figures_of({}, 1e-8, {}).lowest)) << "there is no cell";
}

}  // namespace
}  // namespace wallheat
