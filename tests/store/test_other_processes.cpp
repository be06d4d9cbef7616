#include <sys/file.h>

#include <cstdlib>
#include <optional>

#include "io/write_lock.hpp"
#include "store/merge.hpp"
#include "store/repair.hpp"
#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

using OneWriter = StoreTest;
using Readers = StoreTest;

TEST_F(OneWriter, is_all_that_a_file_can_have_while_it_lives) {
  const auto plan = make_plan(3);
  Signal ready, finish;
  const auto writer = start_child([&] {
    ::setenv("SLURM_JOB_ID", "4711", 1);
    auto store = ResultStore::create(file, plan, {}, false);
    store.store(make_results(plan, 0, 2));
    ready.send();
    finish.wait();
    store.store(make_results(plan, 2, 3));
    store.close({});
  });
  ready.wait();
  const auto expected =
      AllOf(HasSubstr("is being written by process " + std::to_string(writer) + " on host "),
            HasSubstr(" in job 4711 since "), HasSubstr("; wait for it or stop it"));
  EXPECT_THAT(refusal([&] { (void)ResultStore::resume(file, plan, {}); }), expected);
  EXPECT_THAT(refusal([&] { (void)ResultStore::create(file, plan, {}, true); }), expected);
  EXPECT_EQ(lock_holder_of(file).life, LockHolder::Life::lives);
  finish.send();
  EXPECT_EQ(wait_for(writer), 0);
  expect_contents(file, plan, 3);
}

TEST_F(OneWriter, outwaits_one_that_was_killed_but_has_not_quite_ended_unless_it_is_to_stop) {
  // The holder is dead, and something of it holds the lock a moment longer: here a child, which is
  // easier to have than a thread in the kernel.
  for (const bool is_zombie : {true, false}) {
    Signal held, let_go;
    const pid_t holder = start_child([&] {
      const WriteLock taken(file);
      if (::fork() == 0) {
        held.send();
        let_go.wait();
        ::_exit(0);
      }
      ::kill(::getpid(), SIGKILL);
    });
    held.wait();
    if (!is_zombie) (void)wait_for(holder);
    siginfo_t ended{};
    ASSERT_TRUE(!is_zombie ||
                ::waitid(P_PID, static_cast<id_t>(holder), &ended, WEXITED | WNOWAIT) == 0);
    EXPECT_THAT(refusal([&] { WriteLock(file, [] { return true; }); }),
                HasSubstr("is being written by process " + std::to_string(holder)));
    int asked = 0;
    EXPECT_NO_THROW(WriteLock(file, [&] {
      if (++asked == 3) let_go.send();
      return false;
    }));
    EXPECT_GE(asked, 3);
    if (is_zombie) (void)wait_for(holder);
  }
}

TEST_F(OneWriter, that_is_dead_stops_nobody) {
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

TEST_F(OneWriter, takes_a_lock_that_lost_power_in_its_making_but_no_other_file) {
  for (const std::string& text :
       {std::string(76, '\0'), std::string("hos"), std::string("host x\npi")}) {
    write_bytes(lock, text);
    EXPECT_EQ(refusal([&] { WriteLock{file}; }), "(accepted)") << text;
  }
  write_bytes(lock, "how to build a house");
  EXPECT_THAT(refusal([&] { WriteLock{file}; }), HasSubstr("is no lock"));
}

TEST_F(OneWriter, does_not_remove_the_lock_of_its_successor) {
  {
    const WriteLock first(file);
    std::filesystem::remove(lock);  // somebody's hand
    const WriteLock second(file);
  }
  EXPECT_FALSE(std::filesystem::exists(lock));
  std::optional<WriteLock> first(std::in_place, file);
  std::filesystem::remove(lock);
  const WriteLock second(file);
  first.reset();
  EXPECT_TRUE(std::filesystem::exists(lock));
}

TEST_F(Readers, with_h5py_open_a_closed_file_without_ceremony) {
  if (!has_h5py()) GTEST_SKIP() << "/usr/bin/python3 has no h5py";
  make_closed(make_plan(6, {{9, 9}, {4, 5}}), 5);
  EXPECT_EQ(run_python(R"(
import math, sys, h5py
with h5py.File(sys.argv[1], "r") as f:
    rows = f["rows"][:]
    names = h5py.check_enum_dtype(f["rows"].dtype["status"])
    assert rows[3]["id"] == b"plan 3" and rows[3]["host"] == b"host"
    assert rows[3]["status"] == names["max_iterations"] and rows[5]["status"] == names["pending"]
    assert math.isnan(rows[0]["pct_above_18"]) and rows[3]["mean_temp"] > 3
    assert f["settings"].attrs["tolerance"] == b"0.0001"
    assert f["sessions/0"].attrs["host"] == b"first"
    assert f.attrs["format_version"] == 2
    field = f["fields"]["plan 3"][:]
    assert field.shape == (4, 5)
    for i, value in enumerate(field.flat):
        assert abs(value - (5 + math.sin(0.01 * (i + 21)))) < 1e-12
)",
                       file),
            0);
}

TEST_F(Readers, refuse_files_of_other_format_versions_and_programs) {
  if (!has_h5py()) GTEST_SKIP() << "/usr/bin/python3 has no h5py";
  const std::string opened = "import sys, h5py\nf = h5py.File(sys.argv[1], 'a')\n";
  const auto version = [&](const char* number) {
    return std::pair{
        opened + "f.attrs.modify('format_version', " + number + ")",
        file.string() + " has format version " + number +
            ", but this wallheat knows version 2 only; use the wallheat that wrote it"};
  };
  for (const auto& [script, sentence] :
       {version("1"), version("7"),
        std::pair{opened + "del f.attrs['wallheat']",
                  std::string("is an HDF5 file, but holds no results of wallheat")}}) {
    make_closed(make_plan(2), 0);
    ASSERT_EQ(run_python(script, file), 0);
    const auto before = read_bytes(file);
    const auto refused = HasSubstr(sentence);
    EXPECT_THAT(refusal([&] { ResultReader reader(file); }), refused);
    EXPECT_THAT(refusal([&] { (void)ResultStore::resume(file, make_plan(2), {}); }), refused);
    EXPECT_THAT(refusal([&] { (void)merge_results(directory / "all.h5", {file}, {}); }), refused);
    EXPECT_THAT(refusal([&] { (void)repair_results(file); }), refused);
    EXPECT_EQ(read_bytes(file), before);
    EXPECT_EQ(files_in(directory), 1u);
    std::filesystem::remove(file);
  }
}

TEST_F(Readers, and_writers_are_not_stopped_by_a_lock_such_as_hdf5_takes) {
  const auto plan = make_plan(4);
  make_closed(plan, 2);
  const File held(file, O_RDONLY);
  ASSERT_EQ(::flock(held.fd(), LOCK_EX), 0);
  resume_with(plan, 2, 4);
  expect_contents(file, plan, 4);
}

}  // namespace
}  // namespace wallheat::store_test
