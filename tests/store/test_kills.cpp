#include <gmock/gmock.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>

#include "child_process.hpp"
#include "store/packs/plan_pack.hpp"
#include "store/results/merge.hpp"
#include "store/results/repair.hpp"
#include "store_fixture.hpp"
#include "support/shapes.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat::store_test {
namespace {

constexpr std::size_t plan_count = 24;
using Acknowledged = SharedNumbers<plan_count>;  // 1 + version of each row; 0: none

/// One of the shapes is so small that its fields all have the same compressed size: HDF5 would
/// overwrite one by the next in place.
StorePlan plan_with_fields() { return make_plan(plan_count, {{12, 15}, {3, 5}, {40, 40}, {1, 1}}); }

/// Stores a batch and then, and only then, says so.
void store_and_tell(ResultStore& store, const StorePlan& plan, std::size_t begin, std::size_t end,
                    int version, Acknowledged& told) {
  store_all(store, make_results(plan, begin, end, version));
  for (auto i = begin; i < end; ++i) told[i] = version + 1;
}

/// Every acknowledged row is there with its field, bit for bit; what is there besides is whole.
void expect_nothing_lost(const std::filesystem::path& file, const StorePlan& plan,
                         Acknowledged& told) {
  const ResultReader reader(file);
  ASSERT_EQ(reader.rows().size(), plan.ids.size());
  for (std::size_t i = 0; i < plan.ids.size(); ++i) {
    const auto& row = reader.rows()[i];
    const int version = row.status == PlanStatus::pending ? -1 : row.attempts - 1;
    ASSERT_GE(version + 1, told[i]) << "row " << i << " was lost or is an old one";
    const auto expected = version < 0 ? pending(plan, i) : make_result(plan, i, version);
    ASSERT_TRUE(same(row, expected)) << "row " << i;
    const auto field = reader.field(i);
    ASSERT_EQ(field.has_value(), version >= 0 && plan.save_fields) << "row " << i;
    if (field) {
      ASSERT_EQ(*field, make_field(i, plan.shapes[i], version)) << "row " << i;
    }
  }
}

class KilledStore : public StoreTest {
 protected:
  void start_over() {
    for (const auto& path : {file, log, lock}) std::filesystem::remove(path);
  }

  /// What anyone would do after a kill: look at the file, resume, solve the rest, end.
  void recover_and_finish(const StorePlan& plan, Acknowledged& told) {
    expect_nothing_lost(file, plan, told);
    auto store = ResultStore::resume(file, plan, {{"what", "after the kill"}});
    for (std::size_t i = 0; i < plan_count; ++i) {
      ASSERT_GE(store.restored()[i].attempts, told[i]) << "row " << i;
    }
    store_all(store, make_results(plan, 0, plan_count, 50));
    store.close({{"ended", "well"}});
    ASSERT_TRUE(ResultReader(file).closed_well());
    ASSERT_EQ(ResultReader(file).sessions().back().at("ended"), "well");
    expect_contents(file, plan, plan_count, 50);
  }
};

TEST_F(KilledStore, keeps_every_acknowledged_row_through_random_kills) {
  const char* wish = std::getenv("WALLHEAT_STORE_KILLS");
  const int kills = wish != nullptr ? std::atoi(wish) : 40;
  const auto plan = plan_with_fields();
  std::mt19937 random(20240101);
  Acknowledged told;
  int version = 0, killed = 0;
  ResultStore::create(file, plan, {}, false).close({});
  while (killed < kills) {
    ++version;
    const auto seed = random();
    const auto child = start_child([&] {
      std::mt19937 choice(seed);
      auto store = ResultStore::resume(file, plan, {{"version", std::to_string(version)}});
      for (int batch = 0; batch < 30; ++batch) {
        const auto begin = choice() % plan_count;
        const auto end = begin + 1 + choice() % (plan_count - begin);
        store_and_tell(store, plan, begin, end, version, told);
        if (choice() % 4 == 0) store.publish();
      }
      store.close({});
    });
    ::usleep(random() % 25'000);  // when the kill comes is the point; nothing depends on it
    ::kill(child, SIGKILL);
    const int status = wait_for(child);
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    killed += WIFSIGNALED(status) ? 1 : 0;
    expect_nothing_lost(file, plan, told);
    if (HasFatalFailure()) return;
    if (version % 5 == 0) {
      ResultStore::resume(file, plan, {}).close({});
      expect_nothing_lost(file, plan, told);
      if (HasFatalFailure()) return;
    }
  }
  std::printf("%d kills survived\n", killed);
}

/// True where a system call changes a file or a directory.
bool changes_files(unsigned long long call) {
  for (const long one : {
           static_cast<long>(SYS_write),
           static_cast<long>(SYS_pwrite64),
           static_cast<long>(SYS_openat),
           static_cast<long>(SYS_fsync),
           static_cast<long>(SYS_fdatasync),
           static_cast<long>(SYS_ftruncate),
           static_cast<long>(SYS_renameat),
           static_cast<long>(SYS_unlinkat),
#ifdef SYS_rename
           static_cast<long>(SYS_rename),
           static_cast<long>(SYS_unlink),
#endif
       }) {
    if (call == static_cast<unsigned long long>(one)) return true;
  }
  return false;
}

enum class Ending { killed, finished, not_traceable };

enum class Death { before, half_way };

/// Lets the write that the process is about to make write only half of its bytes. False where the
/// call is no write, or this processor's registers are unknown here.
bool cut_write_in_half(pid_t child, const __ptrace_syscall_info& call) {
  if (call.entry.nr != SYS_write && call.entry.nr != SYS_pwrite64) return false;
#ifdef __x86_64__
  user_regs_struct registers{};
  if (call.entry.args[2] < 2 || ::ptrace(PTRACE_GETREGS, child, nullptr, &registers) != 0)
    return false;
  registers.rdx /= 2;
  if (::ptrace(PTRACE_SETREGS, child, nullptr, &registers) != 0) return false;
  ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  return WIFSTOPPED(wait_for(child));
#else
  return child < 0;
#endif
}

/// Runs `work` in a process that is killed before its n-th change to the file system, or in its
/// midst.
Ending run_until_change(int n, Death death, const std::function<void()>& work) {
  const auto child = start_child([&] {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(4);
    ::raise(SIGSTOP);
    work();
  });
  int status = wait_for(child);
  if (!WIFSTOPPED(status)) return Ending::not_traceable;
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  int changes = 0;
  for (;;) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    status = wait_for(child);
    if (!WIFSTOPPED(status)) break;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
    __ptrace_syscall_info info{};
    if (::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) <= 0) {
      ::kill(child, SIGKILL);
      wait_for(child);
      return Ending::not_traceable;
    }
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY || !changes_files(info.entry.nr)) continue;
    if (++changes < n) continue;
    if (death == Death::half_way) cut_write_in_half(child, info);
    ::kill(child, SIGKILL);
    wait_for(child);
    return Ending::killed;
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  return Ending::finished;
}

/// A story of what happens before and in the process that is killed.
struct Story {
  const char* name;
  std::function<void(const std::filesystem::path&, const StorePlan&, Acknowledged&)> before, during;
  bool may_be_gone =
      false;  ///< nothing was there before, so until the first answer nothing need be
};

StorePlan reversed(StorePlan plan) {
  std::reverse(plan.ids.begin(), plan.ids.end());
  std::reverse(plan.shapes.begin(), plan.shapes.end());
  return plan;
}

void make_file(const std::filesystem::path& file, const StorePlan& plan, Acknowledged& told) {
  auto store = ResultStore::create(file, plan, {}, false);
  store_and_tell(store, plan, 0, 9, 0, told);
  store.close({});
}

void go_on(ResultStore store, const StorePlan& plan, Acknowledged& told, int version) {
  store_and_tell(store, plan, 3, 7, version, told);
  store_and_tell(store, plan, 5, 14, version + 1, told);
  store.publish();
  store_and_tell(store, plan, 14, 16, version, told);
  store.close({{"ended", "itself"}});
}

std::vector<std::filesystem::path> parts_of(const std::filesystem::path& file) {
  return {file.parent_path() / "part-1.h5", file.parent_path() / "part-2.h5"};
}

/// Two parts that together hold the answers that make_file stores.
void make_parts(const std::filesystem::path& file, const StorePlan& plan, Acknowledged&) {
  std::size_t begin = 0;
  for (const auto& part : parts_of(file)) {
    auto store = ResultStore::create(part, plan, {}, true);
    store_all(store, make_results(plan, begin, begin == 0 ? 4 : 9));
    store.close({});
    begin = 4;
  }
}

std::vector<Story> stories() {
  const auto nothing = [](const auto&, const auto&, auto&) {};
  const auto closed_file = [](const auto& file, const auto& plan, auto& told) {
    make_file(file, plan, told);
  };
  const auto killed_file = [](const auto& file, const auto& plan, auto& told) {
    make_file(file, plan, told);
    run_and_kill([&](auto die) {
      auto store = ResultStore::resume(file, plan, {});
      store_and_tell(store, plan, 8, 20, 1, told);
      store.publish();
      store_and_tell(store, plan, 9, 11, 2, told);
      die();
    });
  };
  const auto damaged_file = [killed_file](const auto& file, const auto& plan, auto& told) {
    killed_file(file, plan, told);
    auto bytes = read_bytes(file);
    for (std::size_t i = 8; i < 48; ++i) bytes[i] = '\xff';
    write_bytes(file, bytes);
  };
  const auto resume = [](const auto& file, const auto& plan, auto& told) {
    go_on(ResultStore::resume(file, plan, {}), plan, told, 3);
  };
  return {
      {"create", nothing,
       [](const auto& file, const auto& plan, auto& told) {
         go_on(ResultStore::create(file, plan, {}, false), plan, told, 0);
       },
       true},
      {"resume of a closed file", closed_file, resume},
      {"resume of a killed file", killed_file, resume},
      {"resume in another order of the ids",
       [](const auto& file, const auto& plan, auto& told) {
         auto results = make_results(plan, 0, 5);
         for (auto& result : results) {
           told[result.index] = 1;
           result.index = static_cast<std::uint32_t>(plan_count - 1 - result.index);
         }
         auto store = ResultStore::create(file, reversed(plan), {}, false);
         store_all(store, results);
         store.close({});
       },
       resume},
      {"resume of a killed file whose HDF5 file is damaged", damaged_file, resume},
      {"repair of a killed file", killed_file,
       [](const auto& file, const auto&, auto&) { (void)repair_results(file); }},
      {"repair of a killed file whose HDF5 file is damaged", damaged_file,
       [](const auto& file, const auto&, auto&) { (void)repair_results(file); }},
      {"repair of a closed file with a damaged row",
       [](const auto& file, const auto& plan, auto& told) {
         make_file(file, plan, told);
         auto bytes = read_bytes(file);
         bytes[row_at(bytes, plan, 3) + 140] ^= 1;
         write_bytes(file, bytes);
         told[3] = 0;
       },
       [](const auto& file, const auto&, auto&) { (void)repair_results(file); }},
      {"merge of two parts", make_parts,
       [](const auto& file, const auto&, auto&) {
         (void)merge_results(file, parts_of(file), {true, false});
       },
       true},
      {"merge of two parts over a file",
       [](const auto& file, const auto& plan, auto& told) {
         make_parts(file, plan, told);
         make_file(file, plan, told);
       },
       [](const auto& file, const auto&, auto&) {
         (void)merge_results(file, parts_of(file), {true, true});
       }},
      {"overwriting", closed_file,
       [](const auto& file, const auto& plan, auto& told) {
         go_on(ResultStore::create(file, plan, {}, true), plan, told, 4);
       }},
      {"overwriting of a killed file", killed_file,
       [](const auto& file, const auto& plan, auto& told) {
         go_on(ResultStore::create(file, plan, {}, true), plan, told, 4);
       }},
  };
}

class EveryKillPoint : public KilledStore,
                       public testing::WithParamInterface<std::tuple<std::size_t, Death>> {};

/// All kill points take a minute, so that is done on request; a fifth of them is for every day.
int stride() { return std::getenv("WALLHEAT_STORE_KILLS") != nullptr ? 1 : 5; }

TEST_P(EveryKillPoint, loses_nothing_that_was_acknowledged) {
  const auto [number, death] = GetParam();
  const auto story = stories()[number];
  const bool overwrites = std::string(story.name).starts_with("overwriting");
  const bool reorders = std::string(story.name).find("order") != std::string::npos;
  const auto plan = plan_with_fields();
  int tried = 0;
  for (int n = 1;; n += stride(), ++tried) {
    start_over();
    Acknowledged told;
    story.before(file, plan, told);
    // What is overwritten is lost on purpose, so only what comes after counts.
    for (std::size_t i = 0; overwrites && i < plan_count; ++i) told[i] = 0;
    const auto ending = run_until_change(n, death, [&] { story.during(file, plan, told); });
    if (ending == Ending::not_traceable) GTEST_SKIP() << "processes cannot be traced here";
    SCOPED_TRACE(std::string(story.name) + ", killed before change " + std::to_string(n));
    const bool anything = std::filesystem::exists(file) || std::filesystem::exists(log);
    if (story.may_be_gone && !anything) {
      for (std::size_t i = 0; i < plan_count; ++i) ASSERT_EQ(told[i], 0);
    } else if (reorders) {
      // The old order is still there until the new file is in place.
      ResultStore::resume(file, plan, {}).close({});
      recover_and_finish(plan, told);
    } else {
      recover_and_finish(plan, told);
    }
    if (HasFailure()) return;
    if (ending == Ending::finished) break;
  }
  std::printf("%s: %d kill points survived\n", story.name, tried);
}

INSTANTIATE_TEST_SUITE_P(Stories, EveryKillPoint,
                         testing::Combine(testing::Range<std::size_t>(0, 12),
                                          testing::Values(Death::before, Death::half_way)));

void pack(const std::filesystem::path& out, const std::filesystem::path& plans) {
  PackOptions options;
  options.overwrite = true;
  (void)pack_plans(out, *directory_source(plans), make_ids(3), options);
}

TEST_F(KilledStore, a_killed_packing_leaves_no_pack_or_a_whole_one) {
  int missing = 0, whole = 0;
  for (int n = 1;; n += stride()) {
    start_over();
    for (std::size_t i = 0; i < 3; ++i)
      save_floor_plan(directory, make_ids(3)[i], room(20 + i, 30));
    const auto ending = run_until_change(n, Death::half_way, [&] { pack(file, directory); });
    if (ending == Ending::not_traceable) GTEST_SKIP() << "processes cannot be traced here";
    SCOPED_TRACE("killed before change " + std::to_string(n));
    if (std::filesystem::exists(file)) {
      ++whole;
    } else {
      ++missing;
      pack(file, directory);  // whatever the kill left is in nobody's way
    }
    const auto source = open_plan_source(file);
    for (std::size_t i = 0; i < 3; ++i)
      ASSERT_EQ(source->load(make_ids(3)[i]).domain, room(20 + i, 30).domain);
    if (ending == Ending::finished) break;
    pack(file, directory);
    EXPECT_FALSE(std::filesystem::exists(file.string() + ".new"));
    EXPECT_FALSE(std::filesystem::exists(lock));
  }
  EXPECT_GT(missing, 1);
  EXPECT_GE(whole, 1);
}

/// The largest file that this process may write; stands in for a full disk and needs no rights.
void limit_files_to(std::uintmax_t bytes) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

TEST_F(KilledStore, loses_nothing_when_the_disk_is_full) {
  const auto plan = make_plan(plan_count, {{40, 40}});
  int failures = 0;
  for (std::uintmax_t room = 0; room < 120'000; room += 3'000) {
    start_over();
    Acknowledged told;
    ResultStore::create(file, plan, {}, false).close({});
    const auto size = std::filesystem::file_size(file);
    const auto child = start_child([&] {
      std::string sentence;
      try {
        auto store = ResultStore::resume(file, plan, {});
        limit_files_to(size + room);
        for (int version = 0; version < 2; ++version) {
          for (std::size_t i = 0; i < plan_count; ++i) {
            store_and_tell(store, plan, i, i + 1, version, told);
          }
        }
        store.close({});
      } catch (const RunError& error) {
        sentence = error.what();
      }
      if (sentence.empty()) ::_exit(0);
      ::_exit(sentence.find("make room and run again with --resume") != std::string::npos ? 1 : 2);
    });
    const int status = wait_for(child);
    ASSERT_TRUE(WIFEXITED(status)) << "the writer crashed, signal " << WTERMSIG(status);
    ASSERT_LE(WEXITSTATUS(status), 1) << "the sentence does not say what to do";
    failures += WEXITSTATUS(status);
    recover_and_finish(plan, told);
    if (HasFailure()) return;
  }
  EXPECT_GT(failures, 3);
}

}  // namespace
}  // namespace wallheat::store_test
