#include <array>
#include <fstream>
#include <sstream>

#include "support/png.hpp"
#include "support/shell_test.hpp"
#include "view/json.hpp"

// wallheat generate, and the files that it writes next to the plans.

namespace wallheat {
namespace {

class GenerateCommandTest : public ShellTest {
 protected:
  using Pixels = Grid<std::array<std::uint8_t, 3>>;
  /// Writes the picture flat.png.
  void write_flat(const Pixels& pixels) const {
    const NamedBytes png = png_of(pixels.cells.data(), pixels.rows, pixels.cols, PNG_FORMAT_RGB);
    std::ofstream(path("flat.png"), std::ios::binary)
        .write(reinterpret_cast<const char*>(png.bytes.data()),
               static_cast<std::streamsize>(png.bytes.size()));
  }
};

TEST_F(GenerateCommandTest, WritesSameFilesToArchivesAsToDirectories) {
  for (const std::string kind : {"floorplan", "poisson"}) {
    const std::string words = "generate --count 140 --size 16 --seed 3 --kind " + kind + " --out ";
    shell("wallheat " + words + kind + " && wallheat " + words + kind + ".npz");
    shell("mkdir u-" + kind + " && cd u-" + kind + " && python3 -m zipfile -e ../" + kind +
          ".npz . && diff -r . ../" + kind);
  }
  const std::string again = "generate --out poisson.npz --kind poisson --size 16 --seed 3 ";
  expect_error(again, 1, {"poisson.npz", "--overwrite"});
  const std::string before = bytes("poisson.npz");
  shell("wallheat " + again + "--count 140 --overwrite");
  EXPECT_TRUE(bytes("poisson.npz") == before) << "the same plans are the same bytes";
}

TEST_F(GenerateCommandTest, ReplacesPlansWithoutChangingOtherNamesOfTheirFiles) {
  const std::string generate = "wallheat generate --out plans --count 2 --size 16 ";
  shell(generate + "--kind poisson");
  // Files with several hard links, and a plan that is a symbolic link to a file elsewhere.
  shell(
      "cp -al plans copy; cp -r plans before; cp plans/00002_domain.npy elsewhere.npy; "
      "ln -sf ../elsewhere.npy plans/00002_domain.npy");
  shell(generate + "--seed 7 --overwrite");
  shell("diff -r copy before; cmp elsewhere.npy before/00002_domain.npy");
  shell("wallheat generate --out fresh --count 2 --size 16 --seed 7; diff -r plans fresh");
}

TEST_F(GenerateCommandTest, StoresGridSpacingOfPlates) {
  for (const std::string out : {"plates", "plates.zip"})
    shell("wallheat generate --kind poisson --size 48 --count 2 --out " + out);
  const auto mean = [&](const std::string& plans) {
    const Finished solved = shell("wallheat solve 00002 --json --solver steady --data " + plans);
    EXPECT_EQ(solved.err.find("--spacing") != std::string::npos, plans == "bare");
    return Json::parse(solved.out)["mean_temp"].get<double>();
  };
  const double expected = mean("plates --spacing 0.020833333333333332");
  for (const char* plans : {"plates", "plates.zip"}) EXPECT_EQ(mean(plans), expected);
  shell("cp -r plates bare; rm bare/spacing.txt");
  EXPECT_GT(mean("bare"), 1000 * expected) << "the default spacing is 1";
  EXPECT_THAT(shell("wallheat run --data bare --out bare.h5").err,
              Mentions({"--spacing", "spacing.txt"}));
  shell("echo 1/48 > bare/spacing.txt");
  expect_error("run --data bare --out new.h5", 1, {"bare/spacing.txt", "number", "0"});
}

TEST_F(GenerateCommandTest, WritesSolvablePlansFromDrawings) {
  shell("cp '" WALLHEAT_CONFIGS "/../jobs/examples/flat.png' .; cp flat.png other.png");
  const auto printed = lines_of(shell("wallheat generate --from flat.png --from other.png --wall "
                                      "'#ff0000=25' --wall '#000000=5' --scale 2 --out two.zip")
                                    .out);
  for (const Facts& facts : {Facts{"2 floor plans", "384 x 288", "width x height", "two.zip"},
                             {"other", "#000000", "5.0 °C"},
                             {"other", "#78a0d2", "outside"}})
    EXPECT_THAT(printed, Contains(Mentions(facts)));
  shell("wallheat run --data two.zip --out r.h5 --tolerance 0.01");
  const Json solved = Json::parse(shell("wallheat list r.h5 --json").out)["plans"];
  ASSERT_EQ(solved.size(), 2U);
  for (const Json& plan : solved) EXPECT_EQ(plan["status"], "converged") << plan;
}

TEST_F(GenerateCommandTest, WarnsOfLabelsThatBecomeOutside) {
  constexpr std::size_t side = 24;
  Pixels pixels(side, side, {200, 210, 220});  // the outside
  for (std::size_t row = 2; row < side - 2; ++row)
    for (std::size_t col = 2; col < side - 2; ++col) {
      const bool is_wall = row == 2 || col == 2 || row == side - 3 || col == side - 3;
      pixels(row, col).fill(is_wall ? 0 : 255);
    }
  for (std::size_t col = 9; col < 15; ++col) pixels(10, col).fill(170);  // a label
  write_flat(pixels);
  const std::string command = "generate --from flat.png --wall '#000000=5' --overwrite --out drawn";
  expect_error(command, 1, {"flat.png", "x 9", "y 10", "#aaaaaa", "6 pixels", "outside", "paint"});
  const auto printed = lines_of(shell("wallheat " + command + " --colour-tolerance 80").out);
  for (const Facts& facts :
       {Facts{"flat.png", "1", "6 pixels", "x 9", "y 10", "0 °C"}, {"#aaaaaa", "outside", "6"}})
    EXPECT_THAT(printed, Contains(Mentions(facts)));
  const Json json = Json::parse(shell("wallheat " + command + " --colour-tolerance 80 --json").out);
  EXPECT_EQ(json["enclosed_areas"],
            Json::parse(R"([{"id": "flat", "x": 9, "y": 10, "pixels": 6, "borders_room": true}])"));
  EXPECT_EQ(json["near_colours"][0]["meaning"], "outside");
  ASSERT_EQ(json["warnings"].size(), 1U) << "of the enclosed area only";
  EXPECT_EQ(json["rooms"],
            Json::parse(
                R"([{"id": "flat", "rooms": 1, "small_rooms": 0, "door_cells": 1, "door_m": null,
               "dividing_door_cells": null, "dividing_door_m": null, "divided_rooms": null}])"));
}

TEST_F(GenerateCommandTest, WarnsOfProbableMistakesInDrawings) {
  constexpr std::size_t side = 60;
  Pixels pixels(side, side, {120, 160, 210});  // the outside
  for (std::size_t row = 2; row < side - 2; ++row)
    for (std::size_t col = 2; col < side; ++col) {
      const bool is_wall = row == 2 || col == 2 || row == side - 3;
      pixels(row, col).fill(is_wall ? 0 : 255);
    }
  for (std::size_t col = 9; col < 15; ++col) pixels(side - 3, col).fill(255);  // a hole
  write_flat(pixels);
  const auto printed = lines_of(shell("wallheat generate --from flat.png --wall '#000000=5' "
                                      "--wall '#00ff00=25' --cell-size 50 --out drawn")
                                    .out);
  const Facts warnings[] = {{"#00ff00", "25.0 °C", "--wall"},
                            {"60 x 60 cells", "3000.00 m x 3000.00 m", "--cell-size"},
                            {"54 pixels", "edge", "x 59, y 3"},
                            {"outside", "0 °C", "6 pixels", "x 9, y 57"}};
  for (Facts facts : warnings) {
    facts.insert(facts.end(), {"flat.png", "warning:"});
    EXPECT_THAT(printed, Contains(Mentions(facts)));
  }
  // The client and the next engineer see them, too.
  const Json record = Json::parse(bytes("drawn/flat_drawing.json"));
  shell("wallheat solve flat --data drawn --solver steady --page flat.html");
  ASSERT_EQ(record["warnings"].size(), std::size(warnings));
  for (std::size_t i = 0; i < std::size(warnings); ++i) {
    EXPECT_THAT(record["warnings"][i]["warning"].get<std::string>(), Mentions(warnings[i]));
    EXPECT_THAT(bytes("flat.html"), Mentions(warnings[i]));
  }
}

TEST_F(GenerateCommandTest, SolveExplainsWallsAtZeroDegrees) {
  Pixels pixels(9, 9, {255, 255, 255});  // a room
  for (std::size_t k = 0; k < 9; ++k)
    for (auto* const pixel : {&pixels(0, k), &pixels(8, k), &pixels(k, 0), &pixels(k, 8)})
      pixel->fill(0);
  write_flat(pixels);
  shell("wallheat generate --from flat.png --wall '#000000=5' --out walls");
  expect_error("solve flat --data walls --wall 0=-10", 1, {"flat", "0.0 °C", "5.0", "outside"});
  pixels(0, 0) = {120, 160, 210};
  write_flat(pixels);
  shell("wallheat generate --from flat.png --wall '#000000=5' --out outside");
  expect_error("solve flat --data outside --wall 7=3", 1, {"7.0 °C", "0.0", "5.0", "outside"});
  shell("wallheat solve flat --data outside --wall 0=-10");
}

class DrawnFlatTest : public GenerateCommandTest {
 protected:
  void SetUp() override {
    shell("cp '" WALLHEAT_CONFIGS "/../jobs/examples/flat.png' .");
    shell("wallheat " + generate + "--cell-size 0.05 --out drawn");
  }
  const std::string generate = "generate --from flat.png --wall '#ff0000=25' --wall '#000000=5' ";
};

TEST_F(DrawnFlatTest, GeneratedPlansKeepRecordOfTheirDrawing) {
  const Json record = Json::parse(bytes("drawn/flat_drawing.json"));
  EXPECT_EQ(record["cell_size_m"], 0.05);
  EXPECT_EQ(record["colours"][1]["meaning"], "wall of 25.0 °C");
  expect_error(generate + "--out drawn", 1, {"building_ids.txt", "--overwrite"});
  shell("rm drawn/building_ids.txt drawn/*.npy");
  expect_error(generate + "--out drawn", 1, {"drawn/flat_drawing.json", "--overwrite"});
  shell("wallheat " + generate + "--out drawn.zip && python3 -m zipfile -e drawn.zip u");
  EXPECT_EQ(Json::parse(bytes("u/flat_drawing.json"))["cell_size_m"], nullptr);
  // A synthetic plan with the ID of a drawing does not keep its record.
  shell(
      "mkdir plans && echo '{}' > plans/00001_drawing.json && wallheat generate --count 1 --size "
      "16 "
      "--overwrite --out plans");
  EXPECT_FALSE(exists("plans/00001_drawing.json"));
}

TEST_F(DrawnFlatTest, OverwritingKeepsOtherPlansInList) {
  shell("cp flat.png second.png; cp flat.png third.png");
  const std::string add = "wallheat generate --wall '#ff0000=25' --wall '#000000=5' --out drawn ";
  shell("echo 1 > drawn/spacing.txt; echo gone >> drawn/building_ids.txt");
  shell(add + "--overwrite --from second.png");
  EXPECT_EQ(bytes("drawn/building_ids.txt"), "flat\nsecond\n") << "'gone' has no files";
  EXPECT_TRUE(exists("drawn/spacing.txt")) << "the other plans need it";
  shell(add + "--overwrite --from third.png --from flat.png");
  EXPECT_EQ(bytes("drawn/building_ids.txt"), "second\nthird\nflat\n");
  shell("wallheat generate --count 1 --size 16 --out drawn --overwrite");
  EXPECT_EQ(bytes("drawn/building_ids.txt"), "00001\n") << "--count is the number of plans";
}

TEST_F(DrawnFlatTest, SolveWritesValuesAsCsvWithoutRooms) {
  const auto csv = lines_of(shell("wallheat solve flat --data drawn -f csv").out);
  ASSERT_EQ(csv.size(), 2U);
  EXPECT_THAT(csv[0], Mentions({"id", "status", "mean_temp", "pct_above"}));
  EXPECT_THAT(csv[1], Mentions({"flat", "converged"}));
}

TEST_F(DrawnFlatTest, DoorImpliesRooms) {
  for (const std::string command : {"solve flat --data drawn", "whatif --data drawn --wall 25=22"})
    EXPECT_EQ(Json::parse(shell("wallheat " + command + " --door 0.6m --json").out)["door_cells"],
              12);
  expect_error("run --data drawn --out r.h5 --door 12", 2, {"--door", "--rooms"});
}

TEST_F(DrawnFlatTest, WarnsOfImplausibleDefaultDoorWidth) {
  const Facts commands{"solve flat --data drawn --rooms ",
                       "whatif flat --data drawn --wall 25=22 --rooms ",
                       "need flat --data drawn --wall 25 --room-mean 18 "};
  for (const std::string& command : commands) {
    EXPECT_THAT(shell("wallheat " + command).err,
                Mentions({"warning", "3 cells (0.15 m)", "--door 12", "0.6 m", "7 rooms"}));
    EXPECT_THAT(shell("wallheat " + command + "--cell-size 0.6").err,
                Mentions({"warning", "3 cells (1.8 m)", "--door"}));
    for (const char* plausible : {"--cell-size 0.3", "--door 3"})
      EXPECT_EQ(shell("wallheat " + command + plausible).err, "") << plausible;
  }
}

TEST_F(DrawnFlatTest, ReportsSmallestDoorWidthThatDividesPlanOfOneRoom) {
  const std::string again = "wallheat " + generate + "--overwrite --out drawn ";
  // The doors of the picture are 12 pixels wide.
  EXPECT_THAT(lines_of(shell(again + "--cell-size 0.05").out),
              Contains(Mentions({"flat", "--door 12", "0.6 m", "7 rooms"})));
  EXPECT_THAT(lines_of(shell(again).out), Contains(Mentions({"flat", "--door 12", "7 rooms"})));
  const Json rooms = Json::parse(shell(again + "--cell-size 0.05 --json").out)["rooms"][0];
  EXPECT_EQ(rooms["rooms"], 1);
  EXPECT_EQ(rooms["dividing_door_cells"], 12);
  EXPECT_NEAR(rooms["dividing_door_m"].get<double>(), 0.6, 1e-12);
  EXPECT_EQ(rooms["divided_rooms"], 7);
  // The advice is right, and a smaller width has no effect.
  for (const auto& [door, count] : {std::pair("10", 1U), {"12", 7U}})
    EXPECT_EQ(
        Json::parse(
            shell(std::string("wallheat solve flat --data drawn --rooms --json --door ") + door)
                .out)["rooms"]
            .size(),
        count);
}

TEST_F(DrawnFlatTest, DoorsInMetresUseRecordedCellSizeOfAllPlans) {
  const std::string need = "need --data drawn --wall 25 --room-mean 18 --door 0.6m";
  const std::string run = "run --data drawn --overwrite --out r.h5 --rooms --door 0.6m";
  const std::string whatif = "whatif --data drawn --wall 25=22 --rooms --door 0.6m";
  EXPECT_EQ(Json::parse(shell("wallheat " + need + " --json").out)["door_cells"], 12);
  EXPECT_EQ(Json::parse(shell("wallheat " + whatif + " --json").out)["door_cells"], 12);
  shell("wallheat " + run);
  EXPECT_EQ(Json::parse(shell("wallheat list r.h5 --rooms --json").out)["door_cells"], 12);
  // One of two plans has cells of another width.
  shell("cp flat.png other.png; wallheat " + generate + "--cell-size 0.1 --from other.png --out b");
  shell("cp b/other_* drawn; printf 'flat\nother\n' > drawn/building_ids.txt");
  for (const std::string& command : {need, run, whatif}) {
    expect_error(command, 2, {"--door 0.6m", "--cell-size", "plan other", "0.1 m", "0.05 m"});
    shell("wallheat " + command + " --first 1");
    shell("wallheat " + command + " --cell-size 0.05");
  }
  shell("rm drawn/other_drawing.json");
  for (const std::string& command : {need, run, whatif})
    expect_error(command, 2, {"--door 0.6m", "--cell-size", "plan other"});
}

TEST_F(DrawnFlatTest, PageShowsNamedRoomsAndInterpretationOfDrawing) {
  shell("printf 'x_m;y_m;name\n2,0;2,0;Küche & Bad\n7,5;5,5;Flur\n' > rooms.csv");
  const std::string solve = "solve flat --data drawn --door 0.9m --overwrite --page client.html ";
  const Json solved = Json::parse(shell("wallheat " + solve + "--room-names rooms.csv --json").out);
  EXPECT_EQ(solved["door_cells"], 18);
  ASSERT_EQ(solved["rooms"].size(), 6U);
  EXPECT_EQ(solved["rooms"][0]["name"], "Küche & Bad");
  EXPECT_EQ(solved["rooms"][1]["name"], "");
  EXPECT_NEAR(solved["rooms"][0]["area_m2"], solved["rooms"][0]["cells"].get<double>() * 0.0025,
              1e-9);
  shell("wallheat " + solve +
        "--room-names rooms.csv --title 'Flat 3b' --author 'A. <Engineer>' --date '1 March 2026'");
  EXPECT_THAT(bytes("client.html"),
              Mentions({"<h1>Flat 3b</h1>", "A. &lt;Engineer&gt;, 1 March 2026", "Küche &amp; Bad",
                        "Flur", "area, m²", "flat.png", "0.05 m", "9.60 m x 7.20 m", "#ff0000",
                        "wall of 25.0 °C", "18 cells (0.9 m)", "temperature after"}));
  // The client sees results before the details of the solver.
  const std::string page = bytes("client.html");
  const std::size_t details = page.find("technical details");
  ASSERT_NE(details, std::string::npos);
  EXPECT_LT(page.find("mean temperature"), details);
  for (const char* detail : {"last delta", "CPU time"})
    EXPECT_EQ(page.find(detail), page.find(detail, details)) << detail;
  const std::string csv =
      shell("wallheat " + solve + "--room-names rooms.csv -f csv-semicolon").out;
  EXPECT_THAT(csv, Mentions({"id;room;name;mean_temp", "flat;1;Küche & Bad;"}));
  EXPECT_EQ(csv.find('.'), std::string::npos) << csv;
  // Temperatures are rounded to five digits.
  std::istringstream room(csv.substr(csv.find("flat;1;")));
  std::string cell;
  for (int column = 0; column < 4; ++column) std::getline(room, cell, ';');
  EXPECT_LE(cell.size(), 6U) << cell;

  // Without the record, the page shows the solution only.
  shell("mv drawn/flat_drawing.json record.json; wallheat " + solve + "--cell-size 0.05");
  EXPECT_THAT(bytes("client.html"), Not(Mentions("flat.png")));
  expect_error(solve, 2, {"--door 0.9m", "--cell-size"});
  expect_error("run --data drawn --out r.h5 --rooms --door 0.9m", 2,
               {"--door 0.9m", "--cell-size"});
  shell("wallheat run --data drawn --out r.h5 --rooms --door 0.9m --cell-size 0.05");
  EXPECT_EQ(Json::parse(shell("wallheat list r.h5 --rooms --json").out)["rooms"].size(), 6U);

  // A record of another plan, or a damaged one, is rejected.
  shell("sed 's/\"input_hash\": \"./&0/' record.json > drawn/flat_drawing.json");
  expect_error(solve, 1, {"drawn/flat_drawing.json", "another plan", "remove"});
  shell("head -c 300 record.json > drawn/flat_drawing.json");
  expect_error(solve, 1, {"drawn/flat_drawing.json", "remove"});
  expect_error("list r.h5 --author me", 2, {"--author", "--page"});
}

TEST_F(DrawnFlatTest, RejectsPagesWithSuffixOfAnotherFormat) {
  shell("wallheat run --data drawn --out r.h5; wallheat summary r.h5 --json > summary.json");
  for (const std::string command :
       {"solve flat --data drawn --page", "list r.h5 --page", "page summary.json --out"}) {
    expect_error(command + " client.pdf", 2, {"client.pdf", ".html"});
    EXPECT_FALSE(exists("client.pdf")) << command;
    for (const char* file : {" client.HTML", " client.htm", " client"}) {
      shell("wallheat " + command + file + " --overwrite");
      EXPECT_THAT(bytes(std::string(file).substr(1)), StartsWith("<!doctype html>")) << command;
    }
  }
}

TEST_F(DrawnFlatTest, ReportsDoorWidthThatItUsed) {
  const auto solved = lines_of(shell("wallheat solve flat --data drawn --rooms").out);
  EXPECT_THAT(solved, Contains(Mentions({"rooms", "1", "3 cells (0.15 m)", "--door"})));
  for (const std::string command : {"whatif flat --data drawn --wall 25=22 --rooms",
                                    "need flat --data drawn --wall 25 --room-mean 18"}) {
    const auto automatic = lines_of(shell("wallheat " + command).out);
    EXPECT_THAT(automatic, Contains(Mentions({"rooms", "1", "3 cells (0.15 m)", "--door"})));
    const auto chosen = lines_of(shell("wallheat " + command + " --door 0.9m").out);
    EXPECT_THAT(chosen, Contains(Mentions({"rooms", "6", "18 cells (0.9 m)"})));
    EXPECT_EQ(Json::parse(shell("wallheat " + command + " --json --door 0.9m").out)["door_cells"],
              18);
  }
}

TEST_F(DrawnFlatTest, ReportsRecordedDoorWidth) {
  for (const auto& [door, cells, width] :
       {std::tuple("0.9m", 18, "18 cells"), {"auto", 3, "3 cells"}}) {
    shell(
        std::string("wallheat run --data drawn --out r.h5 --overwrite --rooms --cell-size 0.05 ") +
        "--door " + door);
    for (const std::string command : {"summary r.h5", "list r.h5 --rooms"}) {
      EXPECT_THAT(shell("wallheat " + command).out, Mentions({"openings", width})) << command;
      const std::string scaled = "wallheat " + command + " --cell-size 0.05 ";
      EXPECT_THAT(shell(scaled).out, Mentions({width, cells == 18 ? "0.9 m" : "0.15 m"}))
          << command;
      const auto json = Json::parse(shell(scaled + "--json").out);
      EXPECT_EQ(json["door_cells"], cells) << command;
      EXPECT_NEAR(json["door_m"].get<double>(), cells * 0.05, 1e-12) << command;
    }
  }
  // The width of a cell is that of the run, or of the drawing; it is not a setting of the file.
  const auto area = [&](const std::string& more = "") {
    const auto json = Json::parse(shell("wallheat list r.h5 --rooms --json" + more).out);
    return json["rooms"][0].value("area_m2", 0.0);
  };
  const double of_run = area();
  EXPECT_NEAR(of_run, area(" --cell-size 0.05"), 1e-9);
  EXPECT_NEAR(Json::parse(shell("wallheat summary r.h5 --json").out)["door_m"].get<double>(), 0.15,
              1e-12);
  shell("wallheat run --data drawn --out r.h5 --resume --rooms --cell-size 0.1");
  EXPECT_NEAR(area(), of_run, 1e-9) << "the resume had nothing to solve";
  shell("wallheat run --data drawn --out r.h5 --overwrite --rooms --door 0.15m");
  EXPECT_NEAR(area(), of_run, 1e-9);
  shell("mv drawn/flat_drawing.json .; wallheat run --data drawn --out r.h5 --overwrite --rooms");
  EXPECT_EQ(area(), 0);
  // Plans of different sizes have different widths.
  shell(
      "wallheat generate --out other --size 128 --count 1; cp other/*.npy drawn; rm "
      "drawn/*_ids.txt");
  shell("wallheat run --data drawn --out r.h5 --overwrite --rooms");
  EXPECT_TRUE(Json::parse(shell("wallheat summary r.h5 --json").out)["door_cells"].is_null());
  EXPECT_THAT(shell("wallheat summary r.h5").out, Mentions({"openings", "1/50"}));
}

}  // namespace
}  // namespace wallheat
