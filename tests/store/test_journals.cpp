#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <new>

#include "store/result_file_names.hpp"
#include "store/snapshot.hpp"
#include "store_fixture.hpp"

// Result file plus journals: gaps in the numbers, journals of other files, damage, and concurrent
// writers, compactions and readers. Crashes and power losses are tested in tests/crash.

namespace {

/// The process is killed when it renames a file to this path.
std::filesystem::path killing_target;

}  // namespace

/// Replaces rename() of the C library in this program.
extern "C" int rename(const char* from, const char* to) noexcept {
  if (killing_target == to) ::kill(::getpid(), SIGKILL);
  return ::renameat(AT_FDCWD, from, AT_FDCWD, to);
}

namespace wallheat::store_test {
namespace {

namespace fs = std::filesystem;

class JournalTest : public StoreTest {
 protected:
  [[nodiscard]] fs::path journal_of(std::size_t session) const {
    return journal_path(file, session);
  }
  /// Calls copy() after two results were stored, and then stores three more.
  template <class Copy>
  void make_stopped_and_copy(const TestPlan& plan, Copy copy) {
    ResultStore store({file, OpenMode::create}, plan, {});
    store.store(make_results(plan, 0, 2));
    copy();
    store.store(make_results(plan, 2, 5));
    store.close({}, false);
  }
};

TEST_F(JournalTest, RecoversOtherResultsWhenLastFieldIsTorn) {
  const auto plan = make_plan(3, {{6, 7}});
  std::string rows_before;
  std::string written;
  {
    ResultStore store({file, OpenMode::create}, plan, {});
    ASSERT_TRUE(store.begin_unless_stopped());
    rows_before = read_bytes(file);
    store.store(make_results(plan, 0, 3));
    written = read_bytes(journal);
    store.close({}, false);
  }
  write_bytes(file, rows_before);
  write_bytes(journal, written.substr(0, written.size() - 8) + std::string(8, '\0'));
  EXPECT_EQ(count_correct_results(file, plan), 2u);
  EXPECT_THAT(ResultReader(file).damage_messages(), IsEmpty())
      << "the third was never acknowledged";
  EXPECT_THAT(resume_with(plan, 2, 3), IsEmpty());
  expect_contents(file, plan, 3);
}

TEST_F(JournalTest, NamesMissingJournalWhenNumbersHaveGap) {
  const auto plan = make_plan(4);
  make_killed(plan, 1);
  for (const std::size_t i : {1, 2}) resume_with(plan, i, i + 1, false);
  const auto kept = read_bytes(journal_of(1));
  fs::remove(journal_of(1));
  expect_errors(plan, {"mv " + journal_of(2).string() + " " + journal_of(1).string()});
  write_bytes(journal_of(1), kept);
  expect_contents(file, plan, 3);
  fs::rename(journal_of(2), journal_of(1));
  EXPECT_EQ(count_correct_results(file, plan), 3u) << "the file contains the rows, too";
}

TEST_F(JournalTest, MarksPlansPendingWhenFieldsOrRoomsAreLost) {
  for (const auto& plan : {make_plan(5, {{6, 7}}), make_plan_with_rooms(5)}) {
    make_closed(plan, 2);
    resume_with(plan, 2, 4, false);
    fs::remove(journal_of(1));
    EXPECT_THAT(resume_with(plan, 2, 2, false),
                ElementsAre(Mentions({"2 rows", "plan 2", "plan 3"})));
    EXPECT_EQ(count_correct_results(file, plan), 2u);
    resume_with(plan, 2, 5);
    expect_contents(file, plan, 5);
  }
}

TEST_F(JournalTest, RejectsJournalOfAnotherFile) {
  const auto plan = make_plan(4);
  make_stopped(plan, 3);
  const auto of_another_file = read_bytes(journal);
  fs::remove(file);
  fs::remove(journal);
  make_stopped(plan, 2);
  write_bytes(journal, of_another_file);
  expect_errors(plan, {journal.string(), "result file"});
  EXPECT_EQ(read_bytes(journal), of_another_file);
}

TEST_F(JournalTest, RejectsForeignJournalBelowSessionNumbers) {
  const auto plan = make_plan(4, {{6, 7}});
  make_killed(plan, 3);
  const auto of_another_file = read_bytes(journal);
  fs::rename(file, directory / "A.h5");
  fs::remove(journal);
  make_closed(plan, 4);
  const auto finished = read_bytes(file);
  for (const auto& name : {journal, fenced_path(journal)}) {
    write_bytes(name, of_another_file);
    expect_errors(plan, {name.string(), "another result file", file.string()});
    EXPECT_THAT(error_message_of_opening(file, OpenMode::overwrite, plan),
                Mentions({name.string(), file.string(), "--overwrite"}));
    EXPECT_THAT(error_message([&] { (void)store::compact(file); }), Mentions(name.string()));
    EXPECT_EQ(read_bytes(name), of_another_file);
    EXPECT_EQ(files_in(directory), 3u);
    fs::remove(name);
  }
  EXPECT_EQ(read_bytes(file), finished);
  write_bytes(journal, of_another_file);
  fs::rename(directory / "A.h5", file);
  expect_contents(file, plan, 3);
}

TEST_F(JournalTest, AddsResultsOfJournalThatGrewAfterMerge) {
  const auto plan = make_plan(6, {{6, 7}});
  const auto merged = directory / "now.h5";
  make_stopped_and_copy(plan, [&] {
    EXPECT_TRUE(merge_results(merged, {file}, {true, false}).written);
  });
  fs::rename(merged, file);
  const auto grown = read_bytes(journal);
  expect_errors(plan, {"mv " + journal.string() + " " + journal_of(2).string()});
  EXPECT_EQ(read_bytes(journal), grown);
  fs::rename(journal, journal_of(2));
  EXPECT_EQ(count_correct_results(file, plan), 5u);
  resume_with(plan, 5, 6);
  expect_contents(file, plan, 6);
  EXPECT_EQ(files_in(directory), 1u);
}

TEST_F(JournalTest, KeepsJournalThatGrewAfterItsCopyWasCompacted) {
  const auto plan = make_plan(6, {{6, 7}});
  const auto copy = directory / "copy.h5";
  make_stopped_and_copy(plan, [&] {
    fs::copy_file(file, copy);
    fs::copy_file(journal, journal_path(copy, 0));
    EXPECT_EQ(repair_results(copy).done, 2u);
  });
  fs::rename(copy, file);
  const auto grown = read_bytes(journal);
  expect_errors(plan, {"mv " + journal.string() + " " + journal_of(1).string()});
  EXPECT_EQ(read_bytes(journal), grown);
}

TEST_F(JournalTest, KeepsJournalOfAnotherSessionWithEqualNumber) {
  const auto plan = make_plan(6, {{6, 7}});
  make_closed(plan, 2);
  const auto copy = directory / "copy.h5";
  fs::copy_file(file, copy);
  resume_with(plan, 2, 3, false);
  {
    ResultStore store({copy, OpenMode::resume}, plan, {});
    store.store(make_results(plan, 3, 4));
    store.close({});
  }
  fs::rename(copy, file);
  expect_errors(plan, {"mv " + journal_of(1).string() + " " + journal_of(2).string()});
  fs::rename(journal_of(1), journal_of(2));
  resume_with(plan, 4, 4);
  EXPECT_EQ(count_correct_results(file, plan), 4u);
}

TEST_F(JournalTest, RemovesJournalThatACompactionAbsorbed) {
  const auto plan = make_plan(4, {{6, 7}});
  make_stopped(plan, 3);
  const auto absorbed = read_bytes(journal);
  (void)store::compact(file);
  for (const auto& name : {journal, fenced_path(journal)}) {
    write_bytes(name, absorbed);
    resume_with(plan, 3, 3);
    EXPECT_EQ(files_in(directory), 1u);
    expect_contents(file, plan, 3);
  }
}

TEST_F(JournalTest, KeepsJournalsOfMissingFileWhenOverwriting) {
  const auto plan = make_plan(4);
  make_stopped(plan, 3);
  fs::rename(file, directory / "moved.h5");
  const auto kept = read_bytes(journal);
  for (const auto mode : {OpenMode::create, OpenMode::overwrite, OpenMode::resume})
    EXPECT_THAT(error_message_of_opening(file, mode, plan), Mentions(journal.string()));
  for (const bool overwrite : {false, true})
    EXPECT_THAT(error_message([&] {
                  (void)merge_results(file, {directory / "moved.h5"}, {true, overwrite});
                }),
                Mentions(journal.string()));
  EXPECT_EQ(read_bytes(journal), kept);
  EXPECT_EQ(files_in(directory), 2u);
}

TEST_F(JournalTest, RemovesOwnJournalsWhenOverwriting) {
  const auto plan = make_plan(4);
  for (const bool is_damaged : {false, true}) {
    make_stopped(plan, 3);
    if (is_damaged) flip(file, 9);  // HDF5 cannot open it
    EXPECT_EQ(error_message([&] { make_closed(plan, 2); }), "(no error)");
    EXPECT_EQ(files_in(directory), 1u);
    expect_contents(file, plan, 2);
  }
}

TEST_F(JournalTest, RejectsFileOfUserWithNameOfJournal) {
  const auto plan = make_plan(4);
  make_closed(plan, 2);
  for (const std::size_t session : {0, 1, 30})
    for (const auto& name : {journal_of(session), fenced_path(journal_of(session))}) {
      write_bytes(name, "my notes");
      expect_errors(plan, {name.string(), "not a journal", "move it away"});
      EXPECT_THAT(error_message_of_opening(file, OpenMode::overwrite, plan),
                  Mentions({name.string(), "--overwrite"}));
      EXPECT_EQ(read_bytes(name), "my notes");
      fs::remove(name);
    }
}

TEST_F(JournalTest, RemovesRecordlessJournalAfterGap) {
  const auto plan = make_plan(4);
  make_stopped(plan, 2);
  const auto half_a_record = read_bytes(journal).substr(0, 60);
  make_closed(plan, 2);
  write_bytes(journal_of(30), half_a_record);
  expect_contents(file, plan, 2);
  EXPECT_THAT(repair_results(file).messages, ElementsAre(Mentions(journal_of(30).string())));
  EXPECT_FALSE(fs::exists(journal_of(30)));
  write_bytes(journal_of(30), half_a_record);
  resume_with(plan, 2, 4);
  EXPECT_EQ(files_in(directory), 1u);
  expect_contents(file, plan, 4);
}

TEST_F(JournalTest, ResumesAfterDamageAtAnyRecordOffset) {
  const auto plan = make_plan(3, {{6, 7}});
  // The search for the next record reads blocks of 64 KiB; its marker may cross their boundary.
  for (std::size_t length = 65'455; length < 65'475; ++length) {
    ResultStore store({file, OpenMode::overwrite}, plan, {{"note", std::string(length, 'x')}});
    store.store(make_results(plan, 0, 3));
    store.close({}, false);
    flip(journal, 0);
    ASSERT_EQ(count_correct_results(file, plan), 3u) << length;
  }
}

TEST_F(JournalTest, KeepsFencedJournalWhenNumberIsReused) {
  const auto plan = make_plan(4, {{6, 7}});
  make_stopped(plan, 3);
  const auto bytes = read_bytes(journal);
  fs::rename(journal, fenced_path(journal));
  // A writer on another host, which does not see the new name yet, begins a journal.
  write_bytes(journal, bytes.substr(0, 60));
  (void)store::compact(file);
  expect_contents(file, plan, 3);
}

TEST_F(JournalTest, KeepsEmptyJournalWhenLaterOneExists) {
  const auto plan = make_plan(3);
  make_closed(plan, 2);
  ResultStore store({file, OpenMode::resume}, plan, {});
  ASSERT_TRUE(store.begin_unless_stopped());
  // Journal of a process that does not see this one.
  fs::copy_file(journal_of(1), journal_of(2));
  store.close({}, false);
  EXPECT_TRUE(fs::exists(journal_of(1))) << "else there would be a gap";
  expect_contents(file, plan, 2);
}

TEST_F(JournalTest, SurvivesWhenFileIsReplacedDuringCompaction) {
  const auto plan = make_plan(4, {{6, 7}});
  make_stopped(plan, 3);
  const auto replace = [&] {
    fs::copy_file(file, directory / "other.h5");
    fs::rename(directory / "other.h5", file);
    return false;
  };
  EXPECT_THAT(error_message([&] { (void)store::compact(file, nullptr, replace); }),
              Mentions({file.string(), "another process"}));
  expect_contents(file, plan, 3);
}

TEST_F(JournalTest, FailsCommitAfterItIsFenced) {
  const auto plan = make_plan(4, {{6, 7}});
  ResultStore store({file, OpenMode::create}, plan, {});
  store.store(make_results(plan, 0, 2));
  fs::remove(lock);  // simulates a file system without shared locks
  EXPECT_EQ(repair_results(file).done, 2u);
  EXPECT_THAT(error_message([&] { store.store(make_results(plan, 2, 3)); }),
              Mentions({journal.string(), "another process", "--resume"}));
  EXPECT_THAT(error_message([&] { store.store(make_results(plan, 3, 4)); }),
              AllOf(Mentions(file.string()), Not(Mentions(journal.string()))));
  expect_contents(file, plan, 2);
}

TEST_F(JournalTest, BelongsToNewFileWhenBegunDuringCompaction) {
  const auto plan = make_plan(6, {{6, 7}});
  make_stopped(plan, 2);
  // The compaction has fenced the journals; a writer that it does not see begins.
  store::fence_journals(file, store::absorbed_file_ids(store::Snapshot(file).header()));
  ResultStore unseen({file, OpenMode::resume}, plan, {});
  unseen.store(make_results(plan, 2, 4));
  // The compaction creates the new file from the fenced journals.
  fs::rename(journal_of(1), directory / "hidden");
  (void)store::compact(file);
  fs::rename(directory / "hidden", journal_of(1));
  expect_contents(file, plan, 4);
  unseen.store(make_results(plan, 4, 5));
  fs::remove(lock);
  EXPECT_EQ(repair_results(file).done, 5u);
  expect_contents(file, plan, 5);
}

TEST_F(JournalTest, FailsToBeginAfterFileIsCompacted) {
  const auto plan = make_plan(4, {{6, 7}});
  make_stopped(plan, 2);
  ResultStore unseen({file, OpenMode::resume}, plan, {});
  (void)store::compact(file);
  EXPECT_THAT(error_message([&] { unseen.store(make_results(plan, 2, 3)); }),
              Mentions({file.string(), "changed"}));
  expect_contents(file, plan, 2);
}

TEST_F(JournalTest, SkipsFieldBytesWhenOnlyRowsAreRead) {
  const auto plan = make_plan(20, {{400, 400}});
  auto results = make_results(plan, 0, 20);
  for (PlanResult& result : results) result.field.resize(1 << 20);  // never decompressed
  ResultStore store({file, OpenMode::create}, plan, {});
  store.store(results);
  const auto bytes_read = [] {
    std::ifstream io("/proc/self/io");
    std::string name;
    long long bytes = 0;
    io >> name >> bytes;
    return bytes;
  };
  const auto before = bytes_read();
  EXPECT_EQ(store::Snapshot(file).journaled_results(), 20u);
  EXPECT_LT(bytes_read() - before, 3 << 20) << "of 20 MB";
}

TEST_F(JournalTest, ShowsAllAcknowledgedResultsWhileSessionsCompact) {
  constexpr std::size_t plans = 40;
  make_closed(make_plan_with_rooms(1, {{6, 7}}), 1);
  using Count = std::atomic<std::size_t>;
  void* const shared =
      ::mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& acknowledged = *new (shared) Count(1);
  const auto writer = start_child([&] {
    for (std::size_t i = 1; i < plans; ++i) {  // each session rebuilds and compacts the file
      const auto plan = make_plan_with_rooms(i + 1, {{6, 7}});
      ResultStore store({file, OpenMode::resume}, plan, {});
      store.store(make_results(plan, i, i + 1));
      acknowledged = i + 1;
      store.close({});
    }
  });
  int status = -1;
  for (bool is_over = false; !is_over;) {
    is_over = ::waitpid(writer, &status, WNOHANG) == writer;
    const std::size_t min_count = acknowledged;
    const ResultReader reader(file);
    const auto plan = make_plan_with_rooms(reader.count(), {{6, 7}});
    std::size_t found = 0;
    reader.for_each_row([&](const PlanResult& row) {
      found += is_solved(row.status) ? 1 : 0;
      EXPECT_TRUE(!is_solved(row.status) || same(row, make_result(plan, row.index)));
    });
    EXPECT_GE(found, min_count);
  }
  EXPECT_EQ(status, 0);
  EXPECT_EQ(acknowledged, plans);
  ::munmap(shared, sizeof(Count));
}

TEST_F(JournalTest, KeepsOldResultsWhenKilledBeforeNewFileIsRenamed) {
  const auto plan = make_plan(4, {{6, 7}});
  const auto part = directory / "part.h5";
  make_closed(plan, 1);
  fs::rename(file, part);
  const std::vector<std::function<void()>> overwrites{
      [&] {
        ResultStore({file, OpenMode::overwrite}, make_plan(2), {}).close({});
      },
      [&] {
        (void)merge_results(file, {part}, {true, true});
      }};
  for (const auto& overwrite : overwrites) {
    make_killed(plan, 3);
    run_and_kill([&](auto) {
      killing_target = file;
      overwrite();
    });
    expect_contents(file, plan, 3);
    (void)repair_results(file);
    expect_contents(file, plan, 3);
    EXPECT_EQ(files_in(directory), 2U);
  }
}

TEST_F(JournalTest, IgnoresJournalThatOverwriteLeftWhenKilled) {
  const auto plan = make_plan(4);
  make_killed(plan, 3);
  const auto old_journal = read_bytes(file.string() + ".wal0");
  const auto new_plan = make_plan(2);
  ResultStore({file, OpenMode::overwrite}, new_plan, {}).close({});
  expect_contents(file, new_plan, 0);
  for (const char* name : {".wal0", ".wal0.fold", ".wal3"}) {
    // A crash after the rename of the new file leaves the journal.
    const std::filesystem::path left = file.string() + name;
    write_bytes(left, old_journal);
    expect_contents(file, new_plan, 0);
    EXPECT_TRUE(std::filesystem::exists(left));
    (void)repair_results(file);
    EXPECT_FALSE(std::filesystem::exists(left)) << name;
    write_bytes(left, old_journal);
    resume_with(new_plan, 0, 1);
    EXPECT_FALSE(std::filesystem::exists(left)) << name;
    expect_contents(file, new_plan, 1);
    write_bytes(left, old_journal);
    ResultStore({file, OpenMode::overwrite}, new_plan, {}).close({});
    EXPECT_EQ(files_in(directory), 1U) << name;
    expect_contents(file, new_plan, 0);
  }
}

}  // namespace
}  // namespace wallheat::store_test
