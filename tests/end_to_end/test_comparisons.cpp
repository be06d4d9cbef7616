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
  /// Refused with this status and one sentence.
  void expect_refused(const std::string& command, int status, const std::string& sentence) const {
    const Finished refused = shell("wallheat " + command, status);
    EXPECT_THAT(refused.err, AllOf(StartsWith("wallheat: "), HasSubstr(sentence))) << command;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    EXPECT_EQ(refused.out, "") << command;
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
  EXPECT_THAT(predicted.out, AllOf(HasSubstr("static "), HasSubstr("dynamic "),
                                   HasSubstr("   1024  "), Not(HasSubstr("longest-first"))));
  EXPECT_THAT(bytes("s.svg"), HasSubstr("strong scaling: replay of a.h5"));
  EXPECT_THAT(predicted.out, AllOf(HasSubstr("as long beside other workers as it did"),
                                   HasSubstr("the longest plan takes "), Not(HasSubstr("S(inf)"))));
  const auto points = [&](const std::string& option) {
    return nlohmann::json::parse(
        shell("wallheat scaling --replay a.h5 --workers 1,2 --json " + option).out)["points"];
  };
  const auto plain = points("");
  const auto slower = points("--slowdown 1.25");
  EXPECT_EQ(slower[0]["seconds"], plain[0]["seconds"]);
  EXPECT_DOUBLE_EQ(slower[1]["seconds"], 1.25 * plain[1]["seconds"].get<double>());
  EXPECT_THAT(shell("wallheat scaling --times 1=212,2=140,3=110,4=105,8=145").out,
              HasSubstr("  4  105.00      2.02          50.5  0.673    3.06\n"));
}

TEST_F(Runs, whose_scaling_cannot_be_told_are_refused) {
  solve();
  expect_refused("scaling", 2, "give result files");
  expect_refused("scaling a.h5 --times 1=2", 2, "result files and --times exclude each other");
  expect_refused("scaling a.h5 --workers 2", 2, "--workers has no meaning for result files");
  expect_refused("scaling --times 1=2 --overhead 1", 2, "--overhead has no meaning for --times");
  expect_refused("scaling --times 2=140", 2, "no time is that of one");
  expect_refused("scaling --times 1=212,2=fast", 2, "not '2=fast'");
  expect_refused("scaling --times 1=212,0=3", 2, "not '0'");
  expect_refused("scaling --replay a.h5 --workers 1,two", 2, "not 'two'");
  expect_refused("scaling --replay a.h5 --schedule dinamic", 2, "did you mean 'dynamic'?");
  expect_refused("scaling --replay a.h5 --overhead -1", 2, "at least 0");
  expect_refused("scaling --replay a.h5 --slowdown 0.9", 2, "--slowdown must be a number of at");
  expect_refused("scaling a.h5 b.h5", 1, "other settings");
  expect_refused("scaling plans/00001_domain.npy", 1, "00001_domain.npy");
  expect_refused("scaling --times 1=2 --plot s.gif", 2, ".png");
}

TEST_F(Runs, are_compared_by_their_answers_and_times) {
  solve();
  EXPECT_THAT(shell("wallheat compare a.h5 a.h5 --require-equal").out,
              HasSubstr("a.h5 and a.h5 are identical to the last bit: 5 plans\n"));

  EXPECT_THAT(shell("wallheat compare a.h5 b.h5 numpy=79 --plans 4571 --plot c.png").out,
              AllOf(HasSubstr("tolerance     0.0001  0.1\n"), HasSubstr("columns that differ"),
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

TEST_F(Runs, that_cannot_be_compared_are_refused) {
  solve();
  std::ofstream(directory_ / "notes.txt") << "not a result\n";
  expect_refused("compare", 2, "WHAT is missing");
  expect_refused("compare a.h5", 2, "one thing only");
  expect_refused("compare a.h5 numpy=fast", 2, "'numpy=fast' is neither");
  expect_refused("compare a.h5 numpy=-1", 2, "neither");
  expect_refused("compare a.h5 notes.txt", 1, "notes.txt");
  expect_refused("compare a.h5 nowhere.h5", 1, "nowhere.h5");
  expect_refused("compare a=1 a=2 --timed-plans 3", 2, "two things are named 'a'");
  expect_refused("compare x=1 y=2", 2, "--timed-plans must tell");
  expect_refused("compare a.h5 b.h5 --timed-plans 3", 2, "needs NAME=SECONDS");
  expect_refused("compare a.h5 x=1 --require-equal", 2, "needs two files");
  expect_refused("compare a.h5 b.h5 --plans 0", 2, "--plans must be at least 1");
  expect_refused("compare a.h5 b.h5 --plot a.h5", 2, "one file");
  expect_refused("compare a.h5 a.h5 --plot /nowhere/s.png", 1, "/nowhere/s.png");
}

}  // namespace
}  // namespace wallheat
