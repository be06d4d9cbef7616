#include <fstream>
#include <set>

#include "monitor/run_status.hpp"
#include "store/result_file_names.hpp"
#include "store/result_store.hpp"
#include "support/shell_test.hpp"
#include "view/json.hpp"

// `wallheat merge` for job arrays, and `wallheat repair` for killed runs.

namespace wallheat {
namespace {

class ShardFilesTest : public ShellTest {
 protected:
  /// Makes `count` plans, and whole.h5, in which one run solved all of them.
  void solve(int count) {
    generate(count);
    shell("wallheat run --data plans --out whole.h5");
  }
  /// Makes a shard file of the same campaign with some rows of whole.h5; as a killed run leaves it
  /// if not `closed`.
  void make_shard_file(const std::string& name, const std::set<std::size_t>& rows,
                       bool closed = true) {
    const ResultReader whole(directory_ / "whole.h5");
    ResultFileSpec plan;
    plan.settings = whole.settings();
    std::vector<PlanResult> results;
    for (const PlanResult& row : whole.rows()) {
      plan.ids.push_back(row.id);
      if (rows.contains(row.index)) results.push_back(row);
    }
    ResultStore store({directory_ / name, OpenMode::create}, plan, {{"shard", name}});
    store.store(results);
    if (closed) store.close({});
  }
  [[nodiscard]] std::string csv(const std::string& name) const {
    return shell("wallheat export " + name).out;
  }
};

TEST_F(ShardFilesTest, MergesIntoCompleteFileAfterJobArray) {
  solve(6);
  shell(
      "export SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_MAX=7 SLURM_ARRAY_TASK_COUNT=3; "
      "for task in 5 6 7; do "
      "SLURM_ARRAY_TASK_ID=$task wallheat run --data plans --out r.h5 || exit; done; "
      "wallheat merge --out all.h5 r.part-*-of-3.h5");
  for (const char* command : {"list r.h5", "summary r.h5", "export r.h5"})
    expect_error(command, 1,
                 {"r.h5 does not exist", "3 shard files", "wallheat merge --out r.h5 r.part-*.h5"});
  EXPECT_EQ(csv("all.h5"), csv("whole.h5"));
  const Finished status = shell("wallheat status all.h5");
  EXPECT_THAT(lines_of(status.out),
              AllOf(Contains(Mentions({"plans", "6"})), Contains(Mentions({"solved", "6"})),
                    Contains(Mentions({"merged", "3"}))));
  EXPECT_THAT(status.out, Not(HasSubstr("in shard")));
  EXPECT_THAT(shell("wallheat summary all.h5").out, Mentions("3 of 3 sessions"));
}

TEST_F(ShardFilesTest, MergesWithMissingPlansWhenAllowed) {
  solve(6);
  make_shard_file("part-1.h5", {0, 2, 4});
  const Finished failed = shell("wallheat merge --json --out all.h5 part-1.h5", 1);
  const Json nothing = Json::parse(failed.out);
  EXPECT_EQ(nothing["written"], false);
  EXPECT_EQ(nothing["missing"],
            Json::parse(R"([{"id": "00002"}, {"id": "00004"}, {"id": "00006"}])"));
  EXPECT_THAT(failed.err, Mentions({"all.h5", "--allow-missing"}));
  EXPECT_FALSE(exists("all.h5"));

  make_shard_file("part-2.h5", {1, 3, 5}, false);
  const auto merged = lines_of(shell("wallheat merge --out both.h5 part-1.h5 part-2.h5").out);
  EXPECT_THAT(merged.front(), Mentions({"6 of 6", "0 missing", "0 duplicates", "0 conflicts"}));
  EXPECT_THAT(merged, AllOf(Contains(Mentions("part-2.h5")), Not(Contains(Mentions("part-1.h5")))))
      << "only the second file was not closed";
  EXPECT_EQ(csv("both.h5"), csv("whole.h5"));

  EXPECT_THAT(shell("wallheat merge --out all.h5 --allow-missing part-1.h5", 75).out,
              Mentions({"3 of 6", "3 missing", "0 duplicates", "0 conflicts"}));
  EXPECT_THAT(shell("wallheat export all.h5", 75).err, Mentions("3 plans"));
  shell("wallheat run --data plans --out all.h5 --resume");
  const auto session = ResultReader(directory_ / "all.h5").sessions().back();
  EXPECT_EQ(session.at("restored"), "3");
  EXPECT_EQ(session.at("solved"), "3");
  EXPECT_EQ(csv("all.h5"), csv("whole.h5"));

  shell("echo torn > plans/00002_domain.npy; wallheat run --data plans --out failed.h5", 3);
  EXPECT_THAT(
      lines_of(shell("wallheat merge --out some.h5 failed.h5", 3).out),
      ElementsAre(Mentions({"5 of 6", "0 missing", "0 duplicates", "0 conflicts", "1 failed"})));
}

TEST_F(ShardFilesTest, LeavesNoPlanOutWhenListHasGrown) {
  generate(12);
  const std::string open_shards =
      "wallheat run --data plans --out r.h5 --shard 2/3 --print-open-shards ";
  const std::string solve =
      "for k in 1 2 3; do wallheat run --resume --data plans --out r.h5 --shard $k/3 --log-level "
      "error $first || exit; done; ";
  shell("first='--first 6'; " + solve + "wallheat merge --out r.h5 r.part-*-of-3.h5");
  EXPECT_EQ(shell(open_shards + "--first 6").out, "");
  EXPECT_EQ(shell(open_shards).out, "2/3\n3/3\n1/3\n");
  EXPECT_EQ(shell("wallheat status --print-state r.h5").out, "done\n");

  shell("first='--first 9'; wallheat run --resume --data plans --out r.h5 --shard 1/3 $first");
  EXPECT_EQ(shell(open_shards + "--first 9").out, "2/3\n3/3\n");
  const Finished status = shell("wallheat status r.h5", 75);
  EXPECT_THAT(status.out, AllOf(Mentions({"9 plans", "2 of them pending", "merge"}),
                                Not(Mentions("nothing to do"))));
  shell("first=''; " + solve);
  EXPECT_EQ(shell(open_shards).out, "");
  EXPECT_THAT(shell("wallheat status r.h5", 75).out, Mentions({"merge", "--update"}));
  expect_error("merge --out r.h5 r.part-*-of-3.h5", 1, {"r.h5", "exists", "--update"});
  EXPECT_THAT(shell("wallheat merge --update --out r.h5 r.part-*-of-3.h5").out,
              Mentions({"12 of 12", "0 missing", "0 duplicates"}));
  shell("wallheat run --data plans --out whole.h5");
  EXPECT_EQ(csv("r.h5"), csv("whole.h5"));
  EXPECT_THAT(shell("wallheat status r.h5").out, Mentions("nothing to do"));
}

TEST_F(ShardFilesTest, ReportsPlansThatListHasAndShardsLack) {
  generate(4);
  shell(
      "for k in 1 2; do wallheat run --data plans --out r.h5 --shard $k/2 || exit; done; "
      "wallheat generate --out more --count 6 --size 32 --seed 3; mv -n more/0* plans/; mv "
      "more/building_ids.txt plans/");
  const Finished merged = shell("wallheat merge --json --out all.h5 r.part-*-of-2.h5", 75);
  EXPECT_EQ(Json::parse(merged.out)["not_in_shards"],
            Json::parse(R"([{"id": "00005"}, {"id": "00006"}])"));
  EXPECT_EQ(Json::parse(merged.out)["listed"], 6);
  EXPECT_THAT(shell("wallheat merge --out two.h5 r.part-*-of-2.h5", 75).out,
              Mentions({"plans", "6 plans", "2 of them", "--update"}));
  shell("mv plans elsewhere");
  EXPECT_THAT(shell("wallheat merge --out three.h5 r.part-*-of-2.h5").out,
              Mentions({"unknown", "--data"}));
  shell("wallheat merge --out four.h5 --data elsewhere r.part-*-of-2.h5", 75);
}

TEST_F(ShardFilesTest, RejectsTaskOfSmallerArray) {
  generate(8);
  const std::string task =
      "task() { export SLURM_ARRAY_TASK_ID=$1 SLURM_ARRAY_TASK_MIN=$2 SLURM_ARRAY_TASK_MAX=$3 "
      "SLURM_ARRAY_TASK_COUNT=$4; }; ";
  const std::string run = "wallheat run --data plans --out r.h5 --resume --log-level error ";
  shell(task + "for k in 1 2 4; do task $k 1 4 4; " + run + "|| exit; done");
  for (const char* again : {"task 3 3 3 1; ", "task 3 2 3 2; "}) {
    for (const char* option : {"", "--print-out", "--check"}) {
      const Finished refused =
          shell(task + again + run + option, std::string(option) == "--check" ? 1 : 2);
      EXPECT_THAT(refused.err + refused.out, Mentions({"r.part-1-of-4.h5", "--shard 3/4"}));
    }
  }
  EXPECT_FALSE(exists("r.h5"));
  EXPECT_EQ(shell("ls r.*.h5").out, "r.part-1-of-4.h5\nr.part-2-of-4.h5\nr.part-4-of-4.h5\n");
  shell(task + "task 3 3 3 1; " + run + "--shard 3/4");
  shell(task + "task 3 1 4 4; " + run);
  EXPECT_THAT(shell("wallheat merge --out r.h5 r.part-*-of-4.h5").out, Mentions("8 of 8"));
  EXPECT_THAT(shell("wallheat run --data plans --out r.h5 --shard 1/2").err,
              Mentions({"r.part-1-of-4.h5", "again"}));
}

TEST_F(ShardFilesTest, IsRepairedAfterKilledRun) {
  solve(4);
  make_shard_file("killed.h5", {0, 1}, false);
  write_run_status(path("killed.h5.status"), {});
  std::ofstream(new_temporary_path(path("killed.h5.status"))) << "{";
  const Json repaired = Json::parse(shell("wallheat repair --json killed.h5", 75).out);
  EXPECT_EQ(repaired["changed"], true);
  EXPECT_EQ(repaired["done"], 2);
  EXPECT_FALSE(repaired["findings"].empty());
  EXPECT_EQ(shell("ls killed.h5*").out, "killed.h5\n");
  EXPECT_THAT(shell("wallheat repair whole.h5").out, Mentions({"whole.h5", "4 done"}));
  EXPECT_EQ(Json::parse(shell("wallheat repair --json whole.h5").out)["changed"], false);
}

}  // namespace
}  // namespace wallheat
