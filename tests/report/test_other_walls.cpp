#include <limits>
#include <sstream>

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

TEST(WallNeed, leaves_rooms_out_that_are_too_small_to_count) {
  EXPECT_EQ(need_of({.min_cells = 10}).rooms(), 3U);
  EXPECT_EQ(need_of({.min_cells = 11}).rooms(), 0U);
  EXPECT_EQ(to_json(need_of({.min_cells = 11}))["needed"], Json());
}

TEST(WallNeed, has_no_number_in_its_files_where_there_is_none) {
  std::ostringstream csv;
  write_csv(csv, need_of({.target = 40, .limit = 50}));
  EXPECT_THAT(csv.str(),
              AllOf(HasSubstr("\none,3,10,"), HasSubstr(",0.0,,"), EndsWith(",,never\n")));
  EXPECT_THAT(json_text(to_json(need_of({.target = 40}))), HasSubstr("\"temperature\": null"));
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
