// The commands that ask for walls of other temperatures: whatif and need.
#include <nlohmann/json.hpp>

#include "support/shell_test.hpp"

namespace wallheat {
namespace {

using Json = nlohmann::json;

class OtherWalls : public ShellTest {
 protected:
  void SetUp() override { shell("wallheat generate --out plans --count 5 --size 96 --seed 2"); }

  [[nodiscard]] Json json(const std::string& command, int status = 0) const {
    return Json::parse(shell("wallheat " + command + " --json", status).out);
  }
  /// The row of a plan that is solved with a wall at a temperature.
  [[nodiscard]] Json solved(const std::string& id, const std::string& more) const {
    return json("solve " + id + " --data plans --solver steady " + more);
  }
};

TEST_F(OtherWalls, are_answered_as_a_solve_answers_them) {
  const Json asked = json("whatif --data plans --wall 25=20:31:5.5 --wall 5=-3 --above 17");
  ASSERT_EQ(asked["settings"].size(), 4U);  // now, and three
  ASSERT_EQ(asked["plans"].size(), 20U);
  double sum = 0;
  for (const Json& found : asked["plans"]) {
    const Json row = solved(found["id"], "--above 17 --wall 25=" + found["wall_25"].dump() +
                                             " --wall 5=" + found["wall_5"].dump());
    const double bound = row["error_bound"].get<double>() + found["error_bound"].get<double>();
    EXPECT_LT(bound, 1e-6);
    for (const char* name : {"mean_temp", "std_temp"})
      EXPECT_NEAR(found[name], row[name], bound) << name << " of " << found;
    EXPECT_LE(found["pct_above_least"], row["pct_above_18"]);
    EXPECT_GE(found["pct_above_most"], row["pct_above_18"]);
    EXPECT_EQ(found["cells"], row["interior_cells"]);
    if (found["wall_5"] != 5) continue;  // as it is now
    EXPECT_EQ(found["mean_temp"], row["mean_temp"]);
    sum += found["mean_temp"].get<double>();
  }
  EXPECT_EQ(asked["settings"][0]["setting"], "now");
  EXPECT_NEAR(asked["settings"][0]["mean_of_means"], sum / 5, 1e-12);
}

TEST_F(OtherWalls, are_told_by_room_and_drawn) {
  const std::string one = "wallheat whatif 00002 --data plans --wall 25=22 --rooms ";
  EXPECT_THAT(shell(one + "--cell-size 0.5").out,
              AllOf(HasSubstr("00002"), HasSubstr("area m²"), HasSubstr("\n   1          22  ")));
  EXPECT_THAT(shell(one + "--format csv").out, StartsWith("id,room,wall_25,cells,mean_temp,"));
  const Json rows = json("whatif 00002 --data plans --wall 25=22 --rooms")["plans"];
  std::size_t cells = 0;
  std::size_t of_plan = 0;
  for (const Json& row : rows) {
    if (row["wall_25"] != 22) continue;
    (row["room"].is_null() ? of_plan : cells) += row["cells"].get<std::size_t>();
  }
  EXPECT_EQ(cells, of_plan);
  shell("wallheat whatif --data plans --wall 25=20:30:2 --wall 5=0:10:5 --plot means.svg");
  EXPECT_THAT(bytes("means.svg"), HasSubstr("walls of 5 °C at 10 °C"));
}

TEST_F(OtherWalls, that_a_plan_needs_suffice_and_nothing_less_does) {
  const Json need = json("need --data plans --wall 25 --wall 5=8 --room-mean 18 --whole-plans");
  ASSERT_EQ(need["plans"].size(), 5U);
  for (const Json& plan : need["plans"]) {
    const auto mean_at = [&](double wall) {
      return solved(plan["id"], "--wall 5=8 --wall 25=" + Json(wall).dump())["mean_temp"]
          .get<double>();
    };
    EXPECT_GE(mean_at(plan["most"].get<double>() + 1e-6), 18) << plan;
    EXPECT_LT(mean_at(plan["least"].get<double>() - 1e-6), 18) << plan;
    EXPECT_LT(plan["most"].get<double>() - plan["least"].get<double>(), 1e-6) << plan;
  }
  // The same of an area, and of what no wall gives.
  const std::string one = "need 00003 --data plans --wall 25 --whole-plans ";
  const Json area = json(one + "--area-above 18 --area-share 0.5");
  const auto above_at = [&](double wall) {
    return solved("00003", "--wall 25=" + Json(wall).dump())["pct_above_18"].get<double>();
  };
  EXPECT_GE(above_at(area["needed_most"].get<double>() + 1e-6), 50);
  EXPECT_LT(above_at(area["needed_least"].get<double>() - 1e-6), 50);
  EXPECT_EQ(json(one + "--room-mean 90")["verdict"], "above limit");
  EXPECT_EQ(json(one + "--room-mean 90 --limit 1000")["verdict"], "reachable");
}

TEST_F(OtherWalls, that_rooms_need_are_counted_over_the_set) {
  const Json all = json("need --data plans --wall 25 --room-mean 18 --share 0.5");
  std::size_t rooms = 0;
  for (const char* verdict : {"always", "reachable", "above_limit", "never"})
    rooms += all[verdict].get<std::size_t>();
  EXPECT_EQ(rooms, all["rooms"]);
  // As a CSV tells it of each room.
  const Finished finished =
      shell("wallheat need --data plans --wall 25 --room-mean 18 --share 0.5 --plot needs.svg");
  EXPECT_THAT(finished.out,
              AllOf(HasSubstr("for 50 % of the rooms"), HasSubstr("rooms by the wall's")));
  EXPECT_THAT(bytes("needs.svg"), HasSubstr("50 % at "));
  const std::string needs =
      shell(
          "wallheat need --data plans --wall 25 --room-mean 18 --format csv | "
          "tail -n +2 | cut -d, -f6 | sed 's/^$/inf/' | sort -g | "
          "awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'")
          .out;
  EXPECT_NEAR(std::stod(needs), all["needed"], 1e-3);
}

TEST_F(OtherWalls, are_refused_in_one_sentence) {
  const std::string what_if = "whatif --data plans ";
  expect_refusal(what_if + "--wall 20=22", 1, "has a wall of 20.0 °C");
  expect_refusal(what_if + "--wall 25", 2, "say what these walls are to be");
  expect_refusal(what_if + "--wall 25=nan", 2, "--wall must be KIND=DEGREES");
  expect_refusal(what_if + "--wall 25=1:900:1 --wall 5=1:2:1", 2, "more than 1000 combinations");
  expect_refusal(what_if + "--wall 25=22 --wall 25=23", 2, "--wall names 25 twice");
  const std::string need = "need --data plans --wall 25 ";
  expect_refusal("need --data plans --wall 20 --room-mean 18", 1, "has a wall of 20.0 °C");
  expect_refusal("need --data plans --wall 25=20 --room-mean 18", 2, "without a temperature");
  expect_refusal(need, 2, "give --room-mean, or --area-above");
  expect_refusal(need + "--room-mean 18 --share 0", 2,
                 "--share must be a number above 0 and at most 1, not '0'");
}

TEST_F(OtherWalls, are_answered_without_plans_that_cannot_be_read) {
  shell("printf nonsense > plans/00004_domain.npy");
  const Finished finished = shell("wallheat need --data plans --wall 25 --room-mean 18", 3);
  EXPECT_THAT(finished.err, HasSubstr("00004_domain.npy"));
  EXPECT_THAT(finished.out, HasSubstr("4, 4 of them"));
  const Json rows = json("whatif --data plans --wall 25=22", 3)["plans"];
  ASSERT_EQ(rows.size(), 8U) << "of four plans, with two settings";
  EXPECT_EQ(rows[6]["id"], "00005") << "in the order of the ids";
  expect_refusal("need 00004 --data plans --wall 25 --room-mean 18", 1, "00004_domain.npy");
  shell("rm plans/*_domain.npy");
  EXPECT_THAT(shell("wallheat whatif --data plans --wall 25=22", 1).out, Not(HasSubstr("plan")));
}

}  // namespace
}  // namespace wallheat
