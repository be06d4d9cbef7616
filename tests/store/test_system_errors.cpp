#include <grp.h>
#include <sys/resource.h>

#include <csignal>
#include <cstddef>

#include "store_fixture.hpp"

// Full disks and missing rights as the system itself makes them. Each test works in a process of
// its own, whose limits or rights are changed.
namespace wallheat::store_test {
namespace {

class StoreSystemErrorsTest : public StoreTest {
 protected:
  /// Runs `work` in a process that has no special rights.
  static void without_rights(const std::function<void()>& work) {
    constexpr int not_permitted = 77;
    const int status = in_a_process([&] {
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

/// The largest file that this process may write; stands in for a full disk and needs no rights.
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
  EXPECT_EQ(in_a_process([&] {
              ResultStore store({file, OpenMode::resume}, plan, {});
              ASSERT_TRUE(store.begin_unless_stopped());
              limit_files_to(at + 100);  // within the row, behind its status
              EXPECT_THAT(refusal([&] { store.store(make_results(plan, 39, 40)); }),
                          HasSubstr("make room and run again with --resume"));
            }),
            0);
  EXPECT_EQ(read_bytes(file).substr(at + offsetof(store::Row, status), sizeof row.status),
            std::string(sizeof row.status, '\0'))
      << "other programs would take the row for a result";
  EXPECT_TRUE(same(ResultReader(file).rows()[39], make_result(plan, 39))) << "its journal has it";
}

TEST_F(StoreSystemErrorsTest, ReportsFullDiskInMergeOrRepair) {
  const auto plan = make_plan(24, {{40, 40}});
  make_closed(plan, 24);
  damage_row(plan, 3);  // so that the repair has to build the file anew
  const auto bytes = read_bytes(file);
  EXPECT_EQ(in_a_process([&] {
              limit_files_to(20'000);
              EXPECT_THAT(
                  refusal([&] { (void)merge_results(directory / "all.h5", {file}, {true}); }),
                  HasSubstr("make room and merge again"));
              EXPECT_THAT(refusal([&] { (void)repair_results(file); }),
                          AllOf(HasSubstr("cannot be made whole"), HasSubstr("File too large"),
                                HasSubstr("then 'wallheat repair " + file.string() + "'")));
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
  without_rights([&] {
    const auto refused = AllOf(HasSubstr(lock.string() + " cannot be made: Permission denied"),
                               HasSubstr("see that you may write there"));
    EXPECT_THAT(refusal_of_store(file, OpenMode::resume, plan), refused);
    EXPECT_THAT(refusal([&] { (void)repair_results(file); }), refused);
    EXPECT_THAT(refusal([&] { (void)merge_results(directory / "all.h5", {file}, {}); }),
                HasSubstr("all.h5.lock cannot be made: Permission denied"));
    expect_contents(file, plan, 5);
    const TemporaryDirectory elsewhere;
    EXPECT_TRUE(merge_results(elsewhere / "all.h5", {file}, {}).written);
  });
  std::filesystem::permissions(file, std::filesystem::perms(0000));
  without_rights([&] {
    EXPECT_THAT(refusal([&] { ResultReader reader(file); }),
                HasSubstr("results.h5 cannot be opened: Permission denied"));
  });
}

TEST_F(StoreSystemErrorsTest, DropsGroupPermissionsWhenGroupCannotBeKept) {
  const auto plan = make_plan(5);
  make_killed(plan, 3);
  std::filesystem::permissions(directory, std::filesystem::perms(0777));
  for (const auto& path : {file, journal, lock})
    std::filesystem::permissions(path, std::filesystem::perms(0666));
  without_rights([&] { EXPECT_EQ(repair_results(file).done, 3u); });
  if (IsSkipped()) return;
  const auto expected = ::geteuid() == 0 ? 0606 : 0666;
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(expected));
}

}  // namespace
}  // namespace wallheat::store_test
