#include <fstream>
#include <set>

#include "store/result_store.hpp"
#include "support/shell_test.hpp"
#include "view/json.hpp"
#include "wallheat/floor_plan_files.hpp"

// What users of job arrays and of killed runs meet: `wallheat merge` and `wallheat repair`.

namespace wallheat {
namespace {

class Parts : public ShellTest {
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
    auto store = ResultStore::create(directory_ / name, plan, {{"shard", name}}, false);
    store.store(results);
    if (closed) store.close({});
  }
  [[nodiscard]] std::string csv(const std::string& name) const {
    return shell("wallheat export " + name).out;
  }
};

TEST_F(Parts, of_a_job_array_become_a_file_that_is_no_shard) {
  generate(6);
  shell(
      "export SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_MAX=7 SLURM_ARRAY_TASK_COUNT=3; "
      "for task in 5 6 7; do "
      "SLURM_ARRAY_TASK_ID=$task wallheat run --data plans --out r.h5 || exit; done; "
      "wallheat merge --out all.h5 r.part-*-of-3.h5");
  shell("wallheat run --data plans --out whole.h5");
  EXPECT_EQ(csv("all.h5"), csv("whole.h5"));
  const Finished all = shell("wallheat status all.h5");
  EXPECT_THAT(all.out, AllOf(HasSubstr("plans      6\n"), HasSubstr("solved   6"),
                             HasSubstr("merged from 3 parts"), Not(HasSubstr("shard"))));
  EXPECT_THAT(shell("wallheat summary all.h5").out, HasSubstr("(3 of 3 sessions"));

  shell("wallheat merge --out some.h5 --allow-missing r.part-1-of-3.h5 r.part-2-of-3.h5", 75);
  EXPECT_THAT(shell("wallheat status some.h5", 75).out,
              AllOf(HasSubstr("solved   4"), HasSubstr("pending  2"),
                    HasSubstr("wallheat run --data PLANS --out")));
}

TEST_F(Parts, that_leave_plans_out_are_finished_by_a_resume_of_the_whole) {
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
  const Finished whole = shell("wallheat merge --out both.h5 part-1.h5 part-2.h5");
  EXPECT_THAT(whole.out, AllOf(StartsWith("6 of 6, 0 missing, 0 duplicates, 0 conflicts\n"),
                               HasSubstr("part-2.h5 was not closed")));
  EXPECT_EQ(csv("both.h5"), csv("whole.h5"));

  EXPECT_THAT(shell("wallheat merge --out all.h5 --allow-missing part-1.h5", 75).out,
              StartsWith("3 of 6, 3 missing, 0 duplicates, 0 conflicts\n"));
  EXPECT_EQ(shell("wallheat list all.h5 --where \"status = 'pending'\" --columns id -f csv").out,
            "id\n00002\n00004\n00006\n");
  EXPECT_THAT(shell("wallheat run --data plans --out all.h5 --resume").err,
              HasSubstr("restored 3, solved 3"));
  EXPECT_EQ(csv("all.h5"), csv("whole.h5"));
}

TEST_F(Parts, that_contradict_each_other_stop_the_merge) {
  solve(3);
  make_part("part-1.h5", {0, 1});
  auto changed = load_floor_plan(directory_ / "plans", "00002");
  changed.domain(0, 0) += 1;
  save_floor_plan(directory_ / "plans", "00002", changed);
  shell("wallheat run --data plans --out other.h5");
  const Finished merged = shell("wallheat merge --out all.h5 part-1.h5 other.h5", 1);
  EXPECT_THAT(merged.out,
              AllOf(StartsWith("3 of 3, 0 missing, 2 duplicates, 1 conflicts\n"),
                    HasSubstr("plan \"00002\" has different answers in"), HasSubstr("input_hash")));
  EXPECT_THAT(merged.err, HasSubstr("all.h5 was not written"));
  EXPECT_FALSE(exists("all.h5"));
  expect_refusal("merge --out all.h5 part.h5", 1, "part.h5 does not exist");
  // A part may have failed plans.
  std::ofstream(directory_ / "plans/00002_domain.npy") << "not an array";
  shell("wallheat run --data plans --out failed.h5", 3);
  EXPECT_EQ(shell("wallheat merge --out all.h5 failed.h5", 3).out,
            "2 of 3, 0 missing, 0 duplicates, 0 conflicts, 1 failed\n");
}

TEST_F(Parts, of_a_killed_run_are_made_whole_by_repair) {
  solve(4);
  make_part("killed.h5", {0, 1}, false);
  std::ofstream(path("killed.h5.status")) << "{}";
  std::ofstream(path("killed.h5.status.new")) << "{";
  shell("cp killed.h5 again.h5; cp killed.h5.wal0 again.h5.wal0");
  EXPECT_THAT(shell("wallheat repair killed.h5", 75).out,
              AllOf(HasSubstr("folded in: 2 results of 1 journal"),
                    HasSubstr("killed.h5 is whole: 2 done, 0 failed, 2 pending")));
  const Json repaired = Json::parse(shell("wallheat repair --json again.h5", 75).out);
  EXPECT_EQ(repaired["changed"], true);
  EXPECT_EQ(repaired["done"], 2);
  EXPECT_FALSE(repaired["findings"].empty());
  for (const std::string end : {".wal0", ".wal0.fold", ".lock", ".status", ".status.new"})
    EXPECT_FALSE(exists("killed.h5" + end)) << end;
  EXPECT_THAT(shell("wallheat repair whole.h5").out, HasSubstr("whole.h5 needed nothing: 4 done"));
  shell("wallheat repair nowhere.h5", 1);
}

}  // namespace
}  // namespace wallheat
