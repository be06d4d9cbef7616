#include <nlohmann/json.hpp>

#include "support/shell_test.hpp"

// What a run finds out before its first plan.

namespace wallheat {
namespace {

class BeforeTheStart : public ShellTest {
 protected:
  const std::string run = "wallheat run --data plans --out results.h5 ";
};

TEST_F(BeforeTheStart, a_mistake_is_told_in_one_sentence) {
  generate(2);
  shell("echo > empty; echo 'something precious' > existing.h5");
  const std::vector<std::tuple<std::string, int, std::string>> mistakes{
      {"run --data none --out x.h5", 1, "there is no directory or zip archive"},
      {"run --data existing.h5 --out x.h5", 1, "nor a zip archive"},
      {"run --data plans --ids none --out x.h5", 1, "cannot be read"},
      {"run --data plans --ids empty --out x.h5", 1, "names no plan"},
      {"run --data plans --out none/x.h5", 1, "none"},
      {"run --data plans --out existing.h5", 1, "--overwrite"},
      {"run --data plans --out existing.h5 --resume", 1, "existing.h5"},
      {"run --data plans --out x.h5 --device gpu", 1, "--device gpu"},
      {"run --data plans --out x.h5 --events none/e", 1, "event log"},
      {"run --data plans --out x.h5 --log-level loud", 2, "--log-level"},
      {"run --data plans --out x.h5 --json", 2, "--json goes with --check"},
      {"run --data plans --out x.csv", 2, "'wallheat export' makes CSV"},
      {"export existing.h5", 1, "existing.h5"},
      {"generate --out plans", 1, "exists"},
      {"generate --out x --size 3", 2, "--size must be a whole number from 16 to 16384, not '3'"},
      {"bench --solver steady", 2, "--solvers shows all"},
      {"bench --plot b.svg", 2, "--plot needs --device gpu, or --solvers"},
      {"bench --reference 00001", 2, "--reference goes with --data"},
      {"bench --reference 00001 --data plans --solvers", 2,
       "--solvers and --reference exclude each other"},
      {"bench --device gpu --quick --plot x.png", 2, "--quick and --plot exclude each other"},
  };
  for (const auto& [command, status, sentence] : mistakes)
    expect_refusal(command, status, sentence);
  EXPECT_EQ(bytes("existing.h5"), "something precious\n");
}

TEST_F(BeforeTheStart, a_mistake_is_told_once_and_with_its_status_under_mpirun) {
  generate(2);
  const std::string ranks = "$mpirun 3 run --data plans --out results.h5 ";
  const std::string usage = shell(ranks + "--threads -1", 2).err;
  EXPECT_THAT(usage, HasSubstr("wallheat: --threads"));
  EXPECT_EQ(usage.find("wallheat: --threads"), usage.rfind("wallheat: --threads")) << usage;
  shell(ranks + "--ids none", 1);
}

TEST_F(BeforeTheStart, all_that_would_stop_a_run_is_told_at_once) {
  generate(5, 24);
  EXPECT_THAT(shell(run + "--check --save-fields").out,
              AllOf(HasSubstr("5 plans"), HasSubstr("24 x 24 cells"), HasSubstr("are free in"),
                    HasSubstr("ready")));
  EXPECT_FALSE(exists("results.h5") || exists("results.h5.lock")) << "nothing is started";
  shell(run + "--first 2");
  const std::string before = bytes("results.h5");
  EXPECT_THAT(shell(run + "--check --resume").out, HasSubstr("has answers to 2 of 5 plans"));
  // All at once: another tolerance, no GPU, no place for the events.
  const std::string many =
      shell(run + "--check --resume --tolerance 0.01 --device gpu --events nowhere/events", 1).out;
  EXPECT_THAT(many, AllOf(HasSubstr("problem   " + path("results.h5")),
                          HasSubstr("tolerance: the file has 0.0001, this run 0.01"),
                          HasSubstr("problem   there is no directory " + path("nowhere"))));
  if (shell("wallheat devices").out.find("no GPU") != std::string::npos) {
    EXPECT_THAT(many, HasSubstr("problem   --device gpu is not possible here"));
  }
  shell(run + "--check=job --resume --device gpu");  // GPUs are where the job will be
  EXPECT_THAT(shell(run + "--check", 1).out, HasSubstr("exists; go on with it by --resume"));

  shell("rm plans/00001_domain.npy plans/00004_interior.npy");  // the first one is solved
  EXPECT_THAT(shell(run + "--check --resume", 1).out,
              AllOf(HasSubstr("warning   1 plan cannot be read and will fail"),
                    HasSubstr("already solved has changed in plans"), HasSubstr("since: 00001")));
  const auto found = nlohmann::json::parse(shell(run + "--check --resume --json", 1).out);
  EXPECT_FALSE(found["ready"]);
  EXPECT_EQ(found["problems"].size(), 1U);
  EXPECT_THAT(std::string(found["problems"][0]), HasSubstr("since: 00001"));
  EXPECT_EQ(found["warnings"].size(), 1U);
  EXPECT_TRUE(found["facts"].contains("plans"));
  EXPECT_EQ(bytes("results.h5"), before);
}

TEST_F(BeforeTheStart, it_is_told_that_nothing_is_left) {
  generate(3);
  const std::string check = run + "--check --resume ";
  EXPECT_THAT(shell(check).out, Not(HasSubstr("done ")));
  shell(run + "--first 2");
  EXPECT_THAT(shell(check).out, AllOf(HasSubstr("ready "), Not(HasSubstr("done "))));
  EXPECT_THAT(shell(check + "--first 2").out,
              AllOf(HasSubstr("done      all 2 plans are solved\n"), Not(HasSubstr("ready "))));
  EXPECT_TRUE(nlohmann::json::parse(shell(check + "--first 2 --json").out)["done"]);
  shell("rm plans/00003_domain.npy; " + run + "--resume --max-attempts 1", 3);
  EXPECT_THAT(shell(check).out, HasSubstr("ready ")) << "two more tries";
  EXPECT_THAT(shell(check + "--max-attempts 1").out,
              HasSubstr("done      of 3 plans 2 are solved, and 1 failed too often: only "
                        "--retry-failed tries them again\n"));
  EXPECT_THAT(shell(check + "--max-attempts 1 --retry-failed").out, HasSubstr("ready "));
  shell("wallheat run --data plans --out p.h5 --shard 2/3");
  EXPECT_THAT(shell("wallheat run --data plans --out p.h5 --shard 2/3 --resume --check").out,
              HasSubstr("done      the only plan of shard 2/3 is solved\n"));
}

TEST_F(BeforeTheStart, plans_that_may_not_fit_into_memory_are_named) {
  generate(3);
  shell(
      "wallheat generate --out wide --count 1 --size 256 && cp wide/00001_domain.npy "
      "plans/00002_domain.npy && cp wide/00001_interior.npy plans/00002_interior.npy");
  const auto names_plan =
      AllOf(HasSubstr("may run out of memory"), HasSubstr("as large as 00002 (256 x 256 cells)"),
            HasSubstr("there are 20 MB; give the job more memory"));
  EXPECT_THAT(shell(run + "--check --threads 1 --memory 0.02 --device cpu").out, names_plan);
  EXPECT_THAT(shell(run + "--check=job --memory 0.02").out, names_plan);
  for (const auto& [node, processes] : {std::pair("job:64/1", "3 solver processes"),
                                        {"job:2/1", "2 solver processes"},
                                        {"job:64/2 --threads 1", "2 solver processes"},
                                        {"job", "how many a node solves is not"}})
    EXPECT_THAT(shell(run + "--memory 0.02 --check=" + node).out, HasSubstr(processes)) << node;
  for (const char* odd : {":", ":0/1", ":4", ":4/0", ":4/x", ":9999999/1"})
    expect_refusal("run --data plans --out x.h5 --check=job" + std::string(odd), 2, "--check");
  EXPECT_THAT(shell(run + "--check --threads 1 --memory 64").out, Not(HasSubstr("out of memory")));
}

}  // namespace
}  // namespace wallheat
