#include "support/shell_test.hpp"
#include "view/json.hpp"

// `wallheat run --check`: problems and warnings that are found before the first plan starts.

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
              Mentions({"5 plans", "24 x 24", "disk", directory_.path().string(), "ready"}));
  EXPECT_FALSE(exists("results.h5") || exists("results.h5.lock")) << "nothing was started";
  shell(run + "--first 2");
  const std::string before = bytes("results.h5");
  EXPECT_THAT(shell(check + "--resume").out, Mentions("2 of 5 plans"));
  // Another tolerance, no GPU, no directory for the event log.
  const std::string many =
      shell(check + "--resume --tolerance 0.01 --device gpu --events nowhere/events", 1).out;
  EXPECT_THAT(lines_of(many),
              AllOf(Contains(AllOf(StartsWith("problem "),
                                   Mentions({path("results.h5"), "tolerance", "0.0001", "0.01"}))),
                    Contains(AllOf(StartsWith("problem "), Mentions(path("nowhere"))))));
  if (Json::parse(shell("wallheat devices --json").out)["gpus"].empty()) {
    EXPECT_THAT(lines_of(many), Contains(AllOf(StartsWith("problem "), Mentions("--device gpu"))));
  }
  EXPECT_THAT(shell(check, 1).out, Mentions({"problem", "results.h5", "--resume", "--overwrite"}));

  shell("rm plans/00001_domain.npy plans/00004_interior.npy");  // the first one is solved
  const Json found = Json::parse(shell(check + "--resume --json", 1).out);
  EXPECT_FALSE(found["ready"]);
  EXPECT_THAT(found["problems"].dump(), Mentions("00001"));
  EXPECT_THAT(found["warnings"].dump(), Mentions({"1 plan", "00004_interior.npy"}));
  EXPECT_EQ(bytes("results.h5"), before);
}

TEST_F(PreflightCheckTest, WarnsOfPlansThatAreNotListed) {
  generate(3);
  shell("cp plans/00002_domain.npy plans/new_domain.npy");
  shell("cp plans/00002_interior.npy plans/new_interior.npy");
  const auto warns = Contains(AllOf(
      StartsWith("warning "), Mentions({"building_ids.txt", "plans", "1 plan", "new", "--ids"})));
  EXPECT_THAT(lines_of(shell(check).out), warns);
  for (const std::string selection : {"--first 2", "--ids plans/building_ids.txt", "--id new"})
    EXPECT_THAT(lines_of(shell(check + selection).out), Not(warns)) << selection;
  shell("cd plans && zip -q ../plans.zip *");
  EXPECT_THAT(shell("wallheat run --data plans.zip --out results.h5 --check").out,
              Mentions({"building_ids.txt", "plans.zip", "1 plan", "new"}));
}

TEST_F(PreflightCheckTest, ReportsStatusFileOfUser) {
  generate(2);
  shell("echo 'my notes' > results.h5.status");
  const Facts facts{path("results.h5.status"), "move"};
  EXPECT_THAT(lines_of(shell(check, 1).out),
              Contains(AllOf(StartsWith("problem "), Mentions(facts))));
  EXPECT_THAT(shell(run, 1).err, Mentions(facts));
  EXPECT_EQ(bytes("results.h5.status"), "my notes\n");
  EXPECT_EQ(shell("ls results.h5*").out, "results.h5.status\n");
}

TEST_F(PreflightCheckTest, ReportsDoneWhenNoPlanIsPending) {
  generate(3);
  const auto printed = [&](const std::string& more) {
    return lines_of(shell(check + "--resume " + more).out);
  };
  const auto is_ready = AllOf(Contains(StartsWith("ready ")), Not(Contains(StartsWith("done "))));
  EXPECT_THAT(printed(""), is_ready);
  shell(run + "--first 2");
  EXPECT_THAT(printed(""), is_ready);
  EXPECT_THAT(printed("--first 2"), AllOf(Contains(AllOf(StartsWith("done "), Mentions("2 plans"))),
                                          Not(Contains(StartsWith("ready ")))));
  EXPECT_TRUE(Json::parse(shell(check + "--resume --first 2 --json").out)["done"]);
  shell("rm plans/00003_domain.npy; " + run + "--resume --max-attempts 1", 3);
  EXPECT_THAT(printed(""), is_ready) << "two attempts are left";
  EXPECT_THAT(
      printed("--max-attempts 1"),
      Contains(AllOf(StartsWith("done "), Mentions({"3 plans", "2", "1", "--retry-failed"}))));
  EXPECT_THAT(printed("--max-attempts 1 --retry-failed"), is_ready);
}

TEST_F(PreflightCheckTest, NamesPlanThatMayExceedMemory) {
  generate(3);
  shell(
      "wallheat generate --out wide --count 1 --size 256; for end in domain interior; "
      "do cp wide/00001_$end.npy plans/00002_$end.npy; done");
  const auto memory_warning = [](const Facts& facts) {
    return Contains(AllOf(StartsWith("warning "), Mentions("memory"), Mentions(facts)));
  };
  EXPECT_THAT(lines_of(shell(check + "--threads 1 --memory 0.02 --device cpu").out),
              memory_warning({"00002", "256 x 256", "20 MB"}));
  for (const auto& [node, processes] :
       {std::pair("job:cores=64", "3 solver processes"),
        {"job:cores=2,workers=1", "2 solver processes"},
        {"job:cores=64,workers=2 --threads 1", "2 solver processes"}})
    EXPECT_THAT(lines_of(shell(run + "--memory 0.02 --check=" + node).out),
                memory_warning({processes}))
        << node;
  // The number of plans that a node of the job solves at a time is unknown.
  const auto names_node = Contains(AllOf(StartsWith("memory "), Mentions("node")));
  EXPECT_THAT(lines_of(shell(run + "--memory 0.02 --check=job").out), names_node);
  EXPECT_THAT(lines_of(shell(run + "--memory 0.02 --check=job:cores=64").out), Not(names_node));
  EXPECT_THAT(lines_of(shell(check + "--threads 1 --memory 64").out), Not(memory_warning({})));
}

TEST_F(PreflightCheckTest, EstimatesWorkFromPlansOfAllSizes) {
  const std::string check_job = run + "--tolerance 1e-6 --max-iterations 1000000 --check=job";
  const auto is_not_worth_a_job = Contains(AllOf(StartsWith("warning "), Mentions("job")));
  const auto add_large_plan = [&](const std::string& size) {
    shell("wallheat generate --out large --count 1 --size " + size +
          "; for end in domain interior; do mv large/00001_$end.npy plans/00012_$end.npy; done; "
          "rm -r large");
  };
  generate(24);
  EXPECT_THAT(lines_of(shell(check_job).out), is_not_worth_a_job);
  // One plan takes longer than all others together.
  add_large_plan("1536");
  EXPECT_THAT(lines_of(shell(check_job).out), Not(is_not_worth_a_job));
  // The mask of this plan is too large for an estimate.
  add_large_plan("4100");
  EXPECT_THAT(
      lines_of(shell(check_job).out),
      AllOf(Not(is_not_worth_a_job), Contains(AllOf(StartsWith("work "), Mentions("at most")))));
}

}  // namespace
}  // namespace wallheat
