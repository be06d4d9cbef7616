#include <fstream>
#include <set>

#include "io/result_file_names.hpp"
#include "store/result_store.hpp"
#include "support/shell_test.hpp"
#include "view/json.hpp"
#include "view/run_status.hpp"

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
  EXPECT_EQ(csv("all.h5"), csv("whole.h5"));
  const Finished status = shell("wallheat status all.h5");
  EXPECT_THAT(lines_of(status.out),
              AllOf(Contains(Mentions({"plans", "6"})), Contains(Mentions({"solved", "6"})),
                    Contains(Mentions({"merged", "3"}))));
  EXPECT_THAT(status.out, Not(HasSubstr("shard")));
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
