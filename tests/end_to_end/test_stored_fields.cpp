// Stored fields and rooms, thresholds, and wall overrides.

#include <fmt/format.h>

#include <array>

#include "support/png.hpp"
#include "support/shell_test.hpp"
#include "view/json.hpp"
#include "wallheat/floor_plan_files.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {
namespace {

class StoredFieldsTest : public ShellTest {
 protected:
  StoredFieldsTest() { generate(6, 48); }

  /// Solves all plans into a file.
  void run(const std::string& file, const std::string& more = "") const {
    shell("wallheat run --data plans --log-level off --out " + file + " " + more);
  }
  [[nodiscard]] Json json(const std::string& command) const {
    return Json::parse(shell("wallheat " + command + " --json").out);
  }
  /// Expects that all plans of a file are solved, and that solving them again gives the same bits.
  void expect_all_verified(const std::string& file) const {
    const Json found = json("verify " + file + " --data plans --all");
    EXPECT_EQ(found["done"], 6) << found;
    EXPECT_EQ(found["findings"], 0) << found;
  }
  /// Returns the CSV of all rooms of a file.
  [[nodiscard]] std::string rooms_of(const std::string& file) const {
    return shell("wallheat list " + file + " --rooms -f csv").out;
  }
};

TEST_F(StoredFieldsTest, PlotsStoredFieldsWithoutSolving) {
  run("r.h5", "--save-fields --rooms");
  run("coarse.h5", "--save-fields --tolerance 0.1");
  EXPECT_EQ(shell("wallheat plot r.h5 00003 -o one.png").err, "");
  EXPECT_THAT(bytes("one.png"), StartsWith("\x89PNG"));
  shell("wallheat plot r.h5 00003 --minus coarse.h5 -o difference.svg");
  EXPECT_THAT(bytes("difference.svg"), Mentions({"r.h5", "coarse.h5", "difference"}));
  shell("cp r.h5 same.h5; wallheat plot r.h5 00003 --minus same.h5 -o same.svg");
  EXPECT_THAT(bytes("same.svg"), AllOf(Mentions("no difference"), Not(HasSubstr("e-30"))));
  shell("wallheat plot r.h5 00003 --range -5:60 --title 'A title' -o one.svg");
  EXPECT_THAT(bytes("one.svg"), AllOf(Mentions({"jacobi", "A title"}), HasSubstr(" 60<")));
  shell("wallheat plot r.h5 00003 00004 --data plans --show start,mask,field,rooms -o panels.svg");
  const std::string panels = bytes("panels.svg");
  EXPECT_THAT(panels, Mentions({"interior cells", "rooms", "jacobi"}));
  for (const std::string id : {"00003", "00004"}) {
    int captions = 0;
    for (auto at = panels.find(id); at != panels.npos; at = panels.find(id, at + 1)) ++captions;
    EXPECT_EQ(captions, 4) << id;
  }
  shell(
      "wallheat generate --kind poisson --out plates --count 1 --size 32 &&"
      "wallheat plot r.h5 00001 --data plates --show mask,source -o p.svg");
  EXPECT_THAT(bytes("p.svg"), Mentions("heat source"));
}

TEST_F(StoredFieldsTest, DrawsWallsHeldAtZero) {
  run("cold.h5", "--save-fields --wall 5=0");
  EXPECT_THAT(shell("wallheat plot cold.h5 00003 -o all.png").out, Mentions({"0 °C", "--data"}));
  EXPECT_THAT(shell("wallheat plot cold.h5 00003 --data plans --show field -o cold.png").out,
              Not(HasSubstr("--data")));
  shell("wallheat plot cold.h5 00003 --data plans --show mask -o mask.png");
  run("warm.h5", "--save-fields");
  shell("wallheat plot warm.h5 00003 --data plans --show mask -o warm.png");
  EXPECT_EQ(bytes("mask.png"), bytes("warm.png")) << "the building has the same cells";
  const auto ground = [&](const std::string& picture) {
    const std::array<std::uint8_t, 3> colour{0xe7, 0xe9, 0xec};
    return std::ranges::count(pixels_of(bytes(picture)).cells, colour);
  };
  EXPECT_EQ(ground("all.png"), 0);
  EXPECT_EQ(ground("cold.png"), ground("warm.png"));
  EXPECT_GT(ground("cold.png"), 100);
}

TEST_F(StoredFieldsTest, ShowsPictureAndRoundedNumbersOnPageOfPlan) {
  const Finished solved =
      shell("wallheat solve 00003 --data plans --rooms --cell-size 0.25 --page plan.html");
  const Json found = json("solve 00003 --data plans --rooms");
  EXPECT_EQ(found["door_cells"], 1);
  EXPECT_THAT(
      lines_of(solved.out),
      Contains(Mentions({"rooms", std::to_string(found["rooms"].size()), "1 cell", "0.25 m"})));
  const std::string page = bytes("plan.html");
  EXPECT_THAT(page, AllOf(HasSubstr("<svg role=img"), HasSubstr("<image")));
  const double mean = json("solve 00003 --data plans")["mean_temp"].get<double>();
  for (const std::string& rounded : {page, solved.out})
    EXPECT_THAT(rounded, AllOf(HasSubstr(fmt::format("{:.5g} °C", mean)),
                               Not(HasSubstr(fmt::format("{}", mean)))));
}

TEST_F(StoredFieldsTest, CountsOneOfAThingInSingular) {
  run("r.h5", "--save-fields --max-iterations 1");
  shell(
      "wallheat plot r.h5 --first 1 -o one.svg; wallheat solve 00001 --data plans "
      "--max-iterations 1 --png plan.svg > text");
  EXPECT_THAT(bytes("one.svg"), HasSubstr("1 of 6 plans"));
  EXPECT_THAT(bytes("plan.svg"), HasSubstr("temperature after 1 iteration<"));
  EXPECT_THAT(bytes("text"), HasSubstr("after 1 iteration,"));
}

TEST_F(StoredFieldsTest, SolvesMissingFieldsWithSettingsOfFile) {
  for (const std::string solver : {"jacobi", "steady", "fastforward"}) {
    const std::string plot = "wallheat plot ./r.h5 00003 --data plans --show field --overwrite -o ";
    run("r.h5", "--overwrite --solver " + solver);
    EXPECT_THAT(shell(plot + "again.svg").err, Mentions("00003"));
    run("r.h5", "--overwrite --save-fields --solver " + solver);
    EXPECT_EQ(shell(plot + "stored.svg").err, "");
    EXPECT_EQ(bytes("again.svg"), bytes("stored.svg")) << solver;
  }
}

TEST_F(StoredFieldsTest, ExportsFieldsThatSolveCommandComputes) {
  run("r.h5", "--save-fields");
  shell(
      "wallheat export r.h5 --field 00002 -o field.npy &&"
      "wallheat export r.h5 --field 00002 -o - > piped.npy");
  const Json solved = json("solve 00002 --data plans --npy solved.npy");
  const Json row = json("list r.h5 00002 --columns all")["plans"][0];
  for (const char* name : {"id", "status", "mean_temp", "std_temp", "pct_above", "pct_below",
                           "iterations", "last_delta", "interior_cells", "solver"})
    EXPECT_EQ(solved[name], row[name]) << name;
  EXPECT_EQ(bytes("field.npy"), bytes("solved.npy"));
  EXPECT_EQ(bytes("piped.npy"), bytes("field.npy"));
  shell("mkdir sub; wallheat export r.h5 -o sub/r.xdmf");
  EXPECT_THAT(bytes("sub/r.xdmf"), AllOf(HasSubstr("<Grid Name=\"00006\">\n <Time Value=\"5\"/>"),
                                         HasSubstr(">../r.h5:/fields/00006<")));
  shell("cp '" WALLHEAT_TEST_DATA "'/killed.h5* .; wallheat repair killed.h5", 75);
  shell("wallheat export killed.h5 -o x.xdmf", 75);
  shell("wallheat plot killed.h5 -o k.svg");  // without the plans that have no field yet
}

TEST_F(StoredFieldsTest, StoresSameRoomsForThreadsShardsOrResume) {
  run("one.h5", "--rooms --threads 1");
  run("two.h5", "--rooms --first 3");
  run("two.h5", "--rooms --resume");
  for (const std::string shard : {"1/2", "2/2"}) run("m.h5", "--rooms --shard " + shard);
  shell("wallheat merge --out m.h5 m.part*.h5");
  const std::string rooms = rooms_of("one.h5");
  EXPECT_THAT(rooms, StartsWith("id,room,mean_temp,"));
  const auto count = std::count(rooms.begin(), rooms.end(), '\n') - 1;
  EXPECT_GT(count, 30);
  EXPECT_EQ(rooms_of("two.h5"), rooms);
  EXPECT_EQ(rooms_of("m.h5"), rooms);
  expect_all_verified("m.h5");
  const Json listed =
      json("list one.h5 --rooms --where \"id = '00002'\" --sort mean_temp")["rooms"];
  ASSERT_GT(listed.size(), 1U);
  EXPECT_LE(listed[0]["mean_temp"], listed[1]["mean_temp"]);
  std::int64_t cells = 0;
  for (const Json& room : listed) cells += room["cells"].get<std::int64_t>();
  const Json solved = json("solve 00002 --data plans --rooms");
  EXPECT_EQ(cells, solved["interior_cells"]);
  EXPECT_EQ(solved["rooms"].size(), listed.size());
  const Json room = json("list one.h5 --rooms --cell-size 0.5")["rooms"][0];
  EXPECT_EQ(room["area_m2"], 0.25 * room["cells"].get<double>());
  EXPECT_EQ(json("summary one.h5")["rooms"], count);
}

TEST_F(StoredFieldsTest, CountsStoredFieldsForOtherThresholds) {
  run("r.h5", "--solver steady --save-fields");
  run("other.h5", "--solver steady --above 12.5");
  const Json again = json("summary r.h5 --above 12.5");
  const Json solved = json("summary other.h5");
  for (const char* number : {"half_above", "half_below", "uncertain_cells", "above", "below"})
    EXPECT_EQ(again[number], solved[number]) << number;
  EXPECT_EQ(json("summary r.h5")["above"], 18);
  shell("wallheat generate --out large --count 1 --size 256 --seed 3");
  shell("wallheat run --data large --log-level off --out ff.h5 --solver fastforward --save-fields");
  EXPECT_EQ(json("summary ff.h5")["fell_back"], 0);
  EXPECT_TRUE(json("summary ff.h5")["uncertain_cells"].is_number());
  EXPECT_TRUE(json("summary ff.h5 --above 12.5")["uncertain_cells"].is_null()) << "unknown";
  shell("mv plans gone");
  expect_error("summary r.h5 --above 20", 1, {"r.h5", path("plans"), "--data"});
  shell("wallheat summary r.h5 --above 20 --data gone");
  shell("cp gone/00002_domain.npy gone/00001_domain.npy");
  expect_error("summary r.h5 --above 20 --data gone", 1, {"00001", "gone"});
}

TEST_F(StoredFieldsTest, CountsRoomsForOtherThresholds) {
  run("r.h5", "--rooms --save-fields");
  run("other.h5", "--rooms --above 20 --below 2");
  const Json again = json("summary r.h5 --above 20 --below 2");
  const Json solved = json("summary other.h5");
  for (const char* key : {"rooms", "rooms_above", "rooms_below", "coldest_rooms"})
    EXPECT_EQ(again[key], solved[key]) << key;
  EXPECT_NE(again["coldest_rooms"], json("summary r.h5")["coldest_rooms"]);
  for (const Json& room : again["coldest_rooms"])
    if (room["min_temp"] >= 2) {
      EXPECT_EQ(room["pct_below"], 0) << room;
    }
  run("without.h5", "--rooms");
  expect_error("summary without.h5 --below 2", 1, {"00001", "--save-fields"});
}

TEST_F(StoredFieldsTest, KeepsPlansWithoutTemperatureForOtherThresholds) {
  FloorPlan plan = load_floor_plan(path("plans"), "00001");
  std::ranges::fill(plan.interior.cells, 0);
  save_floor_plan(path("plans"), "00001", plan);
  run("r.h5", "--save-fields");
  for (const char* more : {"", " --above 17"})
    EXPECT_EQ(json("summary r.h5 --where 'pct_above >= 0'" + std::string(more))["plans"], 5);
}

TEST_F(StoredFieldsTest, StatesThresholdsOfCountsInEveryFormat) {
  run("r.h5", "--rooms --above 12.5");
  for (const std::string list : {"list r.h5", "list r.h5 --rooms"}) {
    EXPECT_THAT(lines_of(shell("wallheat " + list).out), Contains(Mentions({"12.5 °C", "15 °C"})));
    const Json listed = json(list);
    EXPECT_EQ(listed["above"], 12.5);
    const std::vector<std::string> csv = lines_of(shell("wallheat " + list + " -f csv").out);
    EXPECT_THAT(csv.front(), EndsWith(",above,below"));
    EXPECT_THAT(csv.back(), EndsWith(",12.5,15.0"));
    shell("wallheat " + list + " --overwrite --page list.html");
    EXPECT_THAT(bytes("list.html"), Mentions("12.5 °C"));
  }
  EXPECT_EQ(lines_of(shell("wallheat list r.h5 --columns id -f csv").out).front(), "id")
      << "there is nothing to state";
}

TEST_F(StoredFieldsTest, LeavesOutSmallRoomsOnRequest) {
  run("r.h5", "--rooms");
  const Json all = json("list r.h5 --rooms")["rooms"];
  const auto is_large = [](const Json& room) { return room["cells"] >= 20; };
  const auto large = std::ranges::count_if(all, is_large);
  ASSERT_LT(large, std::ssize(all));
  const Json listed = json("list r.h5 --rooms --min-cells 20 --sort mean_temp");
  EXPECT_EQ(listed["min_cells"], 20);
  EXPECT_EQ(std::ssize(listed["rooms"]), large);
  EXPECT_TRUE(std::ranges::all_of(listed["rooms"], is_large));
  EXPECT_THAT(shell("wallheat list r.h5 --rooms --min-cells 20").out, Mentions("20 cells"));
  const Json summary = json("summary r.h5 --min-cells 20");
  EXPECT_EQ(summary["rooms"], large);
  EXPECT_EQ(summary["small_rooms"], std::ssize(all) - large);
  const auto colder = std::ranges::count_if(
      all, [&](const Json& room) { return is_large(room) && room["mean_temp"] < 15; });
  EXPECT_EQ(summary["rooms_below"], colder);
  EXPECT_THAT(shell("wallheat summary r.h5").out, Mentions({"20 cells", "--min-cells 20"}));
  EXPECT_THAT(shell("wallheat summary r.h5 --min-cells 20").out, Mentions("20 cells"));
  for (const std::string command :
       {"list r.h5", "solve 00001 --data plans", "whatif --data plans --wall 25=22"})
    expect_error(command + " --min-cells 20", 2, {"--min-cells", "--rooms"});
  expect_error("plot r.h5 -o x.svg --min-cells 20", 2, {"--min-cells", "--show rooms"});
  // The other commands count the same rooms, with the same numbers.
  std::map<std::string, std::vector<Json>> numbers;
  for (const Json& room : all)
    if (is_large(room)) numbers[room["id"]].push_back(room["room"]);
  for (const auto& [id, expected] : numbers) {
    std::vector<Json> found;
    const Json solved = json("solve " + id + " --data plans --rooms --min-cells 20");
    for (const Json& room : solved["rooms"]) found.push_back(room["room"]);
    EXPECT_EQ(found, expected) << id;
    found.clear();
    const Json asked = json("whatif " + id + " --data plans --wall 25=25 --rooms --min-cells 20");
    for (const Json& row : asked["plans"])
      if (!row["room"].is_null()) found.push_back(row["room"]);
    EXPECT_EQ(found.size(), 2 * expected.size()) << "with two settings";
    EXPECT_EQ(found.front(), expected.front()) << id;
    EXPECT_EQ(asked["small_rooms"], solved["small_rooms"]);
    const Json needed =
        json("need " + id + " --data plans --wall 25 --room-mean 15 --min-cells 20");
    EXPECT_EQ(needed["each_room"].size(), expected.size());
    EXPECT_EQ(needed["small_rooms"], solved["small_rooms"]);
    shell("wallheat plot r.h5 " + id + " --data plans --show rooms --min-cells 20 -o " + id +
          ".svg");
    EXPECT_THAT(bytes(id + ".svg"), Mentions(std::to_string(expected.size()) +
                                             (expected.size() == 1 ? " room" : " rooms")));
  }
}

TEST_F(StoredFieldsTest, RecordsThresholdsInFileAndExport) {
  run("r.h5");
  run("other.h5", "--above 12.5");
  const Finished listed = shell("wallheat list other.h5");
  EXPECT_EQ(listed.err, "") << "columns have no threshold in their names";
  EXPECT_THAT(listed.out, HasSubstr("pct_above"));
  EXPECT_EQ(json("list r.h5")["above"], 18);
  EXPECT_EQ(json("list other.h5 00001")["above"], 12.5);
  for (const auto& [file, header] : {std::pair("r", "pct_above_18, pct_below_15\n"),
                                     {"other", "pct_above_12.5, pct_below_15\n"}}) {
    const std::string name = file;
    const Finished exported = shell("wallheat export " + name + ".h5 -o " + name + ".csv");
    EXPECT_EQ(exported.err, "");
    EXPECT_THAT(bytes(name + ".csv"), HasSubstr(header));
    shell("wallheat compare " + name + ".h5 " + name + ".csv --require-equal");
  }
  shell("wallheat export r.h5 -o other.csv --overwrite");  // it is a CSV of any thresholds
}

TEST_F(StoredFieldsTest, RejectsMixedThresholds) {
  run("r.h5", "--shard 1/2");
  run("other.h5", "--shard 2/2 --above 12.5");
  const Facts both{"r.h5", "other.h5", "18", "12.5"};
  shell("mv r.part-1-of-2.h5 r.h5; mv other.part-2-of-2.h5 other.h5");
  expect_error("compare r.h5 other.h5", 1, both);
  expect_error("merge r.h5 other.h5 --out merged.h5", 1, both);
  shell("wallheat export r.h5 -o r.csv", 75);
  expect_error("compare other.h5 r.csv", 1, {"r.csv", "other.h5", "18", "12.5"});
  expect_error("run --data plans --log-level off --out r.h5 --resume --above 12.5", 1,
               {"r.h5", "above", "18", "12.5"});
}

TEST_F(StoredFieldsTest, MatchesEditedPlansForWallOverrides) {
  for (const std::string solver : {"jacobi", "fastforward", "steady"}) {
    const std::string file = solver + ".h5";
    run(file, "--wall 25=20 --save-fields --solver " + solver);
    const Grid<double> field = *ResultReader(path(file)).field(0);
    EXPECT_EQ(*std::max_element(field.cells.begin(), field.cells.end()), 20.0) << solver;
    expect_all_verified(file);
  }
  expect_error("run --data plans --out jacobi.h5 --resume --save-fields --wall 25=21", 1,
               {"jacobi.h5", "wall", "25.0=20.0", "25.0=21.0"});
  shell("wallheat solve 00001 --data plans --wall 5=8 --wall 25=20 --npy held.npy");
  FloorPlan plan = load_floor_plan(path("plans"), "00001");
  for (double& value : plan.domain.cells) value = value == 5 ? 8 : value == 25 ? 20 : value;
  save_floor_plan(path("plans"), "00001", plan);
  shell("wallheat solve 00001 --data plans --npy warm.npy");
  EXPECT_EQ(bytes("held.npy"), bytes("warm.npy"));
}

}  // namespace
}  // namespace wallheat
