#include <limits>
#include <sstream>

#include "report/unknown.hpp"
#include "report/wall_need.hpp"
#include "report/what_if.hpp"
#include "support/matchers.hpp"
#include "view/json.hpp"
#include "wallheat/rooms.hpp"

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

std::vector<std::vector<std::uint32_t>> rooms_in(const FloorPlan& plan) {
  const RoomMap map = map_rooms(plan.interior, 0);
  std::vector<std::vector<std::uint32_t>> rooms(map.count);
  std::uint32_t place = 0;
  for (const std::uint32_t room : map.room.cells)
    if (room > 0) rooms[room - 1].push_back(place++);
  return rooms;
}

WallNeed need_of(const NeedQuestion& question) {
  const FloorPlan plan = three_rooms();
  const Superposition linear = superposition_of(plan, {25}, *make_steady_solver(Isa::baseline), {});
  return {question,
          {{"one", true, linear.now.bound, needs_of_rooms(question, linear, rooms_in(plan))}}};
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

Json json_of_need(const WallNeed& need) {
  std::ostringstream json;
  write_json(report_of(need), json);
  return Json::parse(json.str());
}

TEST(WallNeed, leaves_rooms_out_that_are_too_small_to_count) {
  EXPECT_EQ(need_of({.min_cells = 10}).rooms(), 3U);
  EXPECT_EQ(need_of({.min_cells = 11}).rooms(), 0U);
  EXPECT_EQ(json_of_need(need_of({.min_cells = 11}))["needed"], Json());
}

TEST(WallNeed, has_no_number_in_its_files_if_there_is_none) {
  std::ostringstream csv;
  const WallNeed need = need_of({.target = 40, .limit = 50});
  write_csv(*report_of(need).table_of_csv(), csv);
  EXPECT_THAT(csv.str(),
              AllOf(HasSubstr("\none,3,10,"), HasSubstr(",0.0,,,"), HasSubstr(",,never\n")));
  EXPECT_EQ(json_of_need(need_of({.target = 40}))["plans"][0]["temperature"], Json());
}

/// A plan whose rooms need these temperatures.
WallNeed need_of_rooms(const std::vector<double>& needs, const NeedQuestion& question) {
  PlanNeed plan{"one", true, 0, {}};
  for (const double needed : needs)
    plan.rooms.push_back({1, 10, 0, unknown, {needed, needed, needed}});
  return {question, {plan}};
}

std::string printed(const WallNeed& need) {
  std::ostringstream text;
  write_text(report_of(need), text);
  return text.str();
}

constexpr double never = std::numeric_limits<double>::infinity();

TEST(WallNeed, is_told_in_sentences_that_hold) {
  const std::vector<double> needs{20, 21, 22, 63.0625, 124.5, never, never};
  const auto told = [&](double share) {
    return printed(need_of_rooms(needs, {.room_share = share}));
  };
  EXPECT_THAT(told(0.5), HasSubstr("the wall must be at 63.06 °C for 50 % of the rooms\n"));
  EXPECT_THAT(told(0.7), HasSubstr("a wall of 100 °C is not enough for 70 % of the rooms: it would "
                                   "have to be at 124.50 °C\n"));
  EXPECT_THAT(printed(need_of_rooms({20, 27879680.7}, {.room_share = 1})),
              HasSubstr("a wall of 100 °C is not enough for 100 % of the rooms, by far\n"));
  EXPECT_THAT(told(1), HasSubstr("no temperature of the wall is enough for 100 % of the rooms\n"));
  EXPECT_THAT(told(1), HasSubstr("3 of 7 rooms (42.9 %): 1 would need more than 100 °C, for 2 no "
                                 "temperature of this wall is enough\n"));
  EXPECT_THAT(printed(need_of_rooms({20, 124.5}, {})), HasSubstr("(50.0 %): 1 would need more"));
  EXPECT_THAT(printed(need_of_rooms({20, never}, {})), HasSubstr("(50.0 %): for 1 no temperature"));
  EXPECT_THAT(printed(need_of_rooms({-never, -never}, {})), HasSubstr("may be at any temperature"));
  EXPECT_THAT(printed(need_of_rooms({20, 30}, {})), Not(HasSubstr("out of reach")));
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
  EXPECT_THAT(printed(need), AllOf(Not(HasSubstr("makes no difference")), HasSubstr("is enough")));
}

TEST(WallNeed, is_drawn_up_to_the_room_that_needs_most) {
  std::vector<double> needs{30, 31, 31, 32, 32, 33, 33, 34, 34, 35, 36, 38, 63};
  const NeedQuestion question{.room_share = 0.5};
  const auto end = [&] {
    const Report report = report_of(need_of_rooms(needs, question));
    return report.first<Figure>()->series.front().x_end.back();
  };
  EXPECT_GE(end(), 63);
  EXPECT_LT(end(), 70);
  needs.back() = 9000;
  EXPECT_LT(end(), 70) << "9000 is above the limit";
}

/// Two plans: with the second setting the first has a mean of 20, and half of the other is warm.
TEST(WhatIf, keeps_sums_of_plans_and_hands_their_figures_over_one_by_one) {
  const WhatIf asked{{25}, {{25}, {30}}, {}, 0};
  const auto figures = [](double mean, Bounded above) {
    return Figures{10, mean, 1, mean - 1, mean + 1, 0, above, {0, 0, 0}};
  };
  const std::vector<WhatIfPlan> plans{
      {"one", {figures(16, {0, 0, 0}), figures(20, {100, 100, 100})}, {}},
      {"two", {figures(10, {0, 0, 0}), figures(18, {50, 49, 51})}, {}}};
  WhatIfTotals totals(asked, 3);  // the third cannot be used
  totals.add(1, plans[1], asked.thresholds);
  totals.add(0, plans[0], asked.thresholds);
  const WhatIfPlans each = [&](const auto& take) {
    for (const WhatIfPlan& plan : plans) take(plan);
  };
  const Report report = report_of(asked, totals, each, nullptr);
  std::ostringstream text;
  write_json(report, text);
  const Json json = Json::parse(text.str());
  EXPECT_EQ(json["settings"][0]["mean_of_means"], 13);
  EXPECT_EQ(json["settings"][1]["mean_of_means"], 19);
  EXPECT_EQ(json["settings"][1]["plans"], 2);
  EXPECT_EQ(json["settings"][1]["half_above"], 2);
  EXPECT_EQ(json["settings"][1]["half_above_least"], 1);
  ASSERT_EQ(json["plans"].size(), 4U);
  EXPECT_EQ(json["plans"][3]["id"], "two");
  EXPECT_EQ(json["plans"][3]["wall_25"], 30);
  std::ostringstream people;
  write_text(report, people);
  EXPECT_THAT(people.str(),
              AllOf(HasSubstr("plans  2\n"), HasSubstr("1 to 2"), Not(HasSubstr("two"))));
}

TEST(Figures, count_cells_near_a_threshold_as_uncertain) {
  const std::vector<double> values{14, 15 - 1e-9, 15, 18, 18 + 1e-9, 20, 21, 22};
  const Figures figures = figures_of(values, 1e-8, {});
  EXPECT_EQ(figures.above.value, 50);
  EXPECT_EQ(figures.above.least, 37.5);
  EXPECT_EQ(figures.above.most, 62.5);
  EXPECT_EQ(figures.below.value, 25);
  EXPECT_EQ(figures.below.least, 12.5);
  EXPECT_EQ(figures.below.most, 37.5);
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
}

TEST(Figures, of_no_cell_are_unknown) {
  EXPECT_TRUE(std::isnan(figures_of({}, 1e-8, {}).mean));
  EXPECT_TRUE(std::isnan(figures_of({}, 1e-8, {}).above.most));
}

}  // namespace
}  // namespace wallheat
