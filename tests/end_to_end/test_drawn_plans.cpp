#include <nlohmann/json.hpp>

#include "support/shell_test.hpp"

// wallheat generate --from, on a drawing that comes with wallheat.

namespace wallheat {
namespace {

class Drawn : public ShellTest {
 protected:
  void SetUp() override { shell("cp '" WALLHEAT_CONFIGS "/../jobs/examples/flat.png' ."); }
  const std::string generate_ = "wallheat generate --from flat.png --wall '#ff0000=25' ";
};

TEST_F(Drawn, becomes_a_plan_that_can_be_solved_and_drawn) {
  const Finished made = shell(generate_ + "--wall '#000000=5' --scale 2 --out drawn");
  EXPECT_THAT(made.out,
              AllOf(HasSubstr("1 floor plan of 288 x 384 cells in drawn"), HasSubstr("#000000"),
                    HasSubstr("wall of 5.0 °C"), HasSubstr("#78a0d2  outside")));
  EXPECT_EQ(bytes("drawn/building_ids.txt"), "flat\n");
  EXPECT_THAT(shell("wallheat solve flat --data drawn --tolerance 0.01 --png flat.png.png").out,
              HasSubstr("mean temperature"));
  EXPECT_THAT(bytes("flat.png.png"), StartsWith("\x89PNG"));
  shell("cp flat.png other.png");
  const auto two = nlohmann::json::parse(
      shell(generate_ + "--from other.png --wall '#000000=5' --out two.zip --json").out);
  EXPECT_EQ(two["count"], 2);
  EXPECT_EQ(two["colours"][0]["meaning"], "room");
  EXPECT_THAT(shell("wallheat run --data two.zip --out r.h5 --tolerance 0.01").status, 0);
}

TEST_F(Drawn, that_cannot_be_read_leaves_nothing) {
  const std::string command = generate_.substr(9) + "--out drawn ";
  expect_refusal(command, 1, "flat.png: the pixel at x 16, y 14 is #000000");
  expect_refusal(command + "--wall black=5", 2, "as '#ff0000=25', not 'black=5'");
  expect_refusal(command + "--wall '#ff0000=5'", 2, "--wall names #ff0000 twice");
  expect_refusal(command + "--wall '#ffffff=5'", 2, "white, which is room");
  expect_refusal(command + "--count 5", 2, "--from and --count exclude each other");
  expect_refusal(command + "--scale 1/0", 2, "--scale must be 1 to 1000");
  expect_refusal(command + "--from ./flat.png", 2, "two pictures are called flat");
  expect_refusal("generate --from flat.png --out drawn", 2, "--from needs --wall");
  expect_refusal("generate --wall '#000000=5' --out drawn", 2, "--wall goes with --from");
  expect_refusal("generate --from no.png --wall '#000000=5' --out drawn", 1, "no.png");
  EXPECT_FALSE(exists("drawn"));
}

}  // namespace
}  // namespace wallheat
