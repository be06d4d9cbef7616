#include <cstdlib>
#include <optional>

#include "child_process.hpp"
#include "io/file_names.hpp"
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
    auto store = ResultStore::create(file, plan, {}, false);
    store.store(make_results(plan, 0, 2));
    ready.send();
    finish.wait();
    store.store(make_results(plan, 2, 3));
    store.close({});
  });
  ready.wait();
  const auto expected = AllOf(HasSubstr("is being written by process " + std::to_string(writer)),
                              HasSubstr(" on host "), HasSubstr("wait for it or stop it"));
  EXPECT_THAT(refusal([&] { (void)ResultStore::resume(file, plan, {}); }), expected);
  EXPECT_THAT(refusal([&] { (void)ResultStore::create(file, plan, {}, true); }), expected);
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

TEST_F(OneWriter, names_its_job) {
  ::setenv("SLURM_JOB_ID", "4711", 1);
  const WriteLock first(file);
  ::unsetenv("SLURM_JOB_ID");
  EXPECT_THAT(refusal([&] { WriteLock second(file); }), HasSubstr("in job 4711"));
  EXPECT_EQ(lock_holder_of(file).job, "4711");
  EXPECT_EQ(lock_holder_of(file).life, LockHolder::Life::lives);
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

TEST_F(Readers, are_never_confused_by_a_writer_at_work) {
  const auto plan = make_plan(30, {{9, 9}});
  SharedNumbers<2> progress;  // rows that are certain; finished
  const auto writer = start_child([&] {
    for (int run = 0; run < 10; ++run) {
      auto store = run == 0 ? ResultStore::create(file, plan, {}, false)
                            : ResultStore::resume(file, plan, {});
      for (std::size_t i = 0; i < 3; ++i) {
        const auto row = static_cast<std::size_t>(run) * 3 + i;
        store.store(make_results(plan, row, row + 1));
        progress[0] = static_cast<long>(row + 1);
      }
      store.close({});
    }
    progress[1] = 1;
  });
  int looks = 0;
  while (progress[1] == 0 && ::kill(writer, 0) == 0) {
    const auto certain = progress[0].load();
    if (certain == 0) continue;
    const ResultReader reader(file);
    ++looks;
    for (std::size_t i = 0; i < static_cast<std::size_t>(certain); ++i) {
      ASSERT_TRUE(same(reader.rows()[i], make_result(plan, i)));
    }
    ASSERT_EQ(reader.field(static_cast<std::size_t>(certain) - 1),
              make_field(static_cast<std::size_t>(certain) - 1, {9, 9}));
    int status = 0;
    if (::waitpid(writer, &status, WNOHANG) == writer) {
      ASSERT_EQ(status, 0);
      return;
    }
  }
  EXPECT_EQ(wait_for(writer), 0);
  EXPECT_GT(looks, 0);
}

TEST_F(Readers, with_h5py_open_a_closed_file_without_ceremony) {
  if (!has_h5py()) GTEST_SKIP() << "/usr/bin/python3 has no h5py";
  const auto plan = make_plan(6, {{9, 9}, {4, 5}});
  auto store = ResultStore::create(file, plan, {{"host", "here"}}, false);
  store.store(make_results(plan, 0, 5));
  store.close({{"ended", "well"}});
  EXPECT_EQ(run_python(R"(
import math, sys, h5py
with h5py.File(sys.argv[1], "r") as f:
    rows = f["rows"][:]
    names = h5py.check_enum_dtype(f["rows"].dtype["status"])
    assert len(rows) == 6
    row = rows[3]
    assert row["id"] == b"plan 3" and row["iterations"] == 1003 and row["failures"] == 3, row
    assert row["status"] == names["max_iterations"] and rows[5]["status"] == names["pending"]
    assert math.isnan(rows[0]["pct_above_18"])
    assert f["settings"].attrs["tolerance"] == b"0.0001"
    assert f["sessions/0"].attrs["ended"] == b"well"
    assert f.attrs["format_version"] == 2
    field = f["fields"]["plan 3"][:]
    assert field.shape == (4, 5)
    for i, value in enumerate(field.flat):
        assert abs(value - (5 + math.sin(0.01 * (i + 21)))) < 1e-12
)",
                       file),
            0);
}

TEST_F(Readers, refuse_files_of_other_format_versions) {
  if (!has_h5py()) GTEST_SKIP() << "/usr/bin/python3 has no h5py";
  const auto plan = make_plan(2);
  for (const char* version : {"1", "7"}) {
    ResultStore::create(file, plan, {}, true).close({});
    ASSERT_EQ(run_python(std::string(R"(
import sys, h5py
with h5py.File(sys.argv[1], "r+") as f:
    f.attrs.modify("format_version", )") +
                             version + ")",
                         file),
              0);
    const auto before = read_bytes(file);
    const auto refused =
        AllOf(HasSubstr(file.string() + " has format version " + version),
              HasSubstr("this wallheat knows version 2 only; use the wallheat that wrote it"));
    EXPECT_THAT(refusal([&] { ResultReader reader(file); }), refused);
    EXPECT_THAT(refusal([&] { (void)ResultStore::resume(file, plan, {}); }), refused);
    EXPECT_THAT(refusal([&] { (void)merge_results(directory / "all.h5", {file}, {}); }), refused);
    EXPECT_THAT(refusal([&] { (void)repair_results(file); }), refused);
    EXPECT_EQ(read_bytes(file), before);
    EXPECT_EQ(files_in(directory), 1u);
  }
}

TEST_F(Readers, refuse_other_programs_files) {
  if (!has_h5py()) GTEST_SKIP() << "/usr/bin/python3 has no h5py";
  ASSERT_EQ(run_python(R"(
import sys, h5py
with h5py.File(sys.argv[1], "w") as f:
    f["rows"] = [1, 2]
)",
                       file),
            0);
  const auto foreign = HasSubstr("is an HDF5 file, but holds no results of wallheat");
  EXPECT_THAT(refusal([&] { ResultReader reader(file); }), foreign);
  EXPECT_THAT(refusal([&] { (void)ResultStore::resume(file, make_plan(2), {}); }), foreign);
  EXPECT_THAT(refusal([&] { (void)repair_results(file); }), foreign);
  EXPECT_EQ(files_in(directory), 1u);
}

TEST_F(Readers, with_h5py_do_not_stop_a_resume_by_holding_the_file_open) {
  if (!has_h5py()) GTEST_SKIP() << "/usr/bin/python3 has no h5py";
  const auto plan = make_plan(4);
  make_closed(plan, 2);
  write_bytes(directory / "hold.py", R"(
import sys, h5py
f = h5py.File(sys.argv[1], "r")
print("open", flush=True)
sys.stdin.read()
)");
  int to_python[2];
  ASSERT_EQ(::pipe(to_python), 0);
  const auto command = "exec /usr/bin/python3 " + (directory / "hold.py").string() + " " +
                       file.string() + " <&" + std::to_string(to_python[0]) + " " +
                       std::to_string(to_python[1]) + ">&-";
  FILE* notebook = ::popen(command.c_str(), "r");
  ASSERT_NE(notebook, nullptr);
  char word[16] = {};
  ASSERT_NE(std::fgets(word, sizeof word, notebook), nullptr);
  resume_with(plan, 2, 4);
  ::close(to_python[1]);
  ::pclose(notebook);
  ::close(to_python[0]);
  expect_contents(file, plan, 4);
}

TEST_F(Readers, with_h5py_see_whole_rows_of_a_living_and_a_killed_writer) {
  if (!has_h5py()) GTEST_SKIP() << "/usr/bin/python3 has no h5py";
  const auto plan = make_plan(6, {{9, 9}});
  const auto* const script = R"(
import sys, h5py
with h5py.File(sys.argv[1], "r") as f:
    rows = f["rows"][:]
    assert list(rows["status"] != 0) == [True, True, False, False, False, False], rows["status"]
    assert rows[1]["iterations"] == 1001 and rows[1]["id"] == b"plan 1"
    assert len(f["fields"]) == 0
)";
  Signal ready, never;
  const auto writer = start_child([&] {
    auto store = ResultStore::create(file, plan, {}, false);
    store.store(make_results(plan, 0, 2));
    ready.send();
    never.wait();
  });
  ready.wait();
  EXPECT_EQ(run_python(script, file), 0);
  ::kill(writer, SIGKILL);
  wait_for(writer);
  EXPECT_EQ(run_python(script, file), 0);
}

TEST_F(Readers, with_h5py_never_see_a_status_without_its_row) {
  if (!has_h5py()) GTEST_SKIP() << "/usr/bin/python3 has no h5py";
  const auto plan = make_plan(200);
  make_stopped(plan, 0);
  Signal ready;
  const auto writer = start_child([&] {
    auto store = ResultStore::create(file, plan, {}, true);
    ASSERT_TRUE(store.begin());
    ready.send();
    for (std::size_t round = 0;; ++round) store.store(make_results(plan, 0, 200));
  });
  ready.wait();
  EXPECT_EQ(run_python(R"(
import sys, h5py
looks = 0
while looks < 300:
    with h5py.File(sys.argv[1], "r") as f:
        rows = f["rows"][:]
    torn = rows[(rows["status"] != 0) & (rows["interior_cells"] != 77)]
    assert len(torn) == 0, torn
    looks += 1
)",
                       file),
            0);
  ::kill(writer, SIGKILL);
  wait_for(writer);
}

}  // namespace
}  // namespace wallheat::store_test
