#include <sys/resource.h>

#include "store/field_codec.hpp"
#include "store/result_file_names.hpp"
#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

using ResultStoreTest = StoreTest;

TEST_F(ResultStoreTest, ListsFieldDatasetsAfterCompaction) {
  auto plan = make_plan(5, {{2, 3}, {4, 4}});
  plan.ids = {"plan 0", "a/b", ".", "50%", "plan 4"};
  ResultStore store({file, OpenMode::create}, plan, {});
  store.store(make_results(plan, 0, 4));
  EXPECT_THAT(error_message([&] { (void)stored_fields(file); }),
              Mentions({file.string(), "wallheat repair"}));
  store.close({});
  const std::vector<std::string> names{"/fields/plan 0", "/fields/a%2Fb", "/fields/%2E",
                                       "/fields/50%25"};
  const auto fields = stored_fields(file);
  ASSERT_EQ(fields.size(), 4u) << "of the plans that have one";
  for (std::size_t i = 0; i < 4; ++i) {
    const Grid<double> field = field_of(plan, i);
    EXPECT_EQ(fields[i].row, i);
    EXPECT_EQ(fields[i].id, plan.ids[i]);
    EXPECT_EQ(fields[i].shape, (GridShape{field.rows, field.cols}));
    EXPECT_EQ(fields[i].dataset, names[i]);
  }
  expect_contents(file, plan, 4);
}

TEST_F(ResultStoreTest, ChangesNothingBeforeBegin) {
  const auto plan = make_plan(3);
  { const ResultStore store({file, OpenMode::create}, plan, {}); }
  EXPECT_EQ(files_in(directory), 0u);
  make_closed(plan, 3);
  const auto before = read_bytes(file);
  { const ResultStore store({file, OpenMode::overwrite}, make_plan(5), {}); }
  { const ResultStore store({file, OpenMode::resume}, make_plan(5), {}); }
  EXPECT_EQ(read_bytes(file), before);
  EXPECT_EQ(files_in(directory), 1u);
}

TEST_F(ResultStoreTest, LeavesNothingWhenStoppedBeforeFirstResult) {
  const auto plan = make_plan(3);
  const auto stop = [](ResultStore store) {
    ASSERT_TRUE(store.begin_unless_stopped());
    store.close({}, false);
  };
  stop(ResultStore({file, OpenMode::create}, plan, {}));
  EXPECT_EQ(files_in(directory), 0u);
  make_closed(plan, 2);
  stop(ResultStore({file, OpenMode::resume}, plan, {}));
  EXPECT_EQ(files_in(directory), 1u);
  EXPECT_EQ(ResultReader(file).sessions().size(), 1u);
  stop(ResultStore({file, OpenMode::overwrite}, make_plan(4), {}));
  EXPECT_EQ(files_in(directory), 1u) << "an overwritten file remains";
  expect_contents(file, make_plan(4), 0);
}

TEST_F(ResultStoreTest, DefersCompactionToFinishingSessionWhenStopped) {
  const auto plan = make_plan_with_rooms(9, {{6, 7}});
  make_stopped(plan, 4);
  EXPECT_TRUE(std::filesystem::exists(journal));
  expect_contents(file, plan, 4);
  EXPECT_TRUE(ResultReader(file).closed_cleanly());
  EXPECT_FALSE(ResultReader(file).is_compacted());
  resume_with(plan, 4, 7, false);
  EXPECT_EQ(files_in(directory), 3u) << "the file and two journals";
  expect_contents(file, plan, 7);
  resume_with(plan, 7, 9);
  EXPECT_EQ(files_in(directory), 1u);
  expect_contents(file, plan, 9);
  const ResultReader reader(file);
  EXPECT_TRUE(reader.is_compacted());
  EXPECT_EQ(reader.sessions().size(), 3u);
  EXPECT_EQ(reader.row(5).session, 1u);
}

TEST_F(ResultStoreTest, CompactsOnResumeWhenNoPlanRemains) {
  const auto plan = make_plan(4);
  make_stopped(plan, 4);
  ResultStore({file, OpenMode::resume}, plan, {}).close({});
  EXPECT_EQ(files_in(directory), 1u);
  const auto before = read_bytes(file);
  write_bytes(new_temporary_path(file), "half");
  ResultStore({file, OpenMode::resume}, plan, {}).close({});
  EXPECT_EQ(read_bytes(file), before);
  EXPECT_EQ(files_in(directory), 1u) << "leftovers of a killed session are removed";
}

TEST_F(ResultStoreTest, KeepsJournalsWhenStoppedDuringCompaction) {
  const auto plan = make_plan(200, {{6, 7}});
  ResultStore store({file, OpenMode::create}, plan, {});
  store.store(make_results(plan, 0, 200));
  int asked = 0;
  EXPECT_TRUE(store.close({}, true, [&] { return ++asked == 2; }).stopped);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(files_in(directory), 2u) << "the file and its journal";
  expect_contents(file, plan, 200);
  ResultStore({file, OpenMode::resume}, plan, {}).close({});
  EXPECT_EQ(files_in(directory), 1u);
  expect_contents(file, plan, 200);
}

TEST_F(ResultStoreTest, CompactsWhenManyJournalsAccumulate) {
  const auto plan = make_plan(80);
  make_stopped(plan, 1);
  for (std::size_t i = 1; i < 80; ++i) {
    resume_with(plan, i, i + 1, false);
    ASSERT_LE(files_in(directory), 65u + 1);
  }
  expect_contents(file, plan, 80);
  EXPECT_EQ(ResultReader(file).sessions().size(), 80u);
}

TEST_F(ResultStoreTest, PredictsLongerCompactionForMoreResults) {
  const auto plan = make_plan(8, {{100, 100}});
  ResultStore store({file, OpenMode::create}, plan, {});
  ASSERT_TRUE(store.begin_unless_stopped());
  const double before = store.compaction_seconds();
  store.store(make_results(plan, 0, 8));
  EXPECT_GT(store.compaction_seconds(), before);
}

TEST_F(ResultStoreTest, KeepsResultsWhenResumedWithOtherPlans) {
  const auto plan = make_plan_with_rooms(5, {{6, 7}});
  auto more = make_plan_with_rooms(7, {{6, 7}});
  more.ids = {"plan 6", "plan 5", "plan 3", "plan 2", "plan 1", "plan 0", "plan 4"};
  auto tried = pending(plan, 4);
  tried.attempts = tried.failures = 2;
  for (const bool is_whole : {true, false}) {
    ResultStore first({file, OpenMode::overwrite}, plan, {});
    first.store(make_results(plan, 0, 4));
    first.store(std::span(&tried, 1));
    first.close({}, is_whole);
    ResultStore store({file, OpenMode::resume}, more, {});
    const auto rows = restored(store);
    EXPECT_TRUE(same(rows[2], make_result(more, 2)));
    EXPECT_TRUE(same(rows[0], pending(more, 0)));
    EXPECT_EQ(rows[6].failures, 2);
    ASSERT_TRUE(store.begin_unless_stopped());
    EXPECT_EQ(count_correct_results(file, more), 4u);
    store.close({});
    EXPECT_EQ(count_correct_results(file, more), 4u);
    EXPECT_EQ(files_in(directory), 1u);
    EXPECT_THAT(error_message_of_opening(file, OpenMode::resume, make_plan_with_rooms(2, {{6, 7}})),
                Mentions({file.string(), "plan 3", "plan 2"}));
  }
}

TEST_F(ResultStoreTest, ResumesManyPlansWithoutHoldingAllRows) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer uses additional memory";
#endif
  const auto plan = make_plan(60'000);
  make_closed(plan, plan.ids.size());
  const auto peak_memory_kib = [] {
    struct rusage used {};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
  };
  EXPECT_EQ(run_in_child([&] {
              const auto before = peak_memory_kib();
              std::size_t answers = 0;
              const ResultStore store({file, OpenMode::resume}, plan, {});
              store.for_each_existing_row(
                  [&](const PlanResult& row) { answers += is_solved(row.status) ? 1 : 0; });
              EXPECT_EQ(answers, plan.ids.size());
              EXPECT_LT(peak_memory_kib() - before, 20'000) << "of 50 MB of rows";
            }),
            0);
}

TEST_F(ResultStoreTest, RejectsFileWithHardLinks) {
  const auto plan = make_plan(3);
  make_closed(plan, 2);
  std::filesystem::create_hard_link(file, directory / "other.h5");
  const auto names_links = Mentions({file.string(), "2", "hard links"});
  EXPECT_THAT(error_message_of_opening(file, OpenMode::resume, plan), names_links);
  EXPECT_THAT(error_message([&] { (void)repair_results(file); }), names_links);
  expect_contents(file, plan, 2);
}

TEST_F(ResultStoreTest, WritesFileAgainThatIsRemovedOrMovedDuringSession) {
  const auto plan = make_plan(6);
  for (const bool is_moved : {false, true}) {
    std::filesystem::remove(file);
    make_closed(plan, 2);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    {
      ResultStore store({file, OpenMode::resume}, plan, {});
      store.store(make_results(plan, 2, 4));
      store.require_named();
      if (is_moved)
        std::filesystem::rename(file, directory / "moved");
      else
        std::filesystem::remove(file);
      EXPECT_THAT(
          error_message([&] { store.require_named(); }),
          Mentions({file.string(), "removed", "2 results", file.string() + ".wal1", "--resume"}));
      EXPECT_THAT(error_message([&] { store.close({}); }), Mentions(file.string()));
    }
    expect_contents(file, plan, 4);
    EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms::owner_all);
    (void)repair_results(file);
    expect_contents(file, plan, 4);
  }
}

TEST_F(ResultStoreTest, ReportsFileThatIsReplacedDuringSession) {
  const auto plan = make_plan(3);
  {
    ResultStore store({file, OpenMode::create}, plan, {});
    store.store(make_results(plan, 0, 1));
    std::filesystem::rename(file, directory / "moved");
    std::ofstream(file) << "another file";
    EXPECT_THAT(error_message([&] { store.close({}, false); }),
                Mentions({file.string(), "1 result", file.string() + ".wal0", "--resume"}));
  }
  EXPECT_EQ(read_bytes(file), "another file");
  std::filesystem::rename(directory / "moved", file);
  expect_contents(file, plan, 1);
}

TEST_F(ResultStoreTest, ExplainsJournalWithoutFile) {
  const auto plan = make_plan(3);
  make_killed(plan, 1);
  std::filesystem::remove(file);
  for (const std::string& message : {error_message([&] { const ResultReader reader(file); }),
                                     error_message([&] { (void)repair_results(file); }),
                                     error_message_of_opening(file, OpenMode::create, plan)})
    EXPECT_THAT(message, Mentions({file.string(), "does not exist", file.string() + ".wal0"}));
}

TEST_F(ResultStoreTest, ReplacesResultByFailureOnlyWithinOneSession) {
  const auto plan = make_plan(3, {{6, 7}});
  const auto failed = failure(plan, 1, "two devices gave different answers");
  for (const bool is_own : {true, false}) {
    for (const bool is_whole : {true, false}) {
      std::optional<ResultStore> store;
      store.emplace(ResultClaim(file, OpenMode::overwrite), plan, Attributes());
      store->store(make_results(plan, 0, 3));
      if (!is_own) {
        store->close({}, is_whole);
        store.emplace(ResultClaim(file, OpenMode::resume), plan, Attributes());
      }
      store->store(std::span(&failed, 1));
      for (const bool is_closed : {false, true}) {
        if (is_closed) store->close({}, is_whole);
        EXPECT_EQ(count_correct_results(file, plan), is_own ? 2u : 3u);
        EXPECT_EQ(same(ResultReader(file).row(1), failed), is_own);
      }
    }
  }
}

TEST_F(ResultStoreTest, KeepsTruncatedIdsDistinct) {
  auto plan = make_plan(3);
  const std::string longest(127, 'x');
  plan.ids = {longest, std::string(139, 'y') + "1", std::string(139, 'y') + "2"};
  ResultStore store({file, OpenMode::create}, plan, {});
  store.store(std::vector{make_result(plan, 0), failure(plan, 1, "its id is too long")});
  store.close({});
  const ResultReader reader(file);
  EXPECT_EQ(reader.row(0).id, longest);
  EXPECT_EQ(reader.row(1).id.substr(0, 118), std::string(118, 'y'));
  EXPECT_NE(reader.row(1).id, reader.row(2).id);
  EXPECT_EQ(restored(ResultStore({file, OpenMode::resume}, plan, {}))[1].status,
            PlanStatus::failed);
}

TEST_F(ResultStoreTest, TruncatesLongStringsBetweenCharacters) {
  auto result = failure(make_plan(1), 0, "");
  for (int i = 0; i < 100; ++i) result.error += "\u00e9\u20ac";  // two and three bytes
  // 52 pairs and "é"; "€" would end at 265
  EXPECT_EQ(store::fixed_text(store::to_row(result).error), result.error.substr(0, 262));
  result.error = "x" + result.error;
  EXPECT_EQ(store::fixed_text(store::to_row(result).error).size(), 263u);
}

TEST_F(ResultStoreTest, KeepsUnusualAttributeValues) {
  auto plan = make_plan(1);
  plan.settings["empty"] = "";
  plan.settings["a/b \u20ac"] = "line one\nline two";
  plan.settings["long"] = std::string(100'000, 'x');
  for (int i = 0; i < 40; ++i) plan.settings["number " + std::to_string(i)] = std::to_string(i);
  ResultStore({file, OpenMode::create}, plan, plan.settings).close({});
  EXPECT_EQ(ResultReader(file).settings(), plan.settings);
  auto session = ResultReader(file).sessions()[0];
  for (const char* added : {"file_id", "session_id", "journal_bytes"})
    EXPECT_EQ(session.erase(added), 1u) << added;
  EXPECT_EQ(session, plan.settings);
  EXPECT_EQ(error_message([&] {
              ResultStore({file, OpenMode::resume}, plan, {}).close({});
            }),
            "(no error)");
}

TEST_F(ResultStoreTest, AcceptsOtherSettingsWhileNoPlanIsSolved) {
  const auto plan = make_plan(2);
  {
    ResultStore store({file, OpenMode::create}, plan, {});
    store.store(std::vector{failure(plan, 0, "the program has ended")});
  }  // as after a kill
  auto other = plan;
  other.settings["tolerance"] = "0.5";
  {
    ResultStore store({file, OpenMode::resume}, other, {});
    EXPECT_THAT(store.warnings(), ElementsAre(Mentions({file.string(), "tolerance", "0.5"})));
    store.store(make_results(other, 0, 1));
    store.close({}, true);
  }
  EXPECT_EQ(ResultReader(file).settings(), other.settings);
  expect_contents(file, other, 1);
  EXPECT_THAT(error_message_of_opening(file, OpenMode::resume, plan), Mentions("tolerance"));
  damage_row(other, 0);
  EXPECT_THAT(error_message_of_opening(file, OpenMode::resume, plan), Mentions("tolerance"))
      << "the damaged row may contain a result";
}

TEST_F(ResultStoreTest, RejectsInvalidRowsIdsOrTargets) {
  auto plan = make_plan(2);
  ResultStore store({file, OpenMode::create}, plan, {});
  auto unknown = make_result(plan, 1);
  unknown.id = "unknown plan";
  EXPECT_THAT(error_message([&] { store.store(std::vector{unknown}); }),
              Mentions({file.string(), "row 1", "unknown plan"}));
  store.store(make_results(plan, 0, 2));
  store.close({});
  const auto before = read_bytes(file);
  auto unnamed = plan;
  unnamed.ids = {"plan 0", ""};
  struct Case {
    std::filesystem::path path;
    TestPlan plan;
    OpenMode mode;
    Facts facts;
  };
  const std::vector<Case> cases{
      {file, plan, OpenMode::create, {file.string(), "--resume", "--overwrite"}},
      {directory / "no" / "r.h5",
       plan,
       OpenMode::create,
       {(directory / "no").string(), "directory"}},
      {directory, plan, OpenMode::overwrite, {directory.string(), "result file"}},
      {file, unnamed, OpenMode::overwrite, {file.string(), "NUL"}}};
  for (const auto& each : cases)
    EXPECT_THAT(error_message_of_opening(each.path, each.mode, each.plan), Mentions(each.facts));
  EXPECT_EQ(read_bytes(file), before);
  EXPECT_EQ(files_in(directory), 1u);
  const auto none = make_plan(0);
  ResultStore({file, OpenMode::overwrite}, none, {}).close({});
  ResultStore({file, OpenMode::resume}, none, {}).close({});
  expect_contents(file, none, 0);
}

}  // namespace
}  // namespace wallheat::store_test
