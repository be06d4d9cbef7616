#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "../support/temporary_directory.hpp"
#include "io/file_lock.hpp"
#include "store/results/merge.hpp"
#include "store/results/repair.hpp"
#include "store_fixture.hpp"

// Full disks, read-only places and missing rights as the system itself makes them. Each test works
// in a process of its own whose mounts or rights are changed, and is skipped where that is not
// permitted.
namespace wallheat::store_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int not_permitted = 77;
constexpr std::size_t faulty_plan_count = 24;
using Acknowledged = SharedNumbers<faulty_plan_count>;

class Faults : public StoreTest {
 protected:
  /// Runs `work` in a process with a mount of its own over the test's directory.
  void with_mount(const char* options, const std::function<void()>& work) {
    const int status = in_a_process([&] {
      if (::unshare(CLONE_NEWNS) != 0 ||
          ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          ::mount("none", directory.c_str(), "tmpfs", 0, options) != 0) {
        ::_exit(not_permitted);
      }
      work();
    });
    judge(status, "this process may not mount file systems");
  }
  /// Runs `work` in a process that has no special rights.
  void without_rights(const std::function<void()>& work) {
    const int status = in_a_process([&] {
      if (::geteuid() == 0 &&
          (::setgroups(0, nullptr) != 0 || ::setresgid(65534, 65534, 65534) != 0 ||
           ::setresuid(65534, 65534, 65534) != 0)) {
        ::_exit(not_permitted);
      }
      work();
    });
    judge(status, "root cannot become an ordinary user here");
  }
  void remount(unsigned long flags, const char* options) const {
    ASSERT_EQ(::mount("none", directory.c_str(), "tmpfs", MS_REMOUNT | flags, options), 0)
        << std::strerror(errno);
  }

 private:
  static void judge(int status, const char* reason) {
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    if (WEXITSTATUS(status) == not_permitted) GTEST_SKIP() << reason;
    EXPECT_EQ(WEXITSTATUS(status), 0) << "see above";
  }
};

/// Creates or resumes the file and stores everything, one plan a batch. Ends with 0, or with 1
/// where a sentence tells to make room.
void write_until_full(const std::filesystem::path& file, const StorePlan& plan, int version,
                      Acknowledged& told) {
  std::string sentence;
  try {
    auto store = version == 0 ? ResultStore::create(file, plan, {}, false)
                              : ResultStore::resume(file, plan, {});
    for (std::size_t i = 0; i < faulty_plan_count; ++i) {
      store_all(store, make_results(plan, i, i + 1, version));
      told[i] = version + 1;
      if (i % 5 == 0) store.publish();
    }
    store.close({});
  } catch (const RunError& error) {
    sentence = error.what();
  }
  // As the program ends, with what libraries do then: HDF5 must not flush what it could not write.
  if (sentence.empty()) std::exit(0);
  const bool one_sentence = sentence.find('\n') == std::string::npos &&
                            sentence.find(
                                "No space left on device; make room and run again with "
                                "--resume") != std::string::npos;
  if (!one_sentence) std::fprintf(stderr, "%s\n", sentence.c_str());
  std::exit(one_sentence ? 1 : 2);
}

TEST_F(Faults, full_disk_loses_nothing_whether_rows_fields_or_log_find_it_full) {
  for (const bool fields : {true, false}) {
    const auto plan =
        fields ? make_plan(faulty_plan_count, {{40, 40}}) : make_plan(faulty_plan_count);
    with_mount("size=8m", [&] {
      // A run's first call to HDF5. It starts the library for all children.
      EXPECT_THAT(hdf5_library(), HasSubstr("HDF5"));
      int failures = 0, successes = 0;
      for (int pages = 4; pages < 200 && successes < 3; pages += fields ? 7 : 2) {
        for (const auto& path : {file, log, lock}) std::filesystem::remove(path);
        Acknowledged told;
        std::string size = "size=" + std::to_string(4096 * pages);
        remount(0, size.c_str());
        for (int version = 0; version < 2; ++version) {
          const int status = wait_for(start_child([&] {
            write_until_full(file, plan, std::filesystem::exists(file) ? version : 0, told);
          }));
          ASSERT_TRUE(WIFEXITED(status)) << "the writer crashed, signal " << WTERMSIG(status);
          ASSERT_LE(WEXITSTATUS(status), 1) << "the sentence does not say what to do";
          failures += WEXITSTATUS(status);
          successes += WEXITSTATUS(status) == 0 && version == 1 ? 1 : 0;
        }
        remount(0, "size=8m");
        if (!std::filesystem::exists(file) && !std::filesystem::exists(log)) {
          for (std::size_t i = 0; i < faulty_plan_count; ++i)
            ASSERT_EQ(told[i], 0) << pages << " pages";
          continue;
        }
        // In a process of its own again: a file that had to be rebuilt stays open in it.
        const int resumed = in_a_process([&] {
          auto store = ResultStore::resume(file, plan, {});
          for (std::size_t i = 0; i < faulty_plan_count; ++i) {
            ASSERT_GE(store.restored()[i].attempts, told[i])
                << "row " << i << ", " << pages << " pages";
          }
          store_all(store, make_results(plan, 0, faulty_plan_count, 9));
          store.close({});
        });
        ASSERT_EQ(resumed, 0) << pages << " pages";
        expect_contents(file, plan, faulty_plan_count, 9);
      }
      EXPECT_GT(failures, 5);
      EXPECT_EQ(successes, 3);
    });
    if (IsSkipped() || HasFailure()) return;
  }
}

TEST_F(Faults, full_disk_lets_no_half_merged_or_half_repaired_file_appear) {
  with_mount("size=4m", [&] {
    const auto plan = make_plan(faulty_plan_count, {{40, 40}});
    const auto part = directory / "part.h5";
    run_and_kill([&](auto die) {
      auto store = ResultStore::create(part, plan, {}, false);
      store_all(store, make_results(plan, 0, faulty_plan_count));
      die();
    });
    const auto used =
        std::filesystem::file_size(part) + std::filesystem::file_size(part.string() + ".wal");
    const auto hurt = [&] {  // so that the repair has to build the file anew
      auto bytes = read_bytes(part);
      bytes[20] ^= 1;
      write_bytes(part, bytes);
    };
    remount(0, ("size=" + std::to_string(used / 4096 * 4096 + 8 * 4096)).c_str());
    const auto in_child = [&](const char* advice, auto step) {
      const int status = wait_for(start_child([&] {
        const auto sentence = refusal(step);
        const bool right =
            sentence.find(std::string("No space left on device; ") + advice) != std::string::npos;
        if (!right) std::fprintf(stderr, "%s\n", sentence.c_str());
        ::_exit(right ? 0 : 1);
      }));
      EXPECT_EQ(status, 0) << advice;
    };
    in_child("make room and merge again", [&] { (void)merge_results(file, {part}, {}); });
    EXPECT_EQ(files_in(directory), 3u);  // the part, its log and its lock
    hurt();
    in_child("make room and repair it again", [&] { (void)repair_results(part); });
    remount(0, "size=4m");
    EXPECT_EQ(repair_results(part).done, faulty_plan_count);
    expect_contents(part, plan, faulty_plan_count);
    EXPECT_TRUE(merge_results(file, {part}, {}).written);
    expect_contents(file, plan, faulty_plan_count);
  });
}

TEST_F(Faults, read_only_places_are_named_and_can_be_read_and_merged_from) {
  with_mount("size=1m", [&] {
    const auto plan = make_plan(5, {{6, 7}});
    auto store = ResultStore::create(file, plan, {}, false);
    store_all(store, make_results(plan, 0, 5));
    store.close({});
    remount(MS_RDONLY, "");
    const auto refused = AllOf(HasSubstr(lock.string() + " cannot be made: Read-only file system"),
                               HasSubstr("see that you may write there"));
    EXPECT_THAT(refusal([&] { (void)ResultStore::create(file, plan, {}, true); }), refused);
    EXPECT_THAT(refusal([&] { (void)ResultStore::resume(file, plan, {}); }), refused);
    EXPECT_THAT(refusal([&] { (void)repair_results(file); }), refused);
    EXPECT_THAT(refusal([&] { (void)merge_results(directory / "all.h5", {file}, {}); }),
                HasSubstr("all.h5.lock cannot be made: Read-only file system"));
    expect_contents(file, plan, 5);
    const TemporaryDirectory elsewhere;
    EXPECT_TRUE(merge_results(elsewhere / "all.h5", {file}, {}).written);
    expect_contents(elsewhere / "all.h5", plan, 5);
  });
}

TEST_F(Faults, missing_rights_are_named_and_nothing_is_changed) {
  const auto plan = make_plan(5);
  auto store = ResultStore::create(file, plan, {}, false);
  store_all(store, make_results(plan, 0, 5));
  store.close({});
  std::filesystem::permissions(directory, std::filesystem::perms(0555));
  std::filesystem::permissions(file, std::filesystem::perms(0444));
  without_rights([&] {
    const auto refused = AllOf(HasSubstr(lock.string() + " cannot be made: Permission denied"),
                               HasSubstr("see that you may write there"));
    EXPECT_THAT(refusal([&] { (void)ResultStore::create(file, plan, {}, true); }), refused);
    EXPECT_THAT(refusal([&] { (void)ResultStore::resume(file, plan, {}); }), refused);
    EXPECT_THAT(refusal([&] { (void)repair_results(file); }), refused);
    expect_contents(file, plan, 5);
  });
  std::filesystem::permissions(file, std::filesystem::perms(0000));
  without_rights([&] {
    EXPECT_THAT(refusal([&] { ResultReader reader(file); }),
                HasSubstr("results.h5 cannot be opened: Permission denied"));
  });
  std::filesystem::permissions(directory, std::filesystem::perms(0777));
  without_rights([&] {
    EXPECT_THAT(refusal([&] { (void)ResultStore::resume(file, plan, {}); }),
                HasSubstr("results.h5 cannot be opened: Permission denied"));
    EXPECT_EQ(files_in(directory), 1u);
  });
}

TEST_F(Faults, clocks_that_go_backwards_do_not_matter) {
  const auto plan = make_plan(6, {{6, 7}});
  run_and_kill([&](auto die) {
    auto store = ResultStore::create(file, plan, {}, false);
    store_all(store, make_results(plan, 0, 3));
    die();
  });
  // As if the run had been in the future: its lock's words, and the time stamps of all its files.
  write_bytes(lock, "host elsewhere\npid 1\nsince 2999-01-01 00:00:00 UTC\n");
  const auto future = std::filesystem::file_time_type::clock::now() + std::chrono::hours(24 * 365);
  for (const auto& path : {file, log, lock}) std::filesystem::last_write_time(path, future);
  expect_contents(file, plan, 3);
  auto store = ResultStore::resume(file, plan, {});
  store_all(store, make_results(plan, 3, 6));
  store.close({});
  expect_contents(file, plan, 6);
}

}  // namespace
}  // namespace wallheat::store_test
