#include <sys/file.h>

#include <cstdlib>
#include <optional>

#include "io/write_lock.hpp"
#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

using WriteLockTest = StoreTest;

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

TEST_F(WriteLockTest, KeepsSuccessorLockWhenReleased) {
  std::optional<WriteLock> first(std::in_place, file);
  std::filesystem::remove(lock);  // as a user may do
  const WriteLock second(file);
  first.reset();
  EXPECT_TRUE(std::filesystem::exists(lock));
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
