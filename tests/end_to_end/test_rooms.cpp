// Rooms, thresholds and walls' temperatures as their users ask for them.
#include <nlohmann/json.hpp>

#include "core/npy.hpp"
#include "support/shell_test.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {
namespace {

using Json = nlohmann::json;

class Rooms : public ShellTest {
 protected:
  void SetUp() override { shell("wallheat generate --out plans --count 8 --size 48"); }
  /// All rooms of a file as text.
  std::string rooms_of(const std::string& file) {
    return shell("wallheat list " + file + " --rooms -f csv").out;
  }
};

TEST_F(Rooms, are_the_same_whoever_solves_and_whenever) {
  const std::string run = "wallheat run --data plans --rooms --log-level off --out ";
  shell(run + "one.h5 --threads 1 && " + run + "two.h5 --first 3 && " + run +
        "two.h5 --resume && " + run + "m.h5 --shard 1/2 && " + run +
        "m.h5 --shard 2/2 && wallheat merge --out m.h5 m.part*");
  const std::string rooms = rooms_of("one.h5");
  EXPECT_THAT(rooms, StartsWith("id,room,mean_temp,"));
  EXPECT_GT(std::count(rooms.begin(), rooms.end(), '\n'), 50);
  EXPECT_EQ(rooms_of("two.h5"), rooms);
  EXPECT_EQ(rooms_of("m.h5"), rooms);
  EXPECT_THAT(shell("wallheat verify m.h5 --data plans --all").out, HasSubstr("all is well"));
  const Json one = Json::parse(shell("wallheat solve 00002 --data plans --rooms --json").out);
  const Json listed = Json::parse(
      shell("wallheat list one.h5 --rooms --where \"id = '00002'\" --json").out)["rooms"];
  EXPECT_EQ(one["rooms"], listed);
  std::int64_t cells = 0;
  for (const Json& room : listed) cells += room["cells"].get<std::int64_t>();
  EXPECT_EQ(cells, one["interior_cells"]);
}

TEST_F(Rooms, are_listed_counted_and_drawn) {
  shell("wallheat run --data plans --rooms --door 2 --save-fields --log-level off --out r.h5");
  const Json cold =
      Json::parse(shell("wallheat list r.h5 --rooms --where 'mean_temp < 12 and cells > 3' --sort "
                        "mean_temp --cell-size 0.5 --json")
                      .out)["rooms"];
  ASSERT_GT(cold.size(), 2U);
  EXPECT_LE(cold[0]["mean_temp"], cold[1]["mean_temp"]);
  EXPECT_EQ(cold[0]["area_m2"], 0.25 * cold[0]["cells"].get<double>());
  const Json summary = Json::parse(shell("wallheat summary r.h5 --json --cell-size 0.5").out);
  const std::string rooms = rooms_of("r.h5");
  EXPECT_EQ(summary["rooms"], std::count(rooms.begin(), rooms.end(), '\n') - 1);
  EXPECT_GT(summary["area_m2"], summary["area_above_m2"]);
  EXPECT_THAT(shell("wallheat plot r.h5 --data plans --show field,rooms --out rooms.svg").err, "");
  EXPECT_THAT(bytes("rooms.svg"), HasSubstr(" rooms"));
  shell("wallheat summary r.h5 --page page.html");
  EXPECT_THAT(bytes("page.html"), HasSubstr("coldest rooms"));
  shell("wallheat run --data plans --log-level off --out bare.h5");
  expect_refusal("list bare.h5 --rooms", 1, "bare.h5 has no rooms: run with --rooms");
  expect_refusal("list r.h5 --rooms --where 'mean_temp > 99'", 1, "holds for no room of r.h5");
  expect_refusal("run --data plans --out r.h5 --resume --save-fields", 1,
                 "rooms_door: the file has 2, this run none");
}

TEST_F(Rooms, thresholds_are_counted_again_from_stored_fields) {
  shell("wallheat run --data plans --solver steady --save-fields --log-level off --out r.h5");
  shell("wallheat run --data plans --solver steady --above 12.5 --log-level off --out other.h5");
  const Json again = Json::parse(shell("wallheat summary r.h5 --above 12.5 --json").out);
  const Json solved = Json::parse(shell("wallheat summary other.h5 --json").out);
  for (const char* number : {"half_above", "half_below", "cells_in_doubt", "above", "below"})
    EXPECT_EQ(again[number], solved[number]) << number;
  EXPECT_EQ(Json::parse(shell("wallheat summary r.h5 --json").out)["above"], 18);
  EXPECT_THAT(shell("wallheat summary other.h5").out,
              AllOf(HasSubstr("above 12.5 °C"), Not(HasSubstr("above 18 °C"))));
  EXPECT_THAT(shell("wallheat export other.h5").err,
              HasSubstr("other.h5 counts cells above 12.5 °C and below 15 °C: so do its columns"));
  EXPECT_EQ(shell("wallheat list r.h5").err, "");
  expect_refusal("summary other.h5 --above 20", 1, "has no stored field");
  shell("wallheat run --data plans --save-fields --log-level off --out unbounded.h5");
  EXPECT_EQ(
      Json::parse(shell("wallheat summary unbounded.h5 --above 12.5 --json").out)["cells_in_doubt"],
      0);
  shell("mv plans gone");
  expect_refusal("summary r.h5 --above 20", 1, "plans, which is not there: name them by --data");
  shell("wallheat summary r.h5 --above 20 --data gone");
  shell("cp gone/00002_domain.npy gone/00001_domain.npy");
  expect_refusal("summary r.h5 --above 20 --data gone", 1, "it is not the one in gone any more");
}

TEST_F(Rooms, walls_are_held_at_other_temperatures_by_all_solvers) {
  for (const std::string solver : {"jacobi", "fastforward", "steady"}) {
    const std::string file = solver + ".h5";
    shell("wallheat run --data plans --solver " + solver +
          " --wall 25=20 --save-fields "
          "--log-level off --out " +
          file);
    const ResultReader reader(path(file));
    EXPECT_EQ(reader.settings().at("wall"), "25.0=20.0");
    const Grid<double> field = *reader.field(0);
    EXPECT_EQ(*std::max_element(field.cells.begin(), field.cells.end()), 20.0) << solver;
    EXPECT_THAT(shell("wallheat verify " + file + " --data plans --all").out,
                HasSubstr("all is well"));
  }
  expect_refusal("run --data plans --out jacobi.h5 --resume --save-fields --wall 25=21", 1,
                 "wall: the file has 25.0=20.0, this run 25.0=21.0");
  expect_refusal(
      "run --data plans --out new.h5 --wall 7=21", 1,
      "no plan of plans has a wall of 7.0 °C, which --wall names, but of 0.0, 5.0, 25.0");
  expect_refusal("solve 00001 --data plans --wall 7=21", 1,
                 "plan 00001 has no wall of 7.0 °C, which --wall names");
  // The same as a plan whose walls are at these temperatures.
  shell(
      "wallheat solve 00001 --data plans --wall 5=8 --wall 25=20 --npy held.npy && cp -r plans "
      "warm");
  Grid<double> domain = npy::read_float(read_input(path("warm/00001_domain.npy")));
  for (double& value : domain.cells) value = value == 5 ? 8 : value == 25 ? 20 : value;
  npy::write_float(path("warm/00001_domain.npy"), domain);
  shell("wallheat solve 00001 --data warm --npy warm.npy");
  EXPECT_EQ(bytes("held.npy"), bytes("warm.npy"));
}

}  // namespace
}  // namespace wallheat
