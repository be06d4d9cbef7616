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
  const auto expected =
      AllOf(HasSubstr("is being written by process " + std::to_string(::getpid()) + " on host "),
            HasSubstr(" in job 4711 since "), HasSubstr("; wait for it or stop it"));
  EXPECT_THAT(refusal_of_store(file, OpenMode::resume, plan), expected);
  EXPECT_THAT(refusal_of_store(file, OpenMode::overwrite, plan), expected);
  EXPECT_EQ(lock_holder_of(file).life, LockHolder::Life::lives);
  store.store(make_results(plan, 2, 3));
  store.close({});
  expect_contents(file, plan, 3);
}

TEST_F(WriteLockTest, WaitsForKilledHolderUnlessStopped) {
  // The holder is dead, and something of it holds the lock a moment longer: here a child, which is
  // easier to have than a thread in the kernel.
  for (const bool is_zombie : {true, false}) {
    int held[2], let_go[2];
    ASSERT_TRUE(::pipe(held) == 0 && ::pipe(let_go) == 0);
    char byte = 'x';
    const pid_t holder = start_child([&] {
      const WriteLock taken(file);
      if (::fork() == 0) ::_exit(::write(held[1], &byte, 1) + ::read(let_go[0], &byte, 1) == 2);
      ::kill(::getpid(), SIGKILL);
    });
    ASSERT_EQ(::read(held[0], &byte, 1), 1);
    if (!is_zombie) (void)wait_for(holder);
    siginfo_t ended{};
    ASSERT_TRUE(!is_zombie ||
                ::waitid(P_PID, static_cast<id_t>(holder), &ended, WEXITED | WNOWAIT) == 0);
    EXPECT_THAT(refusal([&] { WriteLock(file, [] { return true; }); }),
                HasSubstr("is being written by process " + std::to_string(holder)));
    int asked = 0;
    const auto let_go_after_a_while = [&] {
      EXPECT_TRUE(++asked != 3 || ::write(let_go[1], &byte, 1) == 1);
      return false;
    };
    ASSERT_NO_THROW(WriteLock(file, let_go_after_a_while));
    EXPECT_GE(asked, 3);
    if (is_zombie) (void)wait_for(holder);
    for (const int end : {held[0], held[1], let_go[0], let_go[1]}) ::close(end);
  }
}

TEST_F(WriteLockTest, IgnoresLockOfDeadProcess) {
  run_and_kill([&](auto die) {
    const WriteLock taken(file);
    die();
  });
  EXPECT_EQ(lock_holder_of(file).life, LockHolder::Life::dead);
  { const WriteLock next(file); }
  EXPECT_EQ(lock_holder_of(file).life, LockHolder::Life::none);
  write_bytes(lock, "host elsewhere\npid 1\n");
  EXPECT_EQ(lock_holder_of(file).life, LockHolder::Life::unknown);
  EXPECT_NO_THROW(WriteLock{file});
  EXPECT_EQ(files_in(directory), 0u);
}

TEST_F(WriteLockTest, ReplacesLockTornByPowerLoss) {
  for (const std::string& text :
       {std::string(76, '\0'), std::string("hos"), std::string("host x\npi")}) {
    write_bytes(lock, text);
    EXPECT_EQ(refusal([&] { WriteLock{file}; }), "(no error)") << text;
  }
}

TEST_F(WriteLockTest, KeepsSuccessorLockWhenReleased) {
  std::optional<WriteLock> first(std::in_place, file);
  std::filesystem::remove(lock);  // somebody's hand
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
