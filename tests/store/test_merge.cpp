#include <sys/resource.h>

#include "io/deflate.hpp"
#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

using Paths = std::vector<std::filesystem::path>;

class MergeTest : public StoreTest {
 protected:
  [[nodiscard]] std::filesystem::path part(std::size_t number) const {
    return directory / ("part-" + std::to_string(number) + ".h5");
  }
  /// Replaces the shard file if it exists.
  static void write_part(const std::filesystem::path& path, const ResultFileSpec& plan,
                         const std::vector<PlanResult>& results) {
    ResultStore store({path, OpenMode::overwrite}, plan, {{"wrote", path.filename().string()}});
    store.store(results);
    store.close({});
  }
  /// Merges two shard files with these results.
  MergeReport merge_of(const ResultFileSpec& plan, const std::vector<PlanResult>& first,
                       const std::vector<PlanResult>& second) const {
    write_part(part(0), plan, first);
    write_part(part(1), plan, second);
    return merge_results(file, {part(0), part(1)}, {true, true});
  }
};

TEST_F(MergeTest, RecordsShardFileOfEachSession) {
  const auto plan = make_plan(6);
  write_part(part(0), plan, make_results(plan, 0, 3));
  write_part(part(1), plan, make_results(plan, 3, 6));
  ResultStore again({part(1), OpenMode::resume}, plan, {{"wrote", "part-1.h5 again"}});
  again.store(make_results(plan, 3, 4));
  again.close({});
  MergeOptions options;
  options.session = {{"wrote", "the whole"}};
  ASSERT_TRUE(merge_results(file, {part(0), part(1), part(1)}, options).written);
  const ResultReader reader(file);
  const auto& sessions = reader.sessions();
  ASSERT_EQ(sessions.size(), 4u);
  EXPECT_EQ(reader.row(0).session, 0u);
  EXPECT_EQ(reader.row(3).session, 2u) << "the session of part 1 that stored it last";
  EXPECT_EQ(reader.row(5).session, 1u);
  EXPECT_EQ(sessions[2].at("wrote"), "part-1.h5 again");
  EXPECT_EQ(sessions[2].at("merged_from"), "part-1.h5");
  EXPECT_TRUE(is_from_part(sessions[2]));
  EXPECT_EQ(merged_parts(sessions[2]), std::nullopt);
  EXPECT_EQ(sessions[3].at("wrote"), "the whole") << "the merge's own session";
  EXPECT_EQ(merged_parts(sessions[3]), 3u);
  EXPECT_FALSE(is_from_part(sessions[3]));
}

TEST_F(MergeTest, AcceptsEqualFieldsWithDifferentCompression) {
  const auto plan = make_plan(4, {{60, 70}});
  const auto results = make_results(plan, 0, 4);
  auto others = results;
  for (auto& other : others) {  // as another library, or another setting, compresses it
    other.field = deflate(shuffle(field_of(plan, other.index).cells), CompressionLevel::best);
    other.field_crc32 = crc32_of(other.field);
    ASSERT_NE(other.field, results[other.index].field);
  }
  const auto report = merge_of(plan, results, others);
  EXPECT_TRUE(report.written);
  EXPECT_EQ(report.duplicates, 4u);
  expect_contents(file, plan, 4);
}

TEST_F(MergeTest, KeepsFirstResultOfProgramThatIsNotDeterministic) {
  auto plan = make_plan(4);
  const auto results = make_results(plan, 0, 4);
  auto others = results;
  others[2].statistics.std_temp += 1;
  plan.settings["solver_command"] = "./mine";
  const auto report = merge_of(plan, results, others);
  EXPECT_TRUE(report.written);
  EXPECT_THAT(report.warnings, ElementsAre(Mentions({results[2].id, "std_temp"})));
  EXPECT_EQ(ResultReader(file).row(2).statistics.std_temp, results[2].statistics.std_temp);
  plan.settings["solver_deterministic"] = "yes";
  EXPECT_FALSE(merge_of(plan, results, others).written);
}

TEST_F(MergeTest, WritesNothingWhenOneBitDiffers) {
  const auto plan = make_plan_with_rooms(6, {{6, 7}});
  using Change = std::function<void(PlanResult&)>;
  const std::vector<std::pair<Facts, Change>> changes{
      {{"status"}, [](auto& r) { r.status = PlanStatus::max_iterations; }},
      {{"mean_temp"},
       [](auto& r) { r.statistics.mean_temp = std::nextafter(r.statistics.mean_temp, 0); }},
      {{"std_temp"}, [](auto& r) { r.statistics.std_temp += 1; }},
      {{"pct_above"}, [](auto& r) { r.statistics.pct_above += 1; }},
      {{"pct_below"}, [](auto& r) { r.statistics.pct_below = -0.0; }},
      {{"iterations"}, [](auto& r) { ++r.iterations; }},
      {{"last_delta"}, [](auto& r) { r.last_delta = std::nextafter(r.last_delta, 1); }},
      {{"max_temp", "room 5"}, [](auto& r) { r.rooms[4].max_temp = 1; }},
      {{"input_hash"}, [](auto& r) { r.input_hash ^= 1; }},
      {{"field", "1 cell", "row 5", "column 6"},
       [](auto& r) {
         auto field = make_field(4, {6, 7});
         field(5, 6) = std::nextafter(field(5, 6), 0);
         attach_field(r, field);
       }},
  };
  for (const auto& [difference, change] : changes) {
    auto other = make_results(plan, 4, 5);
    change(other[0]);
    const auto report = merge_of(plan, make_results(plan, 0, 6), other);
    EXPECT_FALSE(report.written) << difference.front();
    EXPECT_THAT(report.conflicts,
                ElementsAre(AllOf(Mentions({"plan 4", part(0).string(), part(1).string()}),
                                  Mentions(difference))));
    EXPECT_EQ(files_in(directory), 2u);
  }
}

TEST_F(MergeTest, IgnoresProvenanceOrNanSignWhenComparingResults) {
  const auto plan = make_plan(3);
  auto others = make_results(plan, 0, 3);
  ASSERT_TRUE(std::isnan(others[0].statistics.pct_above));
  others[0].statistics.pct_above = -others[0].statistics.pct_above;
  for (auto& other : others) {
    other.rank = 99;
    other.host = "elsewhere";
    other.seconds = 17;
    other.attempts = 3;
    other.input_stamp = 0;
  }
  EXPECT_TRUE(merge_of(plan, make_results(plan, 0, 3), others).written);
  expect_contents(file, plan, 3);
}

TEST_F(MergeTest, ReportsDifferenceForShardOfAnotherCampaign) {
  const auto plan = make_plan(5);
  write_part(part(0), plan, {});
  auto other_tolerance = plan;
  other_tolerance.settings["tolerance"] = "0.5";
  auto other_plans = make_plan(4);
  other_plans.ids = {"plan 0", "plan 1", "plan 2", "plan 9"};
  auto other_order = plan;
  other_order.ids = {"plan 0", "plan 1", "plan 3", "plan 2", "plan 4"};
  const std::vector<std::pair<TestPlan, Facts>> others{
      {other_tolerance, {"tolerance", "0.5", "0.0001"}},
      {make_plan(5, {{2, 2}}), {"fields"}},
      {other_plans, {"plan 9"}},
      {other_order, {"plan 2", "plan 3"}}};
  for (const auto& [other, difference] : others) {
    write_part(part(1), other, {});
    EXPECT_THAT(error_message([&] {
                  (void)merge_results(file, {part(0), part(1)}, {true});
                }),
                AllOf(Mentions({part(0).string(), part(1).string()}), Mentions(difference)));
    EXPECT_EQ(files_in(directory), 2u);
  }
}

TEST_F(MergeTest, PrefersResultThenMostFrequentFailure) {
  const auto plan = make_plan(5, {{6, 7}});
  const auto failed = [&](std::size_t i, int failures, int more_attempts = 0) {
    auto result = failure(plan, i, "failed " + std::to_string(failures) + " times");
    result.failures = failures;
    result.attempts = failures + more_attempts;  // stopped attempts are not failures
    return result;
  };
  std::vector first{make_result(plan, 0), failed(1, 1), failed(2, 3), failed(3, 1), failed(4, 2)};
  std::vector second{failed(0, 2), make_result(plan, 1), failed(2, 2), failed(4, 1, 4)};
  for (const bool is_turned : {false, true}) {
    if (is_turned) std::swap(first, second);
    const auto report = merge_of(plan, first, second);
    EXPECT_TRUE(report.written);
    EXPECT_EQ(report.done, 2u);
    EXPECT_EQ(report.failed, 3u);
    EXPECT_EQ(report.duplicates, 0u);
    EXPECT_EQ(count_correct_results(file, plan), 2u);
    const ResultReader reader(file);
    EXPECT_EQ(reader.row(2).failures, 3);
    EXPECT_EQ(reader.row(3).error, "failed 1 times");
    EXPECT_EQ(reader.row(4).failures, 2);
  }
}

TEST_F(MergeTest, WarnsAboutUnclosedShardWhileTakingResults) {
  const auto plan = make_plan(12, {{6, 7}, {20, 20}});
  write_part(part(0), plan, make_results(plan, 0, 5));
  ResultStore running({part(1), OpenMode::create}, plan, {});
  running.store(make_results(plan, 5, 9));
  const auto report = merge_results(file, {part(0), part(1)}, {true, false});
  EXPECT_TRUE(report.written);
  EXPECT_THAT(report.missing, ElementsAre("plan 9", "plan 10", "plan 11"));
  EXPECT_THAT(report.warnings, ElementsAre(Mentions({part(1).string(), "closed"})));
  expect_contents(file, plan, 9);
  running.store(make_results(plan, 9, 12));
  running.close({});
  EXPECT_TRUE(merge_results(file, {part(0), part(1)}, {false, true}).written);
  expect_contents(file, plan, 12);
}

TEST_F(MergeTest, ReplacesDamagedResultsFromOtherShard) {
  const auto plan = make_plan(6, {{6, 7}});
  make_closed(plan, 6);
  for (const std::size_t i : {1, 4}) damage_row(plan, i);
  for (const std::size_t i : {2, 5}) damage_field(plan, i);
  std::filesystem::rename(file, part(0));
  write_part(part(1), plan, make_results(plan, 0, 3));
  const auto report = merge_results(file, {part(0), part(1)}, {true, false});
  EXPECT_THAT(report.missing, ElementsAre("plan 4", "plan 5"));
  EXPECT_THAT(report.warnings,
              ElementsAre(Mentions({part(0).string(), "2 rows", "plan 1", "plan 4"}),
                          Mentions({part(0).string(), "2 fields", "plan 2", "plan 5"})));
  expect_contents(file, plan, 4);
}

TEST_F(MergeTest, RejectsUnsafeOutputOrMissingShard) {
  const auto plan = make_plan(4);
  EXPECT_TRUE(merge_of(plan, make_results(plan, 0, 2), make_results(plan, 2, 4)).written);
  const auto before = read_bytes(part(0));
  std::filesystem::create_symlink(part(0), directory / "link.h5");
  write_bytes(file, "precious");
  const auto link = directory / "link.h5";
  const auto live = directory / "live.h5";
  const ResultStore running({live, OpenMode::create}, plan, {});
  const auto does_not_advise_overwrite = Not(Mentions("--overwrite"));
  struct Case {
    std::filesystem::path out;
    Paths parts;
    bool overwrite;
    testing::Matcher<const std::string&> message;
  };
  const std::vector<Case> cases{
      {part(0),
       {part(0), part(1)},
       true,
       AllOf(Mentions(part(0).string()), does_not_advise_overwrite)},
      {link, {part(0), part(1)}, true, AllOf(Mentions(link.string()), does_not_advise_overwrite)},
      {file, {part(0), part(1)}, false, Mentions({file.string(), "exists", "--overwrite"})},
      {file, {part(0), part(1)}, true, Mentions({file.string(), "result file", "--overwrite"})},
      {live, {part(0)}, true, Mentions({live.string(), std::to_string(::getpid())})},
      {directory / "x.h5", {part(0), part(7)}, true, Mentions(part(7).string())}};
  for (const auto& [out, parts, overwrite, message] : cases)
    EXPECT_THAT(error_message([&, &out = out, &parts = parts, overwrite = overwrite] {
                  (void)merge_results(out, parts, {false, overwrite});
                }),
                message);
  EXPECT_EQ(read_bytes(file), "precious");
  EXPECT_EQ(read_bytes(part(0)), before);
  write_bytes(file, read_bytes(part(1)));
  EXPECT_TRUE(merge_results(file, {part(0), part(1)}, {false, true}).written);
  expect_contents(file, plan, 4);
}

TEST_F(MergeTest, TakesLongestListWhenListHasGrownBetweenJobs) {
  const auto plan = make_plan_with_rooms(9, {{6, 7}});
  auto first_plans = plan;  // the list before it has grown, also in its middle
  first_plans.ids = {"plan 0", "plan 3", "plan 4", "plan 6"};
  auto results = make_results(plan, 0, 9);
  std::vector<PlanResult> earlier{results[3], results[6]};
  earlier[0].index = 1;
  earlier[1].index = 3;
  const std::vector<PlanResult> later{results[0], results[1], results[2], results[4],
                                      results[5], results[6], results[7]};
  write_part(part(0), first_plans, earlier);
  write_part(part(1), plan, later);
  for (const Paths& parts : {Paths{part(0), part(1)}, Paths{part(1), part(0)}}) {
    const auto report = merge_results(file, parts, {true, true});
    EXPECT_TRUE(report.written);
    EXPECT_EQ(report.plans, 9u);
    EXPECT_EQ(report.duplicates, 1u) << "plan 6";
    EXPECT_THAT(report.missing, ElementsAre("plan 8"));
    expect_contents(file, plan, 8);
  }
}

TEST_F(MergeTest, KeepsEarlierResultsWhenMergedFileIsUpdated) {
  const auto plan = make_plan_with_rooms(6, {{6, 7}});
  auto first_plans = plan;
  first_plans.ids = plan.ids.first(4);
  MergeOptions update;
  update.update = true;
  write_part(part(0), first_plans, make_results(first_plans, 0, 2));
  write_part(part(1), first_plans, make_results(first_plans, 2, 4));
  EXPECT_TRUE(merge_results(file, {part(0), part(1)}, update).written) << "there is no file yet";
  std::filesystem::remove(part(0));
  ResultStore grown({part(1), OpenMode::resume}, plan, {{"wrote", "part-1.h5 again"}});
  grown.store(make_results(plan, 4, 6));
  grown.close({});
  const auto report = merge_results(file, {part(1)}, update);
  EXPECT_TRUE(report.written);
  EXPECT_EQ(report.done, 6u) << "the merged file alone has the results of the removed part";
  EXPECT_EQ(report.duplicates, 0u) << "the earlier results are copies of those of the parts";
  expect_contents(file, plan, 6);
  EXPECT_EQ(merged_parts(ResultReader(file).sessions().back()), 1u);
  EXPECT_EQ(files_in(directory), 2u);
}

TEST_F(MergeTest, ReplacesNoFileOfOtherOriginWhenUpdating) {
  const auto plan = make_plan(4);
  write_part(part(0), plan, make_results(plan, 0, 4));
  MergeOptions update;
  update.update = true;
  const auto expect_refusal = [&](const Facts& facts) {
    const std::string before = read_bytes(file);
    EXPECT_THAT(error_message([&] { (void)merge_results(file, {part(0)}, update); }),
                AllOf(Mentions({file.string()}), Mentions(facts)));
    EXPECT_EQ(read_bytes(file), before);
  };
  write_part(file, plan, make_results(plan, 0, 2));
  expect_refusal({"merged"});
  write_bytes(file, "precious");
  expect_refusal({"HDF5"});

  std::filesystem::remove(file);
  EXPECT_TRUE(merge_results(file, {part(0)}, update).written);
  auto other = make_results(plan, 0, 4);
  other[2].iterations += 1;
  write_part(part(0), plan, other);
  const std::string before = read_bytes(file);
  const auto report = merge_results(file, {part(0)}, update);
  EXPECT_FALSE(report.written);
  EXPECT_THAT(report.conflicts, ElementsAre(Mentions({"plan 2", file.string(), "iterations"})));
  EXPECT_EQ(read_bytes(file), before);
}

TEST_F(MergeTest, KeepsFewFilesOpenForManyShards) {
  const auto plan = make_plan_with_rooms(40);
  Paths parts;
  for (std::size_t k = 0; k < 40; ++k) {
    parts.push_back(part(k));
    write_part(parts.back(), plan, {make_result(plan, k)});
  }
  EXPECT_EQ(run_in_child([&] {
              const rlimit few{32, 32};
              ::setrlimit(RLIMIT_NOFILE, &few);
              EXPECT_EQ(merge_results(file, parts, {}).done, 40u);
            }),
            0);
  expect_contents(file, plan, 40);
}

}  // namespace
}  // namespace wallheat::store_test
