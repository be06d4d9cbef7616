#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/shell_test.hpp"

// wallheat scaling and wallheat compare, as their users start them.

namespace wallheat {
namespace {

class Runs : public ShellTest {
 protected:
  /// Plans, a.h5 of one worker and b.h5 with another tolerance.
  void solve() const {
    shell(
        "wallheat generate --out plans --count 5 --size 32 &&\n"
        "wallheat run --data plans --out a.h5 --threads 1 --device cpu --log-level error "
        "--progress none &&\n"
        "wallheat run --data plans --out b.h5 --threads 1 --device cpu --tolerance 0.1 "
        "--log-level error --progress none");
  }
};

TEST_F(Runs, are_compared_in_what_more_workers_bring_and_predicted) {
  solve();
  EXPECT_THAT(shell("wallheat scaling a.h5").out,
              AllOf(HasSubstr("nodes  GPUs  workers"), HasSubstr("100.0")));
  shell(
      "wallheat run --data plans --out few.h5 --first 2 --threads 1 --device cpu --log-level error "
      "--progress none");
  EXPECT_THAT(shell("wallheat scaling a.h5 few.h5 --plot counts.svg").out,
              AllOf(StartsWith("plans "), HasSubstr("\n    2 "), HasSubstr("\n    5 "),
                    EndsWith("\nworkers  1\n")));
  EXPECT_THAT(bytes("counts.svg"), HasSubstr("seconds a plan of 1 worker"));

  const Finished predicted =
      shell("wallheat scaling --replay a.h5 --schedule static,dynamic --plot s.svg");
  EXPECT_THAT(predicted.out,
              AllOf(HasSubstr("static "), HasSubstr("   1024  "), Not(HasSubstr("longest-first")),
                    HasSubstr("as long beside other workers as it did"),
                    HasSubstr("the longest plan takes "), Not(HasSubstr("S(inf)"))));
  EXPECT_THAT(bytes("s.svg"), HasSubstr("strong scaling: replay of a.h5"));
  const auto slowdown = [&](const std::string& option) {
    const auto points = nlohmann::json::parse(
        shell("wallheat scaling --replay a.h5 --workers 2 --json " + option).out)["points"];
    return points[0]["seconds"].get<double>();
  };
  EXPECT_DOUBLE_EQ(slowdown("--slowdown 1.25"), 1.25 * slowdown(""));
  EXPECT_THAT(shell("wallheat scaling --times 1=212,2=140,3=110,4=105,8=145").out,
              HasSubstr("  4  105.00      2.02          50.5  0.673    3.06\n"));
}

TEST_F(Runs, whose_scaling_cannot_be_told_are_refused) {
  solve();
  expect_refusal("scaling", 2, "give result files");
  expect_refusal("scaling a.h5 --times 1=2", 2, "FILE and --times exclude each other");
  expect_refusal("scaling a.h5 --workers 2", 2, "--workers goes with --replay");
  expect_refusal("scaling --times 2=140", 2, "no time is that of one");
  expect_refusal("scaling --times 1=212,2=fast", 2, "not '2=fast'");
  expect_refusal("scaling --replay a.h5 --workers 1,two", 2, "not 'two'");
  expect_refusal("scaling --replay a.h5 --schedule dinamic", 2, "did you mean 'dynamic'?");
  expect_refusal("scaling a.h5 b.h5", 1, "other settings");
}

TEST_F(Runs, are_compared_by_their_answers_and_times) {
  solve();
  EXPECT_THAT(shell("wallheat compare a.h5 a.h5 --require-equal").out,
              HasSubstr("a.h5 and a.h5 are identical to the last bit: 5 plans\n"));

  EXPECT_THAT(shell("wallheat compare a.h5 b.h5 numpy=79 --plans 4571 --plot c.png").out,
              AllOf(HasSubstr("tolerance     0.0001  0.1\n"), HasSubstr("absolute differences"),
                    HasSubstr("plans by difference of mean_temp, b.h5 less a.h5"),
                    HasSubstr("s for 4571 plans"), HasSubstr("72221.8  20.06\n"),
                    HasSubstr("where the time of all threads went")));
  EXPECT_THAT(bytes("c.png"), StartsWith("\x89PNG"));

  const Finished unequal = shell("wallheat compare a.h5 b.h5 --require-equal --json", 1);
  EXPECT_THAT(unequal.out, HasSubstr("\"equal\": false"));
  EXPECT_THAT(unequal.err, HasSubstr("a.h5 and b.h5 differ: 0 of 5 plans"));

  EXPECT_THAT(
      shell("wallheat export a.h5 -o a.csv && wallheat compare a.h5 a.csv --require-equal").out,
      HasSubstr("a.h5 and a.csv are identical to the last bit: 5 plans\n"));
}

TEST_F(Runs, are_told_from_what_another_program_prints) {
  solve();
  shell("wallheat export a.h5 -o a.csv");
  EXPECT_THAT(shell("wallheat compare a.csv --data plans").out,
              StartsWith("5 of 5 plans are the reference's answer\n"));
  expect_refusal("compare a.csv b.h5 --data plans", 2, "--data goes with one CSV");
  expect_refusal("compare a.csv --data plans --list 3", 2, "--data and --list exclude each other");
  expect_refusal("compare a.h5 --data plans", 1, "a.h5 is no text");
  expect_refusal("compare none.csv --data plans", 1, "none.csv");
}

TEST_F(Runs, that_cannot_be_compared_are_refused) {
  solve();
  std::ofstream(directory_ / "notes.txt") << "not a result\n";
  expect_refusal("compare", 2, "WHAT is missing");
  expect_refusal("compare a.h5", 2, "one thing only");
  expect_refusal("compare a.h5 numpy=fast", 2, "'numpy=fast' is neither");
  expect_refusal("compare a.h5 notes.txt", 1, "notes.txt");
  expect_refusal("compare a=1 a=2 --timed-plans 3", 2, "two things are named 'a'");
  expect_refusal("compare x=1 y=2", 2, "--timed-plans must tell");
  expect_refusal("compare a.h5 b.h5 --timed-plans 3", 2, "needs NAME=SECONDS");
  expect_refusal("compare a.h5 x=1 --require-equal", 2, "needs two files");
}

}  // namespace
}  // namespace wallheat
