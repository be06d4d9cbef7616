// The commands whatif and need, which compute results for wall overrides.

#include <regex>
#include <string>

#include "support/shell_test.hpp"
#include "view/json.hpp"

namespace wallheat {
namespace {

class WallCommandsTest : public ShellTest {
 protected:
  void SetUp() override { shell("wallheat generate --out plans --count 5 --size 96 --seed 2"); }

  [[nodiscard]] Json json(const std::string& command, int status = 0) const {
    return Json::parse(shell("wallheat " + command + " --json", status).out);
  }
  /// Returns the row of a plan as the command solve prints it.
  [[nodiscard]] Json solved(const std::string& id, const std::string& more) const {
    return json("solve " + id + " --data plans --solver steady " + more);
  }
};

TEST_F(WallCommandsTest, AgreesWithSolveForWallOverrides) {
  const Json asked =
      json("whatif --data plans --first 2 --wall 25=20:31:5.5 --wall 5=-3 --above 17");
  ASSERT_EQ(asked["settings"].size(), 4U);  // now, and three
  ASSERT_EQ(asked["plans"].size(), 8U);
  EXPECT_EQ(asked["settings"][0]["setting"], "now");
  for (const Json& found : asked["plans"]) {
    const Json row = solved(found["id"], "--above 17 --wall 25=" + found["wall_25"].dump() +
                                             " --wall 5=" + found["wall_5"].dump());
    const double bound = row["error_bound"].get<double>() + found["error_bound"].get<double>();
    EXPECT_LT(bound, 1e-6);
    for (const char* name : {"mean_temp", "std_temp"})
      EXPECT_NEAR(found[name], row[name], bound) << name << " of " << found;
    EXPECT_LE(found["pct_above_lower"], row["pct_above"]);
    EXPECT_GE(found["pct_above_upper"], row["pct_above"]);
    EXPECT_EQ(found["cells"], row["interior_cells"]);
  }
}

TEST_F(WallCommandsTest, ReportsRoomsWithAllCellsOfPlan) {
  const Json rows = json("whatif 00002 --data plans --wall 25=22 --rooms")["plans"];
  std::size_t cells = 0;
  for (const Json& row : rows)
    if (row["wall_25"] == 22) cells += row["cells"].get<std::size_t>();
  const Json all = solved("00002", "");
  EXPECT_EQ(cells, 2 * all["interior_cells"].get<std::size_t>()) << "of the rooms, and of the plan";
  shell("wallheat whatif --data plans --wall 25=20:30:2 --wall 5=0:10:5 --plot means.svg");
  EXPECT_THAT(bytes("means.svg"), Mentions({"5 °C", "10 °C"}));
}

TEST_F(WallCommandsTest, FindsMinimumWallTemperatureForGoal) {
  const Json need = json(
      "need --data plans --first 2 --wall 25 --wall 5=8 --room-mean 18 "
      "--whole-plans");
  ASSERT_EQ(need["plans"].size(), 2U);
  for (const Json& plan : need["plans"]) {
    const auto mean_at = [&](double wall) {
      return solved(plan["id"], "--wall 5=8 --wall 25=" + Json(wall).dump())["mean_temp"]
          .get<double>();
    };
    EXPECT_GE(mean_at(plan["upper"].get<double>() + 1e-6), 18) << plan;
    EXPECT_LT(mean_at(plan["lower"].get<double>() - 1e-6), 18) << plan;
    EXPECT_LT(plan["upper"].get<double>() - plan["lower"].get<double>(), 1e-6) << plan;
  }
  const std::string one = "need 00003 --data plans --wall 25 --whole-plans ";
  EXPECT_EQ(json(one + "--room-mean 90")["verdict"], "requires more than --max");
  EXPECT_EQ(json(one + "--room-mean 9000")["verdict"], "not warmed by these walls");
  EXPECT_EQ(json(one + "--room-mean 90 --max 1000")["verdict"], "reachable");
  EXPECT_EQ(json(one + "--room-mean -400")["verdict"], "already warm enough");
  EXPECT_EQ(json(one + "--area-above 18 --area-share 0.5")["verdict"], "reachable");
  shell("wallheat need --data plans --wall 25 --room-mean 18 --room-share 0.5 --plot n.svg");
  EXPECT_THAT(bytes("n.svg"), Mentions("50 %"));
}

TEST_F(WallCommandsTest, PrintsWallTemperatureThatReachesTarget) {
  // Several targets, because some results are rounded up by chance.
  for (double target = 16; target < 20; target += 0.5) {
    const std::string mean = Json(target).dump();
    const std::string one = "need 00003 --data plans --wall 25 --whole-plans --room-mean " + mean;
    const std::string text = shell("wallheat " + one).out;
    std::smatch printed;
    ASSERT_TRUE(std::regex_search(text, printed, std::regex("([0-9]+\\.[0-9][0-9]) °C"))) << text;
    EXPECT_GE(solved("00003", "--wall 25=" + printed[1].str())["mean_temp"].get<double>(), target);
    EXPECT_LT(std::stod(printed[1]), json(one)["needed"].get<double>() + 0.01);
  }
}

TEST_F(WallCommandsTest, SkipsUnreadablePlans) {
  shell("printf nonsense > plans/00004_domain.npy");
  const Finished finished = shell("wallheat need --data plans --wall 25 --room-mean 18", 3);
  EXPECT_THAT(finished.err, Mentions("00004_domain.npy"));
  EXPECT_THAT(lines_of(finished.out), Contains(Mentions({"plans", "4", "25 °C"})));
  const Json rows = json("whatif --data plans --wall 25=22", 3)["plans"];
  ASSERT_EQ(rows.size(), 8U) << "of four plans, with two settings";
  EXPECT_EQ(rows[6]["id"], "00005") << "in the order of the IDs";
  expect_error("need 00004 --data plans --wall 25 --room-mean 18", 1, {"00004_domain.npy"});
  shell("rm plans/*_domain.npy; wallheat whatif --data plans --wall 25=22", 1);
}

}  // namespace
}  // namespace wallheat
