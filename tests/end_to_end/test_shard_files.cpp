#include <fstream>
#include <set>

#include "store/result_store.hpp"
#include "support/shell_test.hpp"
#include "view/json.hpp"

// What users of job arrays and of killed runs meet: `wallheat merge` and `wallheat repair`.

namespace wallheat {
namespace {

class ShardFilesTest : public ShellTest {
 protected:
  /// whole.h5: all of `count` plans solved by one run.
  void solve(int count) {
    generate(count);
    shell("wallheat run --data plans --out whole.h5");
  }
  /// Another part of the same campaign, with some rows of whole.h5; left as by a kill if not
  /// `closed`.
  void make_part(const std::string& name, const std::set<std::size_t>& rows, bool closed = true) {
    const ResultReader whole(directory_ / "whole.h5");
    StorePlan plan;
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
  EXPECT_EQ(csv("all.h5"), csv("whole.h5"));
  EXPECT_THAT(shell("wallheat status all.h5").out,
              AllOf(HasSubstr("plans      6\n"), HasSubstr("solved   6"),
                    HasSubstr("merged from 3 parts"), Not(HasSubstr("shard"))));
  EXPECT_THAT(shell("wallheat summary all.h5").out, HasSubstr("(3 of 3 sessions"));
}

TEST_F(ShardFilesTest, MergesWithMissingPlansWhenAllowed) {
  solve(6);
  make_part("part-1.h5", {0, 2, 4});
  const Finished refused = shell("wallheat merge --json --out all.h5 part-1.h5", 1);
  const Json none = Json::parse(refused.out);
  EXPECT_EQ(none["written"], false);
  EXPECT_EQ(none["missing"], Json::parse(R"([{"id": "00002"}, {"id": "00004"}, {"id": "00006"}])"));
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("all.h5 was not written"), HasSubstr("--allow-missing")));
  EXPECT_FALSE(exists("all.h5"));

  make_part("part-2.h5", {1, 3, 5}, false);
  EXPECT_THAT(shell("wallheat merge --out both.h5 part-1.h5 part-2.h5").out,
              AllOf(StartsWith("6 of 6, 0 missing, 0 duplicates, 0 conflicts\n"),
                    HasSubstr("part-2.h5 was not closed")));
  EXPECT_EQ(csv("both.h5"), csv("whole.h5"));

  EXPECT_THAT(shell("wallheat merge --out all.h5 --allow-missing part-1.h5", 75).out,
              StartsWith("3 of 6, 3 missing, 0 duplicates, 0 conflicts\n"));
  EXPECT_THAT(shell("wallheat export all.h5", 75).err, HasSubstr("3 plans are not solved yet"));
  EXPECT_THAT(shell("wallheat run --data plans --out all.h5 --resume").err,
              HasSubstr("restored 3, solved 3"));
  EXPECT_EQ(csv("all.h5"), csv("whole.h5"));

  shell("echo torn > plans/00002_domain.npy; wallheat run --data plans --out failed.h5", 3);
  EXPECT_EQ(shell("wallheat merge --out some.h5 failed.h5", 3).out,
            "5 of 6, 0 missing, 0 duplicates, 0 conflicts, 1 failed\n");
}

TEST_F(ShardFilesTest, IsRepairedAfterKilledRun) {
  solve(4);
  make_part("killed.h5", {0, 1}, false);
  std::ofstream(path("killed.h5.status")) << "{}";
  std::ofstream(path("killed.h5.status.new")) << "{";
  const Json repaired = Json::parse(shell("wallheat repair --json killed.h5", 75).out);
  EXPECT_EQ(repaired["changed"], true);
  EXPECT_EQ(repaired["done"], 2);
  EXPECT_FALSE(repaired["findings"].empty());
  EXPECT_EQ(shell("ls killed.h5*").out, "killed.h5\n");
  EXPECT_THAT(shell("wallheat repair whole.h5").out, HasSubstr("whole.h5 needed nothing: 4 done"));
}

}  // namespace
}  // namespace wallheat
