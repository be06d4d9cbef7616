#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <functional>

#include "io/write_lock.hpp"
#include "store/result_path.hpp"
#include "store_fixture.hpp"

// A result file by other names than its own, and what lies in wait beside it.
namespace wallheat::store_test {
namespace {

namespace fs = std::filesystem;

class ResultFileSymlinkTest : public StoreTest {
 protected:
  ResultFileSymlinkTest() {
    fs::create_directory(directory / "far");
    fs::create_directory(directory / "near");
    target = directory / "far" / "results.h5";
  }
  /// The same file by a name: a link, relative or absolute, to a link, in a folder that is a link.
  std::vector<fs::path> names() const {
    const auto near = directory / "near";
    fs::create_symlink(target, near / "absolute.h5");
    fs::create_symlink("../far/results.h5", near / "relative.h5");
    fs::create_directory_symlink("far", directory / "folder");
    fs::create_symlink("../near/relative.h5", directory / "far" / "back.h5");
    return {near / "absolute.h5", directory / "folder" / "back.h5"};
  }

  TestPlan plan = make_plan(20);
  fs::path target;
};

TEST_F(ResultFileSymlinkTest, ResolvesToTargetInEveryOperation) {
  for (const auto& name : names()) {
    EXPECT_FALSE(has_results(name));
    make_killed(name, plan, 17);
    EXPECT_EQ(result_path(name), fs::canonical(target)) << name;
    EXPECT_TRUE(fs::exists(target.string() + ".wal0"));
    EXPECT_EQ(lock_holder_of(result_path(name)).life, LockHolder::Life::dead) << name;
    expect_contents(name, plan, 17);
    const auto part = directory / "part.h5";
    EXPECT_EQ(merge_results(part, {name}, {true, true}).done, 17U) << name;
    EXPECT_THAT(refusal([&] {
                  (void)merge_results(name, {target}, {true, true});
                }),
                HasSubstr("is one of the parts"));
    ResultStore({name, OpenMode::overwrite}, plan, {}).close({});
    expect_contents(target, plan, 0);
    EXPECT_TRUE(merge_results(name, {part}, {true, true}).written);
    ResultStore({name, OpenMode::resume}, plan, {}).close({});
    expect_contents(target, plan, 17);
    EXPECT_EQ(files_in(directory / "near"), 2U) << name;
    fs::remove(target);
  }
}

TEST_F(ResultFileSymlinkTest, ReportsJournalWhenTargetIsMissing) {
  make_killed(target, plan, 17);
  fs::remove(target);
  for (const auto& name : names()) {
    EXPECT_TRUE(has_results(name));
    for (const auto open : {OpenMode::resume, OpenMode::create})
      EXPECT_THAT(
          refusal_of_store(name, open, plan),
          AllOf(HasSubstr("is gone, but"), HasSubstr("results.h5.wal0 holds results of it")));
  }
}

TEST_F(ResultFileSymlinkTest, RejectsJournalNextToLink) {
  make_killed(target, plan, 17);
  const auto name = directory / "near" / "results.h5";
  fs::create_symlink(target, name);
  fs::rename(target.string() + ".wal0", name.string() + ".wal0");
  const auto sentence =
      AllOf(HasSubstr("the journal " + name.string() + ".wal0 lies beside the link"),
            HasSubstr("move it to " + fs::canonical(target).string() + ".wal0"));
  EXPECT_THAT(refusal([&] { ResultReader reader(name); }), sentence);
  EXPECT_THAT(refusal_of_store(name, OpenMode::resume, plan), sentence);
}

TEST_F(ResultFileSymlinkTest, ReportsErrorForUnusableTarget) {
  const std::vector<std::array<std::string, 4>> links{
      {"circle.h5", "circle.h5", "round in circles", "round in circles"},
      {"folder.h5", "far", "is a folder, not a result file", "is a folder, not a result file"},
      {"blue.h5", "nowhere/results.h5", "there is no directory", "does not exist"}};
  for (const auto& [name, leads_to, no_write, no_look] : links) {
    const auto link = directory / name;
    fs::create_symlink(leads_to, link);
    EXPECT_THAT(refusal_of_store(link, OpenMode::overwrite, plan), HasSubstr(no_write));
    EXPECT_THAT(refusal_of_store(link, OpenMode::resume, plan), HasSubstr(no_write));
    EXPECT_THAT(refusal([&] { ResultReader reader(link); }), HasSubstr(no_look));
  }
}

/// Things that somebody else may have put where wallheat is about to write. Opened as a file is by
/// default, the links lead to a file that is then emptied, and the pipe is waited for.
class PlantedFilesTest : public StoreTest {
 protected:
  PlantedFilesTest() { write_bytes(precious, "do not touch"); }
  void TearDown() override { EXPECT_EQ(read_bytes(precious), "do not touch"); }

  void plant_link(const fs::path& name) const { fs::create_symlink(precious, name); }
  static void plant_pipe(const fs::path& name) { ASSERT_EQ(::mkfifo(name.c_str(), 0666), 0); }

  TestPlan plan = make_plan(4);
  fs::path precious = directory / "precious";
};

TEST_F(PlantedFilesTest, RejectsPlantedLockByName) {
  const auto not_there = directory / "not there";
  const std::vector<std::pair<std::function<void()>, std::string>> locks{
      {[&] { plant_link(lock); }, lock.string() + " is a link"},
      {[&] { fs::create_symlink(not_there, lock); }, lock.string() + " is a link"},
      {[&] { plant_pipe(lock); }, lock.string() + " is a named pipe"},
      {[&] { fs::create_directory(lock); }, lock.string() + " is a directory"},
      {[&] { fs::create_hard_link(precious, lock); }, "move it away"},
      {[&] { write_bytes(lock, "my shopping list"); }, " is no lock; move it away"}};
  for (const auto& [plant, sentence] : locks) {
    plant();
    EXPECT_THAT(refusal([&] { WriteLock{file}; }), HasSubstr(sentence));
    const auto holder = lock_holder_of(file);
    EXPECT_EQ(holder.life, LockHolder::Life::unknown) << sentence;
    EXPECT_THAT(holder.pid, IsEmpty()) << sentence;
    fs::remove(lock);
    EXPECT_FALSE(fs::exists(not_there));
  }
}

TEST_F(PlantedFilesTest, ReplacesPlantedTemporaryFileWithoutFollowingLink) {
  const fs::path temporary_name = file.string() + ".new";
  plant_link(temporary_name);
  make_closed(plan, 4);
  expect_contents(file, plan, 4);
  plant_pipe(temporary_name);
  make_closed(plan, 4);
  plant_link(temporary_name);
  damage_row(plan, 2);
  EXPECT_EQ(repair_results(file).pending, 1U);
  plant_link(directory / "merged.h5.new");
  EXPECT_TRUE(merge_results(directory / "merged.h5", {file}, {true, true}).written);
  EXPECT_EQ(files_in(directory), 3U);
}

TEST_F(PlantedFilesTest, RejectsPlantedJournalOrResultFileByName) {
  make_closed(plan, 4);
  const auto before = read_bytes(file);
  const fs::path next = file.string() + ".wal1";
  const std::vector<std::tuple<fs::path, std::function<void()>, std::string, std::string>> planted{
      {next, [&] { plant_link(next); }, " is a link", " is a link"},
      {next, [&] { plant_pipe(next); }, " is a named pipe", " is a named pipe"},
      {file,
       [&] {
         EXPECT_EQ(read_bytes(file), before);
         fs::remove(file);
         plant_pipe(file);
       },
       " is a named pipe", " is not a regular file"}};
  for (const auto& [name, plant, no_look, no_resume] : planted) {
    plant();
    EXPECT_THAT(refusal([&] { ResultReader reader(file); }), HasSubstr(name.string() + no_look));
    EXPECT_THAT(refusal([&] { (void)merge_results(directory / "all.h5", {file}, {}); }),
                HasSubstr(name.string() + no_look));
    EXPECT_THAT(refusal_of_store(file, OpenMode::resume, plan),
                HasSubstr(name.string() + no_resume));
    fs::remove(name);
  }
}

using FilePermissionsTest = StoreTest;

TEST_F(FilePermissionsTest, KeepsOwnerGroupModeAfterRebuild) {
  const auto plan = make_plan(6, {{5, 5}});
  const auto more = make_plan(9, {{5, 5}});
  make_closed(plan, 6);
  fs::permissions(file, fs::perms(0640));
  if (::geteuid() == 0) {  // only root can give files away
    ASSERT_EQ(::chown(file.c_str(), 65534, 65533), 0);
  }
  const auto before = *info_of(file);
  const auto expect_kept = [&](const fs::path& path) {
    const auto info = info_of(path).value();
    EXPECT_EQ(info.st_mode, before.st_mode);
    EXPECT_EQ(info.st_uid, before.st_uid);
    EXPECT_EQ(info.st_gid, before.st_gid);
  };
  ResultStore store({file, OpenMode::resume}, more, {});  // built anew
  store.store(make_results(more, 6, 7));
  expect_kept(file);
  expect_kept(file.string() + ".wal1");
  store.close({});
  fs::copy_file(file, directory / "part.h5");
  EXPECT_TRUE(merge_results(file, {directory / "part.h5"}, {true, true}).written);
  expect_kept(file);
}

}  // namespace
}  // namespace wallheat::store_test
