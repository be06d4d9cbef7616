#include <grp.h>
#include <sys/resource.h>

#include <csignal>
#include <cstddef>

#include "store_fixture.hpp"

// Full disks and missing permissions as reported by the operating system. Each test changes the
// limits or permissions of a child process.
namespace wallheat::store_test {
namespace {

class StoreSystemErrorsTest : public StoreTest {
 protected:
  /// Runs `work` in a child process without root's privileges.
  static void run_unprivileged(const std::function<void()>& work) {
    constexpr int not_permitted = 77;
    const int status = run_in_child([&] {
      if (::geteuid() == 0 &&
          (::setgroups(0, nullptr) != 0 || ::setresgid(65534, 65534, 65534) != 0 ||
           ::setresuid(65534, 65534, 65534) != 0)) {
        ::_exit(not_permitted);
      }
      work();
    });
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    if (WEXITSTATUS(status) == not_permitted) GTEST_SKIP() << "root cannot become another user";
    EXPECT_EQ(WEXITSTATUS(status), 0) << "see above";
  }
};

/// Limits the size of files that this process may write. Simulates a full disk without privileges.
void limit_files_to(std::uintmax_t bytes) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

TEST_F(StoreSystemErrorsTest, LeavesStatusUnwrittenWhenRowIsCutOff) {
  const auto plan = make_plan(40);
  make_closed(plan, 0);
  const auto row = store::pending_row(39, plan.ids[39]);
  const auto at =
      read_bytes(file).find(std::string(reinterpret_cast<const char*>(&row), sizeof row));
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(run_in_child([&] {
              ResultStore store({file, OpenMode::resume}, plan, {});
              ASSERT_TRUE(store.begin_unless_stopped());
              limit_files_to(at + 100);  // within the row, after its status
              EXPECT_THAT(error_message([&] { store.store(make_results(plan, 39, 40)); }),
                          AllOf(Mentions({file.string(), "File too large", "limit", "--resume"}),
                                Not(testing::HasSubstr("space"))));
            }),
            0);
  EXPECT_EQ(read_bytes(file).substr(at + offsetof(store::ResultRow, status), sizeof row.status),
            std::string(sizeof row.status, '\0'))
      << "other programs would take the row for a result";
  EXPECT_TRUE(same(ResultReader(file).rows()[39], make_result(plan, 39))) << "its journal has it";
}

TEST_F(StoreSystemErrorsTest, ReportsFullDiskInMergeOrRepair) {
  const auto plan = make_plan(24, {{40, 40}});
  make_closed(plan, 24);
  damage_row(plan, 3);  // so that the repair must rebuild the file
  const auto bytes = read_bytes(file);
  EXPECT_EQ(run_in_child([&] {
              limit_files_to(20'000);
              EXPECT_THAT(
                  error_message([&] { (void)merge_results(directory / "all.h5", {file}, {true}); }),
                  Mentions({"all.h5", "File too large"}));
              EXPECT_THAT(
                  error_message([&] { (void)repair_results(file); }),
                  Mentions({file.string(), "File too large", "wallheat repair " + file.string()}));
            }),
            0);
  EXPECT_EQ(read_bytes(file), bytes);
  EXPECT_EQ(files_in(directory), 1u);
}

TEST_F(StoreSystemErrorsTest, ReportsMissingPermissionsWithoutChangingFiles) {
  const auto plan = make_plan(5);
  make_closed(plan, 5);
  std::filesystem::permissions(directory, std::filesystem::perms(0555));
  std::filesystem::permissions(file, std::filesystem::perms(0444));
  run_unprivileged([&] {
    const auto names_lock = Mentions({lock.string(), "Permission denied"});
    EXPECT_THAT(error_message_of_opening(file, OpenMode::resume, plan), names_lock);
    EXPECT_THAT(error_message([&] { (void)repair_results(file); }), names_lock);
    EXPECT_THAT(error_message([&] { (void)merge_results(directory / "all.h5", {file}, {}); }),
                Mentions({(directory / "all.h5.lock").string(), "Permission denied"}));
    expect_contents(file, plan, 5);
    const TemporaryDirectory elsewhere;
    EXPECT_TRUE(merge_results(elsewhere / "all.h5", {file}, {}).written);
  });
  std::filesystem::permissions(file, std::filesystem::perms(0000));
  run_unprivileged([&] {
    EXPECT_THAT(error_message([&] { ResultReader reader(file); }),
                Mentions({file.string(), "Permission denied"}));
  });
}

TEST_F(StoreSystemErrorsTest, DropsGroupPermissionsWhenGroupCannotBeKept) {
  const auto plan = make_plan(5);
  make_killed(plan, 3);
  std::filesystem::permissions(directory, std::filesystem::perms(0777));
  for (const auto& path : {file, journal, lock})
    std::filesystem::permissions(path, std::filesystem::perms(0666));
  run_unprivileged([&] { EXPECT_EQ(repair_results(file).done, 3u); });
  if (IsSkipped()) return;
  const auto expected = ::geteuid() == 0 ? 0606 : 0666;
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(expected));
}

}  // namespace
}  // namespace wallheat::store_test
