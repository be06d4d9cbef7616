#include <gmock/gmock.h>

#include <random>

#include "store/results/repair.hpp"
#include "store/results/write_ahead_log.hpp"
#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Repair : public StoreTest {
 protected:
  void make_closed(const StorePlan& plan, std::size_t stored) {
    auto store = ResultStore::create(file, plan, {{"which", "first"}}, false);
    store_all(store, make_results(plan, 0, stored));
    store.close({});
  }
  void make_killed(const StorePlan& plan, std::size_t stored) {
    run_and_kill([&](auto die) {
      auto store = ResultStore::create(file, plan, {{"which", "first"}}, false);
      for (std::size_t i = 0; i < stored; ++i) store_all(store, make_results(plan, i, i + 1));
      store.publish();
      die();
    });
  }
};

TEST_F(Repair, makes_one_plain_file_of_a_killed_one) {
  const auto plan = make_plan(20, {{6, 7}, {30, 30}});
  make_killed(plan, 13);
  const auto report = repair_results(file);
  EXPECT_TRUE(report.changed);
  EXPECT_EQ(report.done, 13u);
  EXPECT_EQ(report.failed, 0u);
  EXPECT_EQ(report.pending, 7u);
  EXPECT_THAT(report.lost, IsEmpty());
  EXPECT_THAT(report.sentences,
              ElementsAre(HasSubstr("its log, with 13 result(s) of that run, was folded in"),
                          "the lock of a dead process was removed"));
  EXPECT_EQ(files_in(directory), 1u);
  EXPECT_TRUE(ResultReader(file).closed_well());
  EXPECT_EQ(ResultReader(file).sessions().size(), 1u);
  expect_contents(file, plan, 13);
}

TEST_F(Repair, leaves_a_file_that_needs_nothing_byte_for_byte) {
  const auto plan = make_plan(9, {{6, 7}});
  make_closed(plan, 9);
  const auto before = read_bytes(file);
  const auto report = repair_results(file);
  EXPECT_FALSE(report.changed);
  EXPECT_THAT(report.sentences, IsEmpty());
  EXPECT_EQ(report.done, 9u);
  EXPECT_EQ(read_bytes(file), before);
  EXPECT_EQ(files_in(directory), 1u);
}

TEST_F(Repair, clears_away_what_lies_beside_a_closed_file) {
  const auto plan = make_plan(5);
  make_killed(plan, 4);
  const auto stale = read_bytes(log);
  auto store = ResultStore::create(file, plan, {}, true);
  ASSERT_TRUE(store.store(make_results(plan, 0, 5)).empty());
  store.close({});
  const auto before = read_bytes(file);
  write_bytes(log, stale);
  write_bytes(lock, "host elsewhere\npid 1\n");
  write_bytes(directory / "results.h5.new", "half");
  let_all_age();
  expect_contents(file, plan, 5);
  const auto report = repair_results(file);
  EXPECT_TRUE(report.changed);
  EXPECT_THAT(report.sentences, ElementsAre("the log of an earlier file was passed over",
                                            "half-written temporary files were removed",
                                            "the lock of a dead process was removed"));
  EXPECT_EQ(files_in(directory), 1u);
  EXPECT_EQ(read_bytes(file), before);
}

TEST_F(Repair, refuses_a_file_that_a_living_process_writes_and_one_that_is_not_there) {
  const auto plan = make_plan(3);
  EXPECT_THAT(refusal([&] { (void)repair_results(file); }), HasSubstr("does not exist"));
  EXPECT_EQ(files_in(directory), 0u);
  auto store = ResultStore::create(file, plan, {}, false);
  EXPECT_THAT(refusal([&] { (void)repair_results(file); }),
              HasSubstr("is being written by process " + std::to_string(::getpid())));
  store_all(store, make_results(plan, 0, 3));
  store.close({});
  expect_contents(file, plan, 3);
}

TEST_F(Repair, rebuilds_damaged_rows_of_a_killed_file_from_its_log_and_names_them) {
  const auto plan = make_plan(12, {{6, 7}});
  make_killed(plan, 12);
  auto bytes = read_bytes(file);
  for (const std::size_t i : {3, 8}) bytes[row_at(bytes, plan, i) + 140] ^= 1;
  write_bytes(file, bytes);
  const auto report = repair_results(file);
  EXPECT_THAT(report.sentences,
              Contains("2 rows were damaged and rebuilt from the log: \"plan 3\", \"plan 8\""));
  EXPECT_THAT(report.lost, IsEmpty());
  expect_contents(file, plan, 12);
}

TEST_F(Repair, names_rows_and_fields_of_a_closed_file_that_are_lost_and_keeps_the_others) {
  const auto plan = make_plan(12, {{6, 7}, {9, 9}});
  make_closed(plan, 11);
  auto bytes = read_bytes(file);
  bytes[row_at(bytes, plan, 3) + 10] ^= 1;  // in its id
  const auto field = compress_field(make_field(7, {9, 9}));
  const auto at =
      bytes.find(std::string(reinterpret_cast<const char*>(field.data()), field.size()));
  ASSERT_NE(at, std::string::npos);
  bytes[at] ^= 1;
  write_bytes(file, bytes);
  const auto report = repair_results(file);
  EXPECT_TRUE(report.changed);
  EXPECT_THAT(report.sentences, ElementsAre("1 row was damaged; pending again: \"plan 3\"",
                                            "1 field was damaged; pending again: \"plan 7\""));
  EXPECT_THAT(report.lost, ElementsAre("plan 3", "plan 7"));
  EXPECT_EQ(report.done, 9u);
  EXPECT_EQ(report.pending, 3u);
  EXPECT_FALSE(repair_results(file).changed);
  auto store = ResultStore::resume(file, plan, {});
  store_all(store, make_results(plan, 3, 4));
  store_all(store, make_results(plan, 7, 8));
  store.close({});
  expect_contents(file, plan, 11);
}

TEST_F(Repair, makes_a_plan_of_a_killed_file_pending_whose_field_is_lost) {
  const auto plan = make_plan(12, {{6, 7}});
  make_killed(plan, 12);
  const auto snapshot = store::read_log({}, file)->snapshot;
  auto bytes = read_bytes(file);
  bytes[static_cast<std::size_t>(snapshot.offsets[5]) + 3] ^= 1;
  write_bytes(file, bytes);
  const auto report = repair_results(file);
  EXPECT_THAT(report.lost, ElementsAre("plan 5"));
  EXPECT_EQ(report.done, 11u);
  EXPECT_EQ(report.pending, 1u);
  EXPECT_EQ(files_in(directory), 1u);
  EXPECT_EQ(ResultReader(file).field(6), make_field(6, {6, 7}));
}

TEST_F(Repair, does_without_log_and_without_file) {
  const auto plan = make_plan(6);
  make_killed(plan, 5);
  const auto wal = read_bytes(log);
  std::filesystem::remove(log);
  EXPECT_EQ(repair_results(file).done, 5u);
  expect_contents(file, plan, 5);
  std::filesystem::remove(file);
  write_bytes(log, wal);
  EXPECT_THAT(repair_results(file).sentences, Contains(HasSubstr("was rebuilt from its log")));
  expect_contents(file, plan, 5);
}

/// What reader and repair make of a damaged file: each refuses it in one sentence, or gives for
/// every plan what was stored, or leaves it pending and names it.
void expect_never_silently_wrong(const std::filesystem::path& file, const StorePlan& plan,
                                 const Attributes& session) {
  const auto check = [&](const ResultReader& reader, bool named) {
    ASSERT_EQ(reader.rows().size(), plan.ids.size());
    EXPECT_EQ(reader.settings(), plan.settings);
    ASSERT_EQ(reader.sessions().size(), 1u);
    EXPECT_EQ(reader.sessions()[0], session);
    for (std::size_t i = 0; i < plan.ids.size(); ++i) {
      const auto& row = reader.rows()[i];
      ASSERT_EQ(row.id, plan.ids[i]);
      if (row.status == PlanStatus::pending) {
        EXPECT_TRUE(named) << "row " << i << " vanished without a word";
        continue;
      }
      ASSERT_TRUE(same(row, make_result(plan, i))) << "row " << i;
      std::optional<Grid<double>> field;
      const auto damage = refusal([&] { field = reader.field(i); });
      if (!damage.empty()) {
        EXPECT_THAT(damage, AnyOf(HasSubstr("damaged field of plan " + plan.ids[i]),
                                  HasSubstr(file.string() + " is damaged, cannot find a field")));
        continue;
      }
      ASSERT_EQ(field, make_field(i, plan.shapes[i])) << "row " << i;
    }
  };
  const auto read = refusal([&] {
    const ResultReader reader(file);
    check(reader, !reader.damage().empty());
    for (const auto i : reader.damaged()) EXPECT_EQ(reader.rows()[i].status, PlanStatus::pending);
  });
  if (testing::Test::HasFatalFailure()) return;
  EXPECT_TRUE(read.empty() || read.find(file.string()) == 0) << read;
  RepairReport report;
  const auto refused = refusal([&] { report = repair_results(file); });
  if (!refused.empty()) {
    EXPECT_EQ(refused.find(file.string()), 0u) << refused;
    return;
  }
  check(ResultReader(file), !report.lost.empty() || !report.sentences.empty());
  EXPECT_EQ(report.done + report.pending, plan.ids.size());
}

/// The next byte to flip: each where WALLHEAT_STORE_KILLS asks for the long form, else some. Unused
/// bytes are zero, mostly; one that is not lies in rows, fields or metadata.
std::size_t next_byte(const std::string& bytes, std::size_t at, std::mt19937& random) {
  const bool every = std::getenv("WALLHEAT_STORE_KILLS") != nullptr;
  for (at += every ? 1 : 1 + random() % 40; at < bytes.size(); ++at) {
    if (every || bytes[at] != 0 || random() % 8 == 0) return at;
  }
  return at;
}

TEST_F(Repair, is_never_silently_wrong_about_a_flipped_byte_anywhere_in_a_closed_file) {
  const auto plan = make_plan(5, {{6, 7}, {11, 4}});
  make_closed(plan, 5);
  const auto whole = read_bytes(file);
  const Attributes session{{"which", "first"}};
  std::mt19937 random(17);
  int tried = 0;
  for (std::size_t at = 0; at < whole.size(); at = next_byte(whole, at, random)) {
    auto bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    write_bytes(file, bytes);
    expect_never_silently_wrong(file, plan, session);
    ASSERT_FALSE(HasFailure()) << "byte " << at;
    ++tried;
  }
  EXPECT_GT(tried, 100);
}

TEST_F(Repair, keeps_every_row_of_a_killed_file_through_a_flipped_byte_anywhere) {
  const auto plan = make_plan(5, {{6, 7}, {11, 4}});
  make_killed(plan, 5);
  const auto h5 = read_bytes(file), wal = read_bytes(log);
  const auto snapshot = store::read_log({}, file)->snapshot;
  const auto holds_a_field = [&](std::size_t at) {
    for (std::size_t i = 0; i < 5; ++i) {
      const auto begin = static_cast<std::size_t>(snapshot.offsets[i]);
      const auto length = static_cast<std::size_t>(snapshot.rows[i].field_bytes);
      if (at >= begin && at < begin + length) return true;
    }
    return false;
  };
  std::mt19937 random(18);
  for (std::size_t at = 0; at < h5.size(); at = next_byte(h5, at, random)) {
    auto bytes = h5;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    write_bytes(file, bytes);
    write_bytes(log, wal);
    const auto report = repair_results(file);
    EXPECT_EQ(report.done, holds_a_field(at) ? 4u : 5u);
    if (!holds_a_field(at)) expect_contents(file, plan, 5);
    ASSERT_FALSE(HasFailure()) << "byte " << at << " of the HDF5 file";
  }
  for (std::size_t at = 0; at < wal.size(); at = next_byte(wal, at, random)) {
    auto bytes = wal;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    write_bytes(file, h5);
    write_bytes(log, bytes);
    EXPECT_THAT(repair_results(file).sentences, Contains(HasSubstr("the log ")));
    expect_contents(file, plan, 5);
    ASSERT_FALSE(HasFailure()) << "byte " << at << " of the log";
  }
}

}  // namespace
}  // namespace wallheat::store_test
