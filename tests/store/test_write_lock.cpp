#include <sys/file.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdlib>
#include <optional>
#include <utility>

#include "store/result_file_names.hpp"
#include "store/write_lock.hpp"
#include "store_fixture.hpp"

namespace {

/// While this is true, lock requests fail as on a file system without locks.
bool locks_are_unsupported = false;

}  // namespace

/// Replaces fcntl() of the C library in this program.
extern "C" int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  if (locks_are_unsupported && (command == F_OFD_SETLK || command == F_OFD_GETLK)) {
    errno = ENOLCK;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fcntl, fd, command, argument));
}

namespace wallheat::store_test {
namespace {

using WriteLockTest = StoreTest;

/// A directory on a file system without locks.
class LocklessTest : public StoreTest {
 protected:
  LocklessTest() { locks_are_unsupported = true; }
  ~LocklessTest() override {
    locks_are_unsupported = false;
    if (stopped_ == 0) return;  // otherwise an assertion failed
    ::kill(stopped_, SIGKILL);
    (void)wait_for(stopped_);
  }

  /// Sets the modification times of all files to an hour ago.
  void age_files() const {
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      std::filesystem::last_write_time(entry, entry.last_write_time() - std::chrono::hours(1));
  }
  /// Waits until a child process has stopped itself.
  void wait_for_stop(pid_t child) {
    int status = 0;
    stopped_ = child;
    ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status)) << status;
  }
  /// Continues the stopped child process. Expects that its assertions hold.
  void continue_child() {
    ::kill(stopped_, SIGCONT);
    EXPECT_EQ(wait_for(std::exchange(stopped_, 0)), 0);
  }
  /// Resumes the file while the child is stopped, and stores all results of the plan.
  void take_over(const TestPlan& plan) {
    age_files();
    EXPECT_EQ(lock_holder_of(file).life, LockHolder::State::stale);
    resume_with(plan, plan.ids.size() - 1, plan.ids.size());
    expect_contents(file, plan, plan.ids.size());
  }

 private:
  pid_t stopped_ = 0;
};

TEST_F(WriteLockTest, RejectsSecondWriterWhileFirstIsRunning) {
  const auto plan = make_plan(3);
  ::setenv("SLURM_JOB_ID", "4711", 1);
  ResultStore store({file, OpenMode::create}, plan, {});
  ::unsetenv("SLURM_JOB_ID");
  store.store(make_results(plan, 0, 2));
  const LockHolder holder = lock_holder_of(file);
  EXPECT_EQ(holder.life, LockHolder::State::held);
  EXPECT_EQ(holder.pid, std::to_string(::getpid()));
  EXPECT_THAT(holder.host, Not(IsEmpty()));
  EXPECT_THAT(holder.since, Not(IsEmpty()));
  for (const auto mode : {OpenMode::resume, OpenMode::overwrite})
    EXPECT_THAT(error_message_of_opening(file, mode, plan),
                Mentions({file.string(), holder.pid, holder.host, "4711", holder.since}));
  store.store(make_results(plan, 2, 3));
  store.close({});
  expect_contents(file, plan, 3);
}

TEST_F(WriteLockTest, WaitsForKilledHolderUnlessStopped) {
  // The holder is dead, but the lock is held a moment longer: here by its child, which is easier to
  // create than a thread in the kernel.
  for (const bool is_zombie : {true, false}) {
    int held[2], release[2];
    ASSERT_TRUE(::pipe(held) == 0 && ::pipe(release) == 0);
    char byte = 'x';
    const pid_t holder = start_child([&] {
      const WriteLock taken(file);
      if (::fork() == 0) ::_exit(::write(held[1], &byte, 1) + ::read(release[0], &byte, 1) == 2);
      ::kill(::getpid(), SIGKILL);
    });
    ASSERT_EQ(::read(held[0], &byte, 1), 1);
    if (!is_zombie) (void)wait_for(holder);
    siginfo_t ended{};
    ASSERT_TRUE(!is_zombie ||
                ::waitid(P_PID, static_cast<id_t>(holder), &ended, WEXITED | WNOWAIT) == 0);
    EXPECT_THAT(error_message([&] { WriteLock(file, [] { return true; }); }),
                Mentions({file.string(), std::to_string(holder)}));
    int polls = 0;
    const auto release_at_third_poll = [&] {
      EXPECT_TRUE(++polls != 3 || ::write(release[1], &byte, 1) == 1);
      return false;
    };
    ASSERT_NO_THROW(WriteLock(file, release_at_third_poll));
    EXPECT_GE(polls, 3);
    if (is_zombie) (void)wait_for(holder);
    for (const int end : {held[0], held[1], release[0], release[1]}) ::close(end);
  }
}

TEST_F(WriteLockTest, IgnoresLockOfDeadProcess) {
  run_and_kill([&](auto die) {
    const WriteLock taken(file);
    die();
  });
  EXPECT_EQ(lock_holder_of(file).life, LockHolder::State::stale);
  { const WriteLock next(file); }
  EXPECT_EQ(lock_holder_of(file).life, LockHolder::State::unlocked);
  write_bytes(lock, "host elsewhere\npid 1\n");
  EXPECT_EQ(lock_holder_of(file).life, LockHolder::State::unknown);
  EXPECT_NO_THROW(WriteLock{file});
  EXPECT_EQ(files_in(directory), 0u);
}

TEST_F(WriteLockTest, ReplacesLockTornByPowerLoss) {
  for (const std::string& text :
       {std::string(76, '\0'), std::string("hos"), std::string("host x\npi")}) {
    write_bytes(lock, text);
    EXPECT_EQ(error_message([&] { WriteLock{file}; }), "(no error)") << text;
  }
}

TEST_F(WriteLockTest, NamesHolderOfLockOfAnotherUser) {
  run_and_kill([&](auto die) {
    const WriteLock taken(file);
    die();
  });
  const LockHolder holder = lock_holder_of(file);
  std::filesystem::permissions(lock, std::filesystem::perms(0444));
  std::filesystem::permissions(directory, std::filesystem::perms(0777));
  const int status = run_in_child([&] {
    constexpr uid_t nobody = 65534;
    ASSERT_TRUE(::geteuid() != 0 || ::seteuid(nobody) == 0);  // root may write every file
    EXPECT_THAT(error_message([&] { WriteLock{file}; }),
                Mentions({lock.string(), "Permission denied", holder.pid, holder.host, "remove"}));
  });
  EXPECT_EQ(status, 0);
}

TEST_F(WriteLockTest, KeepsSuccessorLockWhenReleased) {
  std::optional<WriteLock> first(std::in_place, file);
  std::filesystem::remove(lock);  // as a user may do
  const WriteLock second(file);
  first.reset();
  EXPECT_TRUE(std::filesystem::exists(lock));
}

TEST_F(LocklessTest, RejectsSecondWriterWhileFilesChange) {
  const WriteLock first(file);
  EXPECT_EQ(lock_holder_of(file).life, LockHolder::State::held);
  const auto names_holder_and_lock =
      Mentions({file.string(), std::to_string(::getpid()), "remove " + lock.string()});
  EXPECT_THAT(error_message([&] { WriteLock(file, [] { return true; }); }), names_holder_and_lock);
  for (const auto& active : {status_path(file), journal_path(file, 7), new_temporary_path(file)}) {
    age_files();
    write_bytes(active, "not old enough");
    const auto change_it = [&] {
      std::filesystem::last_write_time(
          active, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(9));
      return false;
    };
    EXPECT_THAT(error_message([&] { WriteLock(file, change_it); }), names_holder_and_lock);
    std::filesystem::remove(active);
  }
  EXPECT_NO_THROW(first.require_no_successor());
}

TEST_F(LocklessTest, TakesOverWhenFilesAreOldOrHolderIsDead) {
  for (const std::string host : {"elsewhere", "", "another"}) {
    write_bytes(lock, "host " + host + "\npid 1\n");
    write_bytes(status_path(file), "{}");
    age_files();
    EXPECT_TRUE(WriteLock(file).took_over());
    EXPECT_FALSE(std::filesystem::exists(lock));
  }
  run_and_kill([&](auto die) {
    const WriteLock taken(file);
    die();
  });
  EXPECT_EQ(lock_holder_of(file).life, LockHolder::State::stale);
  EXPECT_TRUE(WriteLock(file).took_over());
  write_bytes(lock, "some notes of a user");
  age_files();
  EXPECT_THAT(error_message([&] { WriteLock{file}; }), Mentions(lock.string()));
  EXPECT_EQ(read_bytes(lock), "some notes of a user");
}

TEST_F(LocklessTest, TakesLockThatIsReleasedWhileItWaits) {
  std::optional<WriteLock> first(std::in_place, file);
  const auto release = [&] {
    first.reset();
    return false;
  };
  EXPECT_FALSE(WriteLock(file, release).took_over());
}

TEST_F(LocklessTest, StoppedWriterStoresNothingAfterTakeOver) {
  const auto plan = make_plan(4, {{6, 7}});
  const pid_t old_writer = start_child([&] {
    ResultStore store({file, OpenMode::create}, plan, {});
    store.store(make_results(plan, 0, 3));
    ::raise(SIGSTOP);
    EXPECT_THAT(error_message([&] { store.store(make_results(plan, 3, 4)); }),
                Mentions({journal.string(), "another process", "--resume"}));
  });
  wait_for_stop(old_writer);
  take_over(plan);
  const auto bytes = read_bytes(file);
  continue_child();
  EXPECT_EQ(read_bytes(file), bytes);
  EXPECT_EQ(files_in(directory), 1u);
}

TEST_F(LocklessTest, StoppedWriterStoresNothingBesideItsSuccessor) {
  const auto plan = make_plan(4, {{6, 7}});
  const pid_t old_writer = start_child([&] {
    ResultStore store({file, OpenMode::create}, plan, {});
    store.store(make_results(plan, 0, 3));
    ::raise(SIGSTOP);
    EXPECT_THAT(error_message([&] { store.close({}); }), Mentions({file.string(), "--resume"}));
  });
  wait_for_stop(old_writer);
  age_files();
  ResultStore successor({file, OpenMode::resume}, plan, {});
  const auto rows = restored(successor);
  EXPECT_EQ(std::ranges::count_if(rows, is_solved, &PlanResult::status), 3);
  ASSERT_TRUE(successor.begin_unless_stopped());
  continue_child();
  successor.store(make_results(plan, 3, 4));
  successor.close({});
  expect_contents(file, plan, 4);
  EXPECT_EQ(files_in(directory), 1u);
}

TEST_F(LocklessTest, StoppedWriterReplacesNothingAfterTakeOver) {
  const auto plan = make_plan(4, {{6, 7}});
  const pid_t old_writer = start_child([&] {
    ResultStore store({file, OpenMode::create}, plan, {});
    store.store(make_results(plan, 0, 3));
    const auto stop_here = [] { return ::raise(SIGSTOP) != 0; };  // during compaction
    EXPECT_THAT(error_message([&] { store.close({}, true, stop_here); }),
                Mentions({"results.h5", "another process"}));
  });
  wait_for_stop(old_writer);
  take_over(plan);
  const auto bytes = read_bytes(file);
  continue_child();
  EXPECT_EQ(read_bytes(file), bytes);
}

TEST_F(LocklessTest, StoppedWriterBeginsNoSessionAfterTakeOver) {
  const auto plan = make_plan(4);
  make_closed(plan, 3);
  const pid_t old_writer = start_child([&] {
    ResultStore store({file, OpenMode::resume}, plan, {});
    ::raise(SIGSTOP);
    EXPECT_THAT(error_message([&] { store.store(make_results(plan, 3, 4)); }),
                Mentions({lock.string(), "another process", "--resume"}));
  });
  wait_for_stop(old_writer);
  age_files();
  ResultStore successor({file, OpenMode::resume}, plan, {});
  continue_child();
  successor.store(make_results(plan, 3, 4));
  successor.close({});
  expect_contents(file, plan, 4);
}

TEST_F(WriteLockTest, IgnoresFileLockOfHdf5) {
  const auto plan = make_plan(4);
  make_closed(plan, 2);
  const File held(file, O_RDONLY);
  ASSERT_EQ(::flock(held.fd(), LOCK_EX), 0);
  resume_with(plan, 2, 4);
  expect_contents(file, plan, 4);
}

}  // namespace
}  // namespace wallheat::store_test
