#include <nlohmann/json.hpp>

#include "support/shell_test.hpp"

// What wallheat summary says of a file whose plans are not all solved.

namespace wallheat {
namespace {

class LeftOut : public ShellTest {
 protected:
  /// Six small plans and six large ones, L00001 to L00006.
  void SetUp() override {
    shell(
        "wallheat generate --out plans --count 6 --size 32 &&\n"
        "wallheat generate --out large --count 6 --size 96 &&\n"
        "for f in large/0*; do mv $f plans/L${f#large/}; done\n"
        "sed 's/^/L/' large/building_ids.txt >> plans/building_ids.txt; cp -r plans whole");
  }
  /// In r.h5 plans have an answer but those that match this.
  void solve_without(const std::string& missing) const {
    shell("rm -rf plans r.h5; cp -r whole plans; cd plans; for f in " + missing +
          "_domain.npy; do echo > $f; done; cd ..; wallheat run --data plans --out r.h5 || true");
  }
  nlohmann::json summary() const {
    return nlohmann::json::parse(shell("wallheat summary r.h5 --json").out);
  }
};

TEST_F(LeftOut, weighs_the_missing_plans) {
  solve_without("L*");
  EXPECT_THAT(shell("wallheat summary r.h5 --page page.html").out,
              StartsWith("averages over               6 of 12 plans; the missing ones are 9"));
  EXPECT_THAT(bytes("page.html"), HasSubstr("6 of 12 plans; the missing ones are 9"));
  auto answer = summary();
  EXPECT_EQ(answer["missing"], 6);
  EXPECT_GT(answer["missing_work_pct"], 90);
  EXPECT_GT(answer["missing_size_ratio"], 5);
  solve_without("0*");
  answer = summary();
  EXPECT_LT(answer["missing_work_pct"], 10);
  EXPECT_LT(answer["missing_size_ratio"], 0.2);
  solve_without("L0000[12]");
  EXPECT_THAT(shell("wallheat summary r.h5 --where 'mean_temp > 0'").out,
              HasSubstr("10 of 12 plans; the missing ones are "));
  shell("mv plans elsewhere");
  EXPECT_THAT(shell("wallheat summary r.h5").out,
              HasSubstr("10 of 12 plans; how large the missing ones are, their masks would tell"));
  EXPECT_THAT(shell("wallheat summary r.h5 --data elsewhere").out, HasSubstr("predicted work"));
}

TEST_F(LeftOut, ends_a_script_that_wants_all) {
  solve_without("L00001");
  EXPECT_THAT(shell("wallheat summary r.h5 --require-complete", 3).err,
              HasSubstr("r.h5 has answers to 11 of 12 plans; the missing ones are "));
  shell("wallheat run --data whole --out p.h5 --shard 1/2");
  shell("wallheat merge p.part-1-of-2.h5 --out all.h5 --allow-missing", 75);
  EXPECT_THAT(shell("wallheat summary all.h5 --require-complete", 75).err,
              HasSubstr("of 12 plans"));
  shell("wallheat run --data whole --out whole.h5");
  EXPECT_THAT(shell("wallheat summary whole.h5 --require-complete").out,
              Not(HasSubstr("averages over")));
}

}  // namespace
}  // namespace wallheat
