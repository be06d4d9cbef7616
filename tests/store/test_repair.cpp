#include <random>

#include "store/results/repair.hpp"
#include "store/results/write_ahead_log.hpp"
#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

using Repair = StoreTest;

const Attributes session{{"which", "first"}};

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

TEST_F(Repair, clears_away_what_lies_beside_a_closed_file) {
  const auto plan = make_plan(5);
  make_killed(plan, 4);
  const auto stale = read_bytes(log);
  make_closed(plan, 5);
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

TEST_F(Repair, names_rows_and_fields_of_a_closed_file_that_are_lost_and_keeps_the_others) {
  const auto plan = make_plan(12, {{6, 7}, {9, 9}});
  make_closed(plan, 11, session);
  damage_row(plan, 3, 10);  // in its id
  damage_field(plan, 7);
  const auto report = repair_results(file);
  EXPECT_TRUE(report.changed);
  EXPECT_THAT(report.sentences, ElementsAre("1 row was damaged; pending again: \"plan 3\"",
                                            "1 field was damaged; pending again: \"plan 7\""));
  EXPECT_THAT(report.lost, ElementsAre("plan 3", "plan 7"));
  EXPECT_EQ(report.done, 9u);
  EXPECT_EQ(report.pending, 3u);
  EXPECT_FALSE(repair_results(file).changed);
  EXPECT_THAT(resume_with(plan, 3, 8), IsEmpty());
  expect_contents(file, plan, 11);
}

/// The next byte to flip. Unused bytes are zero, mostly; one that is not lies in rows, fields or
/// metadata.
std::size_t next_byte(const std::string& bytes, std::size_t at, std::mt19937& random) {
  for (at += 1 + random() % 40; at < bytes.size(); ++at) {
    if (bytes[at] != 0 || random() % 8 == 0) return at;
  }
  return at;
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
