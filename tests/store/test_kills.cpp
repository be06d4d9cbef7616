#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cstdlib>
#include <random>

#include "child_process.hpp"
#include "store/results/merge.hpp"
#include "store/results/repair.hpp"
#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

using testing::HasSubstr;

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
      const auto sentence = refusal([&] {
        auto store = ResultStore::resume(file, plan, {});
        limit_files_to(size + room);
        for (int version = 0; version < 2; ++version) {
          for (std::size_t i = 0; i < plan_count; ++i)
            store_and_tell(store, plan, i, i + 1, version, told);
        }
        store.close({});
      });
      // As the program ends, with what libraries do then: HDF5 must not flush what it could not
      // write.
      if (sentence.empty()) std::exit(0);
      std::exit(sentence.find("make room and run again with --resume") != std::string::npos ? 1
                                                                                            : 2);
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

TEST_F(KilledStore, says_what_to_do_where_a_merge_or_a_repair_finds_the_disk_full) {
  const auto plan = make_plan(plan_count, {{40, 40}});
  const auto part = directory / "part.h5";
  auto store = ResultStore::create(part, plan, {}, false);
  store_all(store, make_results(plan, 0, plan_count));
  store.close({});
  auto bytes = read_bytes(part);
  bytes[row_at(bytes, plan, 3) + 140] ^= 1;  // so that the repair has to build the file anew
  write_bytes(part, bytes);
  EXPECT_EQ(in_a_process([&] {
              limit_files_to(20'000);
              EXPECT_THAT(refusal([&] { (void)merge_results(file, {part}, {true}); }),
                          HasSubstr("make room and merge again"));
              EXPECT_THAT(refusal([&] { (void)repair_results(part); }),
                          HasSubstr("make room and repair it again"));
            }),
            0);
  EXPECT_EQ(read_bytes(part), bytes);
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(repair_results(part).done, plan_count - 1);
}

}  // namespace
}  // namespace wallheat::store_test
