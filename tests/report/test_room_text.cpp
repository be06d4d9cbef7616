// The door width and the names of rooms in the output of commands.

#include "report/room_text.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns a map with a room of 4 x 3 cells on the left, a wall, and a room of one cell at the
/// upper right.
RoomMap two_rooms() {
  RoomMap map{Grid<std::uint32_t>(4, 6), 2};
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t col = 0; col < 3; ++col) map.labels(row, col) = 1;
  map.labels(0, 4) = 2;
  return map;
}

RoomNames names_in(const std::string& text, double cell_metres = 0, std::size_t min_cells = 1) {
  return parse_room_names("rooms.csv", text, two_rooms(), min_cells, cell_metres);
}

TEST(RoomNames, AreThoseOfPointsInCellsOrMetres) {
  const RoomNames expected{{1, "Küche, \"alt\""}, {2, "Bad"}};
  EXPECT_EQ(names_in("x,y,name\n2,3,\"Küche, \"\"alt\"\"\"\n\n4.9,0,Bad\n"), expected);
  EXPECT_EQ(
      names_in("\xEF\xBB\xBFx_m;y_m;name\r\n1,4;1,9;Küche, \"\"\"alt\"\"\"\r\n2,0;0,2;Bad\r\n",
               0.5),
      expected)
      << "as spreadsheets with decimal commas write it";
}

TEST(RoomNames, RejectsInvalidLinesWithTheirNumbers) {
  for (const auto& [text, facts] : std::initializer_list<std::pair<std::string, Facts>>{
           {"", {"rooms.csv", "x,y,name"}},
           {"room,name\n", {"rooms.csv", "line 1", "x,y,name", "x_m,y_m,name"}},
           {"x,y,name\n1,2\n", {"line 2", "3", "2"}},
           {"x,y,name\n1,2,\n", {"line 2", "name"}},
           {"x,y,name\n1,z,Bad\n", {"line 2", "'z'"}},
           {"x,y,name\n1,2,K\xFC"
            "che\n",
            {"line 2", "UTF-8"}},
           {"x,y,name\n3,0,Bad\n", {"line 2", "(3, 0)", "wall"}},
           {"x,y,name\n6,0,Bad\n", {"line 2", "(6, 0)", "6 x 4 cells"}},
           {"x,y,name\n0,-1,Bad\n", {"line 2", "(0, -1)", "6 x 4 cells"}},
           {"x,y,name\n0,0,Bad\n2,3,Flur\n", {"line 3", "'Bad'", "'Flur'", "--door"}},
           {"x_m,y_m,name\n0,0,Bad\n", {"line 1", "--cell-size"}}})
    EXPECT_THAT(error_message_of<RunError>([&, text = text] { (void)names_in(text); }),
                Mentions(facts))
        << text;
  EXPECT_THAT(error_message_of<RunError>([] { (void)names_in("x,y,name\n4,0,Bad\n", 0, 2); }),
              Mentions({"line 2", "1 cell", "--min-cells 2"}));
}

/// Two rooms side by side, with an opening of this width between them.
Grid<std::uint8_t> with_opening(std::size_t rows, std::size_t cols, std::size_t opening) {
  Grid<std::uint8_t> interior(rows, cols, 1);
  for (std::size_t row = opening; row < rows; ++row) interior(row, cols / 2) = 0;
  return interior;
}

TEST(FindDivision, FindsSmallestEvenWidth) {
  // On a long side, not every width is tried at first.
  for (const auto& [cols, opening] : {std::pair(300, 20), {1250, 96}, {1250, 110}, {4600, 150}}) {
    const auto interior =
        with_opening(400, static_cast<std::size_t>(cols), static_cast<std::size_t>(opening));
    const auto division = find_division(interior, 4);
    ASSERT_TRUE(division) << cols;
    EXPECT_EQ(count_rooms(interior, division->door_cells).counted, division->rooms);
    EXPECT_EQ(count_rooms(interior, division->door_cells - 2).counted, 1U)
        << "a smaller width would do: " << division->door_cells;
    EXPECT_THAT(
        division_text(*division, 4, 0.05),
        Mentions({"4 cells (0.2 m)", "--door " + std::to_string(division->door_cells), "2 rooms"}));
  }
  EXPECT_FALSE(find_division(Grid<std::uint8_t>(50, 50, 1), 1)) << "nothing divides one room";
}

TEST(DoorSuffix, NamesWidthInCellsAndMetres) {
  EXPECT_THAT(door_suffix(4, true, 0.05), Mentions({"4 cells", "0.2 m", "--door"}));
  EXPECT_THAT(door_suffix(18, false, 0), Mentions("18 cells"));
  EXPECT_THAT(door_suffix(18, false, 0), Not(Mentions("--door")));
  EXPECT_THAT(door_suffix(std::nullopt, true, 0.05), Mentions({"1/50", "--door"}));
  EXPECT_THAT(door_suffix(0, false, 0.05), Mentions("walls"));
}

}  // namespace
}  // namespace wallheat
