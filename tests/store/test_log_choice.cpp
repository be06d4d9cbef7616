#include "store/results/merge.hpp"
#include "store/results/repair.hpp"
#include "store_fixture.hpp"

// Logs beside files that they do not belong to, as copies, backups and slips of the hand leave
// them.
namespace wallheat::store_test {
namespace {

class LogBesideFile : public StoreTest {
 protected:
  /// A session that ends by itself.
  void solve(std::size_t begin, std::size_t end) {
    auto store = begin == 0 ? ResultStore::create(file, plan, {{"session", "first"}}, true)
                            : ResultStore::resume(file, plan, {{"session", "later"}});
    (void)store.store(make_results(plan, begin, end));
    store.close({{"ended", "well"}});
  }
  /// One that is killed; the next resume makes it plan 0's turn.
  void solve_and_die(std::size_t begin, std::size_t end) {
    run_and_kill([&](auto die) {
      auto store = begin == 0 ? ResultStore::create(file, plan, {{"session", "first"}}, true)
                              : ResultStore::resume(file, plan, {{"session", "later"}});
      (void)store.store(make_results(plan, begin, end));
      store.publish();
      die();
    });
  }
  /// Nobody goes by such a pair, and everybody leaves it as it is.
  void expect_refused(const std::string& why) {
    const auto h5 = read_bytes(file), wal = read_bytes(log);
    const auto sentence =
        AllOf(HasSubstr(file.string() + " and its log " + log.string() +
                        " do not belong together: " + why),
              HasSubstr("or move " + log.string() + " away to go by results.h5 alone"));
    EXPECT_THAT(refusal([&] { ResultReader reader(file); }), sentence);
    EXPECT_THAT(refusal([&] { (void)ResultStore::resume(file, plan, {}); }), sentence);
    EXPECT_THAT(refusal([&] { (void)repair_results(file); }), sentence);
    EXPECT_THAT(refusal([&] {
                  (void)merge_results(directory / "all.h5", {file}, {true, true});
                }),
                sentence);
    EXPECT_EQ(read_bytes(file), h5);
    EXPECT_EQ(read_bytes(log), wal);
    EXPECT_FALSE(std::filesystem::exists(directory / "all.h5"));
  }

  StorePlan plan = make_plan(9, {{6, 7}, {3, 3}});
};

TEST_F(LogBesideFile, does_not_beat_a_newer_file_that_is_finished) {
  solve_and_die(0, 4);
  const auto old = read_bytes(log);
  solve(4, 9);
  write_bytes(log, old);
  expect_contents(file, plan, 9);
  const auto before = read_bytes(file);
  std::vector<std::string> report;
  ResultStore::resume(file, plan, {}, &report).close({});
  EXPECT_THAT(report, ElementsAre("a log that is older than the file was passed over"));
  EXPECT_EQ(read_bytes(file), before);
  EXPECT_EQ(files_in(directory), 1u);
  write_bytes(log, old);
  EXPECT_THAT(repair_results(file).sentences,
              ElementsAre("a log that is older than the file was passed over"));
  expect_contents(file, plan, 9);
}

TEST_F(LogBesideFile, of_an_earlier_moment_of_the_same_session_takes_nothing_away) {
  for (const bool closed : {true, false}) {
    std::string old;
    {
      auto store = ResultStore::create(file, plan, {{"session", "first"}}, true);
      auto failed = make_result(plan, 3);
      failed.status = PlanStatus::failed;
      failed.field.clear();
      failed.error = "no heat";
      (void)store.store(make_results(plan, 0, 3));
      (void)store.store(std::span(&failed, 1));
      old = read_bytes(log);
      (void)store.store(make_results(plan, 3, 9));
      store.publish();
    }
    // Its session is as its log says, for nobody ended it.
    if (closed) (void)repair_results(file);
    write_bytes(log, old);
    expect_contents(file, plan, 9);
    EXPECT_THAT(repair_results(file).lost, IsEmpty());
    expect_contents(file, plan, 9);
    EXPECT_EQ(files_in(directory), 1u);
  }
}

TEST_F(LogBesideFile, must_not_be_older_than_a_file_that_was_left_open) {
  solve_and_die(0, 4);
  const auto old = read_bytes(log);
  solve_and_die(4, 9);
  write_bytes(log, old);
  expect_refused("the log is older than the file");
}

TEST_F(LogBesideFile, must_be_that_of_the_file_whether_it_is_open_or_closed) {
  solve_and_die(0, 1);
  const auto foreign = read_bytes(log);
  for (const auto& path : {file, log}) std::filesystem::remove(path);
  solve_and_die(0, 5);
  const auto own = read_bytes(log);
  write_bytes(log, foreign);
  expect_refused("the log is that of another result file");
  write_bytes(log, own);
  solve(5, 7);
  write_bytes(log, foreign);
  expect_refused("the log is that of another result file");
  std::filesystem::remove(log);  // as the sentence says
  expect_contents(file, plan, 7);
}

TEST_F(LogBesideFile, must_be_that_of_a_damaged_file_too_as_long_as_it_has_a_name) {
  solve_and_die(0, 1);
  const auto foreign = read_bytes(log);
  for (const auto& path : {file, log}) std::filesystem::remove(path);
  solve_and_die(0, 9);
  const auto whole = read_bytes(file), own = read_bytes(log);
  const auto last_row = row_at(whole, plan, 8);
  for (const std::size_t length : {whole.size() - 1, whole.size() - 5000, last_row - 1000}) {
    write_bytes(file, whole.substr(0, length));
    write_bytes(log, foreign);
    expect_refused("the log is that of another result file");
    write_bytes(log, own);
    EXPECT_EQ(repair_results(file).pending, length == whole.size() - 1 ? 0U : 9U) << length;
  }
}

TEST_F(LogBesideFile, is_missed_where_the_file_was_left_open) {
  solve_and_die(0, 5);
  std::filesystem::remove(log);
  EXPECT_THAT(ResultReader(file).damage(),
              Contains(HasSubstr("results that were stored last may be missing")));
  std::vector<std::string> report;
  ResultStore::resume(file, plan, {}, &report).close({});
  EXPECT_THAT(report, Contains(HasSubstr("has no usable log")));
  expect_contents(file, plan, 5);
}

// Several names of one file.

TEST_F(LogBesideFile, with_two_names_is_written_by_neither) {
  solve_and_die(0, 5);
  const auto other = directory / "other.h5";
  std::filesystem::create_hard_link(file, other);
  for (const auto& name : {file, other}) {
    const auto sentence = AllOf(HasSubstr(name.string() + " has 2 names (hard links)"),
                                HasSubstr("cp -p " + name.string()));
    EXPECT_THAT(refusal([&] { (void)ResultStore::resume(name, plan, {}); }), sentence);
    EXPECT_THAT(refusal([&] { (void)repair_results(name); }), sentence);
  }
  expect_contents(file, plan, 5);
  std::filesystem::remove(other);
  solve(5, 9);
  expect_contents(file, plan, 9);
}

}  // namespace
}  // namespace wallheat::store_test
