#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "store/results/result_store.hpp"
#include "support/process.hpp"
#include "support/temporary_directory.hpp"
#include "view/json.hpp"
#include "wallheat/floor_plan_files.hpp"

// What users of job arrays and of killed runs meet: `wallheat merge` and `wallheat repair`.

namespace wallheat {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

class Parts : public testing::Test {
 protected:
  static Finished wallheat(Words words) {
    words.insert(words.begin(), WALLHEAT_PROGRAM);
    return run_program(words);
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (directory_ / name).string();
  }
  /// whole.h5: all of `count` plans solved by one run.
  void solve(int count) {
    ASSERT_EQ(wallheat({"generate", "--out", path("plans"), "--count", std::to_string(count),
                        "--size", "32"})
                  .status,
              0);
    ASSERT_EQ(wallheat({"run", "--data", path("plans"), "--out", path("whole.h5")}).status, 0);
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
    EXPECT_TRUE(store.store(results).empty());
    if (closed) store.close({});
  }
  [[nodiscard]] std::string csv(const std::string& name) const {
    return wallheat({"export", path(name)}).out;
  }

  TemporaryDirectory directory_;
};

TEST_F(Parts, become_one_file) {
  solve(6);
  make_part("part-1.h5", {0, 2, 4});
  make_part("part-2.h5", {1, 3, 5}, false);
  const Finished merged =
      wallheat({"merge", "--out", path("all.h5"), path("part-1.h5"), path("part-2.h5")});
  EXPECT_EQ(merged.status, 0) << merged.err;
  EXPECT_EQ(merged.out, "6 of 6, 0 missing, 0 duplicates, 0 conflicts\n");
  EXPECT_THAT(merged.err, HasSubstr("part-2.h5 was not closed"));
  EXPECT_EQ(csv("all.h5"), csv("whole.h5"));
}

TEST_F(Parts, of_a_job_array_become_a_file_that_is_no_shard) {
  ASSERT_EQ(wallheat({"generate", "--out", path("plans"), "--count", "6", "--size", "32"}).status,
            0);
  for (const std::string shard : {"1/3", "2/3", "3/3"})
    ASSERT_EQ(
        wallheat({"run", "--data", path("plans"), "--out", path("r.h5"), "--shard", shard}).status,
        0);
  const std::string part = path("r.part-");
  ASSERT_EQ(wallheat({"merge", "--out", path("all.h5"), part + "1-of-3.h5", part + "2-of-3.h5",
                      part + "3-of-3.h5"})
                .status,
            0);
  const Finished all = wallheat({"status", path("all.h5")});
  EXPECT_EQ(all.status, 0);
  EXPECT_THAT(all.out, AllOf(HasSubstr("plans      6\n"), HasSubstr("solved   6"),
                             HasSubstr("merged from 3 part(s)"), Not(HasSubstr("shard"))));
  EXPECT_THAT(wallheat({"summary", path("all.h5")}).out, HasSubstr("(3 of 3 sessions"));

  ASSERT_EQ(wallheat({"merge", "--out", path("some.h5"), "--allow-missing", part + "1-of-3.h5",
                      part + "2-of-3.h5"})
                .status,
            75);
  const Finished some = wallheat({"status", path("some.h5")});
  EXPECT_EQ(some.status, 75);
  EXPECT_THAT(some.out, AllOf(HasSubstr("solved   4"), HasSubstr("pending  2"),
                              HasSubstr("wallheat run --data PLANS --out")));
}

TEST_F(Parts, that_leave_plans_out_are_finished_by_a_resume_of_the_whole) {
  solve(6);
  make_part("part-1.h5", {0, 2, 4});
  const Finished refused = wallheat({"merge", "--out", path("all.h5"), path("part-1.h5")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("missing: 00002"), HasSubstr("all.h5 was not written"),
                                 HasSubstr("--allow-missing")));
  EXPECT_FALSE(std::filesystem::exists(path("all.h5")));

  const Finished merged =
      wallheat({"merge", "--out", path("all.h5"), "--allow-missing", path("part-1.h5")});
  EXPECT_EQ(merged.status, 75) << merged.err;
  EXPECT_THAT(merged.out, StartsWith("3 of 6, 3 missing, 0 duplicates, 0 conflicts\n"));
  EXPECT_EQ(file_text(path("all.missing.txt")), "00002\n00004\n00006\n");
  const Finished resumed =
      wallheat({"run", "--data", path("plans"), "--out", path("all.h5"), "--resume"});
  EXPECT_EQ(resumed.status, 0);
  EXPECT_THAT(resumed.err, HasSubstr("restored 3, solved 3"));
  EXPECT_EQ(csv("all.h5"), csv("whole.h5"));
}

TEST_F(Parts, are_told_of_as_json) {
  solve(6);
  make_part("part-1.h5", {0, 2, 4});
  make_part("part-2.h5", {1, 3, 5}, false);
  const Finished refused =
      wallheat({"merge", "--json", "--out", path("all.h5"), path("part-1.h5")});
  EXPECT_EQ(refused.status, 1);
  const Json none = Json::parse(refused.out);
  EXPECT_EQ(none["written"], false);
  EXPECT_EQ(none["missing"], (Words{"00002", "00004", "00006"}));
  EXPECT_EQ(none["missing_ids_file"], nullptr) << "nothing was written";

  const Finished some =
      wallheat({"merge", "--json", "--out", path("some.h5"), "--allow-missing", path("part-2.h5")});
  EXPECT_EQ(some.status, 75);
  const Json half = Json::parse(some.out);
  EXPECT_EQ(half["done"], 3);
  EXPECT_EQ(file_text(half["missing_ids_file"].get<std::string>()), "00001\n00003\n00005\n");
  EXPECT_EQ(half["warnings"].size(), 1U) << "part-2 is not closed";

  const Json repaired = Json::parse(wallheat({"repair", "--json", path("part-2.h5")}).out);
  EXPECT_EQ(repaired["changed"], true);
  EXPECT_EQ(repaired["done"], 3);
  EXPECT_EQ(repaired["pending"], 3);
  EXPECT_FALSE(repaired["findings"].empty());
}

TEST_F(Parts, that_contradict_each_other_stop_the_merge) {
  solve(3);
  make_part("part-1.h5", {0, 1});
  auto changed = load_floor_plan(directory_ / "plans", "00002");
  changed.domain(0, 0) += 1;
  save_floor_plan(directory_ / "plans", "00002", changed);
  ASSERT_EQ(wallheat({"run", "--data", path("plans"), "--out", path("other.h5")}).status, 0);
  const Finished merged =
      wallheat({"merge", "--out", path("all.h5"), path("part-1.h5"), path("other.h5")});
  EXPECT_EQ(merged.status, 1);
  EXPECT_EQ(merged.out, "3 of 3, 0 missing, 2 duplicates, 1 conflicts\n");
  EXPECT_THAT(merged.err, AllOf(HasSubstr("conflict: plan \"00002\" has different answers in"),
                                HasSubstr("input_hash"), HasSubstr("all.h5 was not written")));
  EXPECT_FALSE(std::filesystem::exists(path("all.h5")));
}

TEST_F(Parts, with_failed_plans_end_in_exit_status_3) {
  solve(2);
  std::ofstream(directory_ / "plans/00002_domain.npy") << "not an array";
  ASSERT_EQ(wallheat({"run", "--data", path("plans"), "--out", path("part-1.h5")}).status, 3);
  const Finished merged = wallheat({"merge", "--out", path("all.h5"), path("part-1.h5")});
  EXPECT_EQ(merged.status, 3);
  EXPECT_EQ(merged.out, "1 of 2, 0 missing, 0 duplicates, 0 conflicts, 1 failed\n");
}

TEST_F(Parts, must_be_named_in_a_way_that_makes_sense) {
  EXPECT_EQ(wallheat({"merge", "--out", path("all.h5")}).status, 2);
  EXPECT_EQ(wallheat({"merge", path("part.h5")}).status, 2);
  EXPECT_EQ(wallheat({"merge", "--out", "a.h5", "--missing-ids", "x", path("part.h5")}).status, 2);
  const Finished none = wallheat({"merge", "--out", path("all.h5"), path("part.h5")});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("part.h5 does not exist"));
  EXPECT_THAT(wallheat({"merge", "--help"}).out,
              AllOf(HasSubstr("--missing-ids"), HasSubstr("Exit status")));
}

TEST_F(Parts, and_the_whole_are_not_replaced_by_the_list_of_missing_plans) {
  solve(4);
  make_part("part-1.h5", {0, 1});
  const std::string part = file_text(path("part-1.h5"));
  std::filesystem::create_symlink("part-1.h5", path("link"));
  std::filesystem::create_hard_link(path("part-1.h5"), path("name"));
  for (const std::string list : {"part-1.h5", "link", "name", "all.h5", "./all.h5"}) {
    const Finished merged = wallheat({"merge", "--out", path("all.h5"), "--allow-missing",
                                      "--missing-ids", path(list), path("part-1.h5")});
    EXPECT_EQ(merged.status, 2) << list;
    EXPECT_THAT(merged.err, HasSubstr("name another file by --missing-ids")) << list;
    EXPECT_EQ(file_text(path("part-1.h5")), part) << list;
    EXPECT_FALSE(std::filesystem::exists(path("all.h5"))) << list;
  }
}

TEST_F(Parts, that_ran_at_the_same_time_share_their_wall_time) {
  const StorePlan plan{{"a", "b"}, {{"solver", "jacobi"}}, false, {}};
  Words merge{"merge", "--out", path("all.h5"), "--allow-missing"};
  for (const std::string minute : {"00", "01"}) {  // each of 100 s, the second a minute later
    const auto part = path("part-" + minute + ".h5");
    auto store = ResultStore::create(
        part, plan, {{"shard", minute}, {"started_utc", "2030-01-02T03:" + minute + ":00.000Z"}},
        false);
    PlanResult result;
    result.index = minute == "00" ? 0 : 1;
    result.id = plan.ids[result.index];
    result.status = PlanStatus::converged;
    EXPECT_TRUE(store.store({&result, 1}).empty());
    store.close({{"seconds", "100.000"}, {"solved", "40"}});
    merge.push_back(part);
  }
  ASSERT_EQ(wallheat(merge).status, 0);
  EXPECT_THAT(wallheat({"summary", path("all.h5")}).out,
              HasSubstr("wall time                    2 min 40 s, 30.0 plans/min"));
}

TEST_F(Parts, of_a_killed_run_are_made_whole_by_repair) {
  solve(4);
  make_part("killed.h5", {0, 1}, false);
  std::ofstream(path("killed.h5.status")) << "{}";
  std::ofstream(path("killed.h5.status.new")) << "{";
  const Finished repaired = wallheat({"repair", path("killed.h5")});
  EXPECT_EQ(repaired.status, 75);
  EXPECT_THAT(repaired.out, AllOf(HasSubstr("its log, with 2 result(s) of that run, was folded in"),
                                  HasSubstr("killed.h5 is whole: 2 done, 0 failed, 2 pending")));
  EXPECT_FALSE(std::filesystem::exists(path("killed.h5.wal")));
  EXPECT_FALSE(std::filesystem::exists(path("killed.h5.lock")));
  EXPECT_FALSE(std::filesystem::exists(path("killed.h5.status")));
  EXPECT_FALSE(std::filesystem::exists(path("killed.h5.status.new")));
  const Finished nothing = wallheat({"repair", path("whole.h5")});
  EXPECT_EQ(nothing.status, 0);
  EXPECT_THAT(nothing.out, HasSubstr("whole.h5 needed nothing: 4 done"));
  EXPECT_EQ(wallheat({"repair", path("nowhere.h5")}).status, 1);
  EXPECT_EQ(wallheat({"repair"}).status, 2);
}

}  // namespace
}  // namespace wallheat
