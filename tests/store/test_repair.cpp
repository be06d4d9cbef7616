#include "store/repair.hpp"
#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

using Repair = StoreTest;

TEST_F(Repair, clears_away_what_lies_beside_a_whole_file) {
  const auto plan = make_plan(5);
  make_stopped(plan, 4);
  const auto folded = read_bytes(journal);
  resume_with(plan, 4, 5);
  const auto before = read_bytes(file);
  write_bytes(journal.string() + ".fold", folded);
  write_bytes(lock, "host elsewhere\npid 1\n");
  write_bytes(directory / "results.h5.new", "half");
  write_bytes(directory / "results.h5.walrus", "somebody's");
  const auto report = repair_results(file);
  EXPECT_TRUE(report.changed);
  EXPECT_EQ(report.done, 5u);
  EXPECT_EQ(files_in(directory), 2u);
  EXPECT_EQ(read_bytes(file), before);
}

TEST_F(Repair, names_rows_and_fields_of_a_closed_file_that_are_lost_and_keeps_the_others) {
  const auto plan = make_plan(12, {{6, 7}, {9, 9}});
  make_closed(plan, 11);
  damage_row(plan, 3);
  damage_field(plan, 7);
  const auto report = repair_results(file);
  EXPECT_TRUE(report.changed);
  EXPECT_THAT(report.sentences, ElementsAre("1 row was damaged; pending again: \"plan 3\"",
                                            "1 field was damaged; pending again: \"plan 7\""));
  EXPECT_THAT(report.lost, ElementsAre("plan 3", "plan 7"));
  EXPECT_EQ(report.done, 9u);
  EXPECT_EQ(report.pending, 3u);
  EXPECT_FALSE(repair_results(file).changed);
  EXPECT_THAT(resume_with(plan, 3, 8), IsEmpty());
  expect_contents(file, plan, 11);
  make_closed(plan, 12);
  damage_field(plan, 11);
  EXPECT_THAT(repair_results(file).lost, ElementsAre("plan 11")) << "the last one alone";
}

TEST_F(Repair, loses_only_the_plan_of_a_damaged_id) {
  const auto plan = make_plan(5);
  make_closed(plan, 5);
  damage_row(plan, 3, 8 + 5);  // "plan 3" becomes "plan 2"
  EXPECT_EQ(repair_results(file).done, 4u);
  EXPECT_EQ(resume_with(plan, 3, 4).size(), 0u);
  expect_contents(file, plan, 5);
}

}  // namespace
}  // namespace wallheat::store_test
