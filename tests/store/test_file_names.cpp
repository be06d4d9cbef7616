#include <fcntl.h>
#include <sys/stat.h>

#include "io/write_lock.hpp"
#include "store/merge.hpp"
#include "store/repair.hpp"
#include "store/result_path.hpp"
#include "store_fixture.hpp"

// A result file by other names than its own, and what lies in wait beside it.
namespace wallheat::store_test {
namespace {

namespace fs = std::filesystem;

class Link : public StoreTest {
 protected:
  Link() {
    fs::create_directory(directory / "far");
    fs::create_directory(directory / "near");
    target = directory / "far" / "results.h5";
  }
  void make_killed(const fs::path& name, std::size_t stored) const {
    run_and_kill([&](auto die) {
      auto store = ResultStore::create(name, plan, {}, false);
      store.store(make_results(plan, 0, stored));
      die();
    });
  }
  /// The same file by a name: a link, relative or absolute, to a link, in a folder that is a link.
  std::vector<fs::path> names() const {
    const auto near = directory / "near";
    fs::create_symlink(target, near / "absolute.h5");
    fs::create_symlink("../far/results.h5", near / "relative.h5");
    fs::create_symlink("relative.h5", near / "chain.h5");
    fs::create_directory_symlink("far", directory / "folder");
    fs::create_symlink("../near/chain.h5", directory / "far" / "back.h5");
    return {near / "absolute.h5", near / "relative.h5", near / "chain.h5",
            directory / "folder" / "results.h5", directory / "folder" / "back.h5"};
  }

  TestPlan plan = make_plan(20);
  fs::path target;
};

TEST_F(Link, stays_and_leads_to_the_file_its_journal_and_its_lock) {
  for (const auto& name : names()) {
    EXPECT_FALSE(has_results(name));
    make_killed(name, 17);
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
    ResultStore::create(name, plan, {}, true).close({});
    expect_contents(target, plan, 0);
    EXPECT_TRUE(merge_results(name, {part}, {true, true}).written);
    ResultStore::resume(name, plan, {}).close({});
    expect_contents(target, plan, 17);
    EXPECT_EQ(files_in(directory / "near"), 3U) << name;
    fs::remove(target);
  }
}

TEST_F(Link, to_a_file_that_is_gone_does_not_hide_what_its_journal_holds) {
  make_killed(target, 17);
  fs::remove(target);
  for (const auto& name : names()) {
    EXPECT_TRUE(has_results(name));
    EXPECT_THAT(refusal([&] { (void)ResultStore::resume(name, plan, {}); }),
                AllOf(HasSubstr("is gone, but"), HasSubstr("results.h5.wal0 holds results of it")));
    EXPECT_THAT(refusal([&] { (void)ResultStore::create(name, plan, {}, false); }),
                HasSubstr("is gone, but"));
    EXPECT_THAT(refusal([&] { (void)ResultReader(name); }), HasSubstr("does not exist"));
  }
}

TEST_F(Link, beside_which_a_journal_lies_that_belongs_to_its_target_is_refused) {
  make_killed(target, 17);
  const auto name = directory / "near" / "results.h5";
  fs::create_symlink(target, name);
  fs::rename(target.string() + ".wal0", name.string() + ".wal0");
  const auto sentence =
      AllOf(HasSubstr("the journal " + name.string() + ".wal0 lies beside the link"),
            HasSubstr("move it to " + fs::canonical(target).string() + ".wal0"));
  EXPECT_THAT(refusal([&] { ResultReader reader(name); }), sentence);
  EXPECT_THAT(refusal([&] { (void)ResultStore::resume(name, plan, {}); }), sentence);
}

TEST_F(Link, that_leads_nowhere_is_a_sentence) {
  const auto circle = directory / "circle.h5";
  fs::create_symlink(circle, circle);
  const auto folder = directory / "folder.h5";
  fs::create_directory_symlink("far", folder);
  const auto into_the_blue = directory / "blue.h5";
  fs::create_symlink("nowhere/results.h5", into_the_blue);
  for (const auto& [name, why] : {std::pair{circle, "round in circles"},
                                  {folder, "is a folder, not a result file"},
                                  {into_the_blue, "there is no directory"}}) {
    EXPECT_THAT(refusal([&] { (void)ResultStore::create(name, plan, {}, true); }), HasSubstr(why));
    EXPECT_THAT(refusal([&] { (void)ResultStore::resume(name, plan, {}); }), HasSubstr(why));
  }
  EXPECT_THAT(refusal([&] { ResultReader reader(circle); }), HasSubstr("round in circles"));
  EXPECT_THAT(refusal([&] { ResultReader reader(folder); }),
              HasSubstr("is a folder, not a result file"));
  EXPECT_THAT(refusal([&] { ResultReader reader(into_the_blue); }), HasSubstr("does not exist"));
}

/// Things that somebody else may have put where wallheat is about to write. Opened as a file is by
/// default, the links lead to a file that is then emptied, and the pipe is waited for.
class Planted : public StoreTest {
 protected:
  Planted() { write_bytes(precious, "do not touch"); }

  void plant_link(const fs::path& place) const { fs::create_symlink(precious, place); }
  static void plant_pipe(const fs::path& place) { ASSERT_EQ(::mkfifo(place.c_str(), 0666), 0); }
  [[nodiscard]] fs::path beside(const char* ending) const { return file.string() + ending; }
  void expect_untouched() const { EXPECT_EQ(read_bytes(precious), "do not touch"); }

  TestPlan plan = make_plan(4);
  fs::path precious = directory / "precious";
};

TEST_F(Planted, locks_are_refused_by_name_and_harm_nothing) {
  const auto sentence = [&] {
    auto text = refusal([&] { WriteLock{file}; });
    fs::remove(lock);
    expect_untouched();
    return text;
  };
  plant_link(lock);
  EXPECT_THAT(sentence(), HasSubstr(lock.string() + " is a link"));
  fs::create_symlink(directory / "not there", lock);
  EXPECT_THAT(sentence(), HasSubstr(lock.string() + " is a link"));
  EXPECT_FALSE(fs::exists(directory / "not there"));
  plant_pipe(lock);
  EXPECT_THAT(sentence(), HasSubstr(lock.string() + " is a named pipe"));
  fs::create_directory(lock);
  EXPECT_THAT(sentence(), HasSubstr(lock.string() + " is a directory"));
  fs::create_hard_link(precious, lock);
  EXPECT_THAT(sentence(), HasSubstr("move it away"));
  write_bytes(lock, "my shopping list");
  EXPECT_THAT(sentence(), HasSubstr(lock.string() + " is no lock; move it away"));
}

TEST_F(Planted, locks_do_not_stop_or_mislead_who_asks_for_the_writer) {
  for (const auto& plant : {std::function<void()>([&] { plant_link(lock); }),
                            std::function<void()>([&] { plant_pipe(lock); })}) {
    plant();
    const auto holder = lock_holder_of(file);
    EXPECT_EQ(holder.life, LockHolder::Life::unknown);
    EXPECT_THAT(holder.pid, IsEmpty());
    fs::remove(lock);
  }
}

TEST_F(Planted, temporary_names_are_cleared_away_not_followed) {
  const auto temporary = beside(".new");
  plant_link(temporary);
  make_closed(plan, 4);
  expect_contents(file, plan, 4);
  expect_untouched();
  plant_pipe(temporary);
  make_closed(plan, 4);
  plant_link(temporary);
  damage_row(plan, 2);
  EXPECT_EQ(repair_results(file).pending, 1U);
  expect_untouched();
  plant_link(directory / "merged.h5.new");
  EXPECT_TRUE(merge_results(directory / "merged.h5", {file}, {true, true}).written);
  expect_untouched();
  EXPECT_EQ(files_in(directory), 3U);
}

TEST_F(Planted, journals_and_result_files_are_refused_by_name) {
  make_closed(plan, 4);
  const auto before = read_bytes(file);
  const auto expect_refused = [&](const fs::path& name, const std::string& kind) {
    const auto sentence = HasSubstr(name.string() + " is " + kind);
    EXPECT_THAT(refusal([&] { ResultReader reader(file); }), sentence);
    EXPECT_THAT(refusal([&] { (void)merge_results(directory / "all.h5", {file}, {}); }), sentence);
  };
  const auto next = beside(".wal1");
  plant_link(next);
  expect_refused(next, "a link");
  fs::remove(next);
  plant_pipe(next);
  expect_refused(next, "a named pipe");
  EXPECT_THAT(refusal([&] { (void)ResultStore::resume(file, plan, {}); }),
              HasSubstr(next.string() + " is a named pipe"));
  fs::remove(next);
  EXPECT_EQ(read_bytes(file), before);
  fs::remove(file);
  plant_pipe(file);
  expect_refused(file, "a named pipe");
  EXPECT_THAT(refusal([&] { (void)ResultStore::resume(file, plan, {}); }),
              HasSubstr("is not a regular file"));
  expect_untouched();
}

mode_t mode_of(const fs::path& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

class Rights : public StoreTest {};

TEST_F(Rights, of_a_file_outlive_its_rebuilding_and_hold_for_its_journals) {
  const auto plan = make_plan(6, {{5, 5}});
  const auto before = ::umask(077);
  { make_closed(plan, 6); }
  ::umask(022);
  EXPECT_EQ(mode_of(file), 0600U);
  auto more = make_plan(9, {{5, 5}});
  auto store = ResultStore::resume(file, more, {});  // built anew
  store.store(make_results(more, 6, 7));
  EXPECT_EQ(mode_of(file), 0600U);
  EXPECT_EQ(mode_of(file.string() + ".wal1"), 0600U);
  store.close({});
  damage_row(more, 2);
  EXPECT_TRUE(repair_results(file).changed);
  EXPECT_EQ(mode_of(file), 0600U);
  fs::copy_file(file, directory / "part.h5");
  EXPECT_TRUE(merge_results(file, {directory / "part.h5"}, {true, true}).written);
  EXPECT_EQ(mode_of(file), 0600U);
  ::umask(before);
}

TEST_F(Rights, keep_the_owner_where_root_repairs) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const auto plan = make_plan(6);
  make_closed(plan, 6);
  ASSERT_EQ(::chown(file.c_str(), 65534, 65533), 0);
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  damage_row(plan, 2);
  EXPECT_TRUE(repair_results(file).changed);
  struct stat info {};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 65534U);
  EXPECT_EQ(info.st_gid, 65533U);
  EXPECT_EQ(mode_of(file), 0640U);
}

}  // namespace
}  // namespace wallheat::store_test
