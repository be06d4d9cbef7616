#include <nlohmann/json.hpp>

#include "support/shell_test.hpp"

// What `wallheat run --check` finds out before the first plan.

namespace wallheat {
namespace {

class PreflightCheckTest : public ShellTest {
 protected:
  const std::string check = "wallheat run --data plans --out results.h5 --check ";
  const std::string run = "wallheat run --data plans --out results.h5 ";
};

TEST_F(PreflightCheckTest, ReportsEveryProblemAtOnce) {
  generate(5, 24);
  EXPECT_THAT(shell(check + "--save-fields").out,
              AllOf(HasSubstr("5 plans"), HasSubstr("24 x 24 cells"), HasSubstr("are free in"),
                    HasSubstr("ready")));
  EXPECT_FALSE(exists("results.h5") || exists("results.h5.lock")) << "nothing is started";
  shell(run + "--first 2");
  const std::string before = bytes("results.h5");
  EXPECT_THAT(shell(check + "--resume").out, HasSubstr("has answers to 2 of 5 plans"));
  // Another tolerance, no GPU, no place for the events.
  const std::string many =
      shell(check + "--resume --tolerance 0.01 --device gpu --events nowhere/events", 1).out;
  EXPECT_THAT(many, AllOf(HasSubstr("problem   " + path("results.h5")),
                          HasSubstr("tolerance: the file has 0.0001, this run 0.01"),
                          HasSubstr("problem   there is no directory " + path("nowhere"))));
  if (shell("wallheat devices").out.find("no GPU") != std::string::npos) {
    EXPECT_THAT(many, HasSubstr("problem   --device gpu is not possible here"));
  }
  shell(run + "--check=job --resume --device gpu");  // GPUs are where the job will be
  EXPECT_THAT(shell(check, 1).out, HasSubstr("exists; go on with it by --resume"));

  shell("rm plans/00001_domain.npy plans/00004_interior.npy");  // the first one is solved
  const auto found = nlohmann::json::parse(shell(check + "--resume --json", 1).out);
  EXPECT_FALSE(found["ready"]);
  EXPECT_THAT(found["problems"].dump(),
              HasSubstr("already solved has changed in plans since: 00001"));
  EXPECT_THAT(found["warnings"].dump(), HasSubstr("1 plan cannot be read and will fail"));
  EXPECT_EQ(bytes("results.h5"), before);
}

TEST_F(PreflightCheckTest, ReportsDoneWhenNoPlanIsPending) {
  generate(3);
  const auto told = [&](const std::string& more) { return shell(check + "--resume " + more).out; };
  const auto is_ready = AllOf(HasSubstr("ready "), Not(HasSubstr("done ")));
  EXPECT_THAT(told(""), is_ready);
  shell(run + "--first 2");
  EXPECT_THAT(told(""), is_ready);
  EXPECT_THAT(told("--first 2"),
              AllOf(HasSubstr("done      all 2 plans are solved\n"), Not(HasSubstr("ready "))));
  EXPECT_TRUE(nlohmann::json::parse(told("--first 2 --json"))["done"]);
  shell("rm plans/00003_domain.npy; " + run + "--resume --max-attempts 1", 3);
  EXPECT_THAT(told(""), is_ready) << "two more tries";
  EXPECT_THAT(told("--max-attempts 1"),
              HasSubstr("done      of 3 plans 2 are solved, and 1 failed too often: only "
                        "--retry-failed tries them again\n"));
  EXPECT_THAT(told("--max-attempts 1 --retry-failed"), is_ready);
}

TEST_F(PreflightCheckTest, NamesPlanThatMayExceedMemory) {
  generate(3);
  shell(
      "wallheat generate --out wide --count 1 --size 256; for end in domain interior; "
      "do cp wide/00001_$end.npy plans/00002_$end.npy; done");
  EXPECT_THAT(
      shell(check + "--threads 1 --memory 0.02 --device cpu").out,
      AllOf(HasSubstr("may run out of memory"), HasSubstr("as large as 00002 (256 x 256 cells)"),
            HasSubstr("there are 20 MB; give the job more memory")));
  for (const auto& [node, processes] : {std::pair("job:64/1", "3 solver processes"),
                                        {"job:2/1", "2 solver processes"},
                                        {"job:64/2 --threads 1", "2 solver processes"},
                                        {"job", "how many a node solves is not"}})
    EXPECT_THAT(shell(run + "--memory 0.02 --check=" + node).out, HasSubstr(processes)) << node;
  EXPECT_THAT(shell(check + "--threads 1 --memory 64").out, Not(HasSubstr("out of memory")));
}

}  // namespace
}  // namespace wallheat
