#include <fcntl.h>
#include <sys/stat.h>

#include <functional>

#include "store/result_file_names.hpp"
#include "store/result_path.hpp"
#include "store/write_lock.hpp"
#include "store_fixture.hpp"

// Result files that are opened through links, foreign objects at the paths of auxiliary files, and
// permissions.
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
  /// Paths of the target: an absolute link; a link to a relative link, in a linked directory.
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
    EXPECT_EQ(lock_holder_of(result_path(name)).life, LockHolder::State::stale) << name;
    expect_contents(name, plan, 17);
    const auto part = directory / "part.h5";
    EXPECT_EQ(merge_results(part, {name}, {true, true}).done, 17U) << name;
    EXPECT_THAT(error_message([&] {
                  (void)merge_results(name, {target}, {true, true});
                }),
                AllOf(Mentions(name.string()), Not(Mentions("--overwrite"))));
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
    for (const auto open : {OpenMode::resume, OpenMode::create, OpenMode::overwrite})
      EXPECT_THAT(error_message_of_opening(name, open, plan),
                  Mentions({"results.h5", "results.h5.wal0"}));
  }
}

TEST_F(ResultFileSymlinkTest, RejectsJournalNextToLink) {
  make_killed(target, plan, 17);
  const auto name = directory / "near" / "results.h5";
  fs::create_symlink(target, name);
  fs::rename(target.string() + ".wal0", name.string() + ".wal0");
  const auto both_journals =
      Mentions({name.string() + ".wal0", fs::canonical(target).string() + ".wal0"});
  EXPECT_THAT(error_message([&] { ResultReader reader(name); }), both_journals);
  EXPECT_THAT(error_message_of_opening(name, OpenMode::resume, plan), both_journals);
}

TEST_F(ResultFileSymlinkTest, ReportsErrorForUnusableTarget) {
  struct Case {
    std::string name, leads_to;
    Facts write_error, read_error;
  };
  const std::string far = (directory / "far").string();
  const std::string nowhere = (directory / "nowhere").string();
  const std::vector<Case> cases{
      {"circle.h5", "circle.h5", {"circle.h5", "link"}, {"circle.h5", "link"}},
      {"folder.h5", "far", {far, "result file"}, {far, "result file"}},
      {"blue.h5", "nowhere/results.h5", {nowhere, "directory"}, {nowhere + "/results.h5"}}};
  for (const auto& [name, leads_to, write_error, read_error] : cases) {
    const auto link = directory / name;
    fs::create_symlink(leads_to, link);
    for (const auto mode : {OpenMode::overwrite, OpenMode::resume})
      EXPECT_THAT(error_message_of_opening(link, mode, plan), Mentions(write_error));
    EXPECT_THAT(error_message([&] { ResultReader reader(link); }), Mentions(read_error));
  }
}

/// Links, pipes and directories that another user may have created at paths that wallheat writes.
/// A plain open() would truncate the target of a link, and would block on a pipe.
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
  const std::vector<std::pair<std::function<void()>, Facts>> locks{
      {[&] { plant_link(lock); }, {"link"}},
      {[&] { fs::create_symlink(not_there, lock); }, {"link"}},
      {[&] { plant_pipe(lock); }, {"named pipe"}},
      {[&] { fs::create_directory(lock); }, {"directory"}},
      {[&] { fs::create_hard_link(precious, lock); }, {}},
      {[&] { write_bytes(lock, "my shopping list"); }, {}},
      {[&] { write_bytes(lock, "host names of the lab\nnode1\n"); }, {}},
      {[&] { write_bytes(lock, std::string(5000, '\n')); }, {}}};
  for (const auto& [plant, kind] : locks) {
    plant();
    const auto message = error_message([&] { WriteLock{file}; });
    EXPECT_THAT(message, AllOf(Mentions(lock.string()), Mentions(kind)));
    const auto holder = lock_holder_of(file);
    EXPECT_EQ(holder.life, LockHolder::State::unknown) << message;
    EXPECT_THAT(holder.pid, IsEmpty()) << message;
    fs::remove(lock);
    EXPECT_FALSE(fs::exists(not_there));
  }
}

TEST_F(PlantedFilesTest, KeepsFilesWithNamesSimilarToTemporaryOnes) {
  const auto of_user = directory / "of user";
  make_killed(of_user, plan, 3);
  const std::vector<fs::path> names{file.string() + ".new", file.string() + ".new-1",
                                    new_temporary_path(file).string() + "0",
                                    new_temporary_path(directory / "results2.h5")};
  for (const auto& name : names) fs::copy_file(of_user, name);
  const auto link = new_temporary_path(file);
  const auto folder = new_temporary_path(file);
  plant_link(link);
  fs::create_directory(folder);
  make_closed(plan, 4);
  damage_row(plan, 2);
  EXPECT_EQ(repair_results(file).pending, 1U);
  resume_with(plan, 2, 3);
  ResultStore({file, OpenMode::resume}, plan, {}).close({});
  EXPECT_TRUE(merge_results(file, {of_user}, {true, true}).written);
  for (const auto& name : names) EXPECT_EQ(read_bytes(name), read_bytes(of_user)) << name;
  EXPECT_TRUE(fs::is_directory(folder));
}

TEST_F(PlantedFilesTest, RejectsPlantedJournalOrResultFileByName) {
  make_closed(plan, 4);
  const auto before = read_bytes(file);
  const fs::path next = file.string() + ".wal1";
  struct Case {
    fs::path name;
    std::function<void()> plant;
    std::string read_error, write_error;
  };
  const std::vector<Case> cases{{next, [&] { plant_link(next); }, "link", "link"},
                                {next, [&] { plant_pipe(next); }, "named pipe", "named pipe"},
                                {file,
                                 [&] {
                                   EXPECT_EQ(read_bytes(file), before);
                                   fs::remove(file);
                                   plant_pipe(file);
                                 },
                                 "named pipe", "regular file"}};
  for (const auto& [name, plant, read_error, write_error] : cases) {
    plant();
    EXPECT_THAT(error_message([&] { ResultReader reader(file); }),
                Mentions({name.string(), read_error}));
    EXPECT_THAT(error_message([&] { (void)merge_results(directory / "all.h5", {file}, {}); }),
                Mentions({name.string(), read_error}));
    EXPECT_THAT(error_message_of_opening(file, OpenMode::resume, plan),
                Mentions({name.string(), write_error}));
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
  const auto before = *stat_if_exists(file);
  const auto expect_kept = [&](const fs::path& path) {
    const auto info = stat_if_exists(path).value();
    EXPECT_EQ(info.st_mode, before.st_mode);
    EXPECT_EQ(info.st_uid, before.st_uid);
    EXPECT_EQ(info.st_gid, before.st_gid);
  };
  ResultStore store({file, OpenMode::resume}, more, {});  // rebuilds the file
  store.store(make_results(more, 6, 7));
  expect_kept(file);
  expect_kept(file.string() + ".wal1");
  expect_kept(lock);
  store.close({});
  fs::copy_file(file, directory / "part.h5");
  EXPECT_TRUE(merge_results(file, {directory / "part.h5"}, {true, true}).written);
  expect_kept(file);
}

}  // namespace
}  // namespace wallheat::store_test
