#include <random>

#include "store/repair.hpp"
#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

using Repair = StoreTest;

const Attributes session{{"which", "first"}};

TEST_F(Repair, clears_away_what_lies_beside_a_whole_file) {
  const auto plan = make_plan(5);
  make_stopped(plan, 4);
  const auto folded = read_bytes(journal);
  resume_with(plan, 4, 5);
  const auto before = read_bytes(file);
  write_bytes(journal.string() + ".fold", folded);
  write_bytes(lock, "host elsewhere\npid 1\n");
  write_bytes(directory / "results.h5.new", "half");
  write_bytes(directory / "results.h5.walrus", "somebody's");
  const auto report = repair_results(file);
  EXPECT_TRUE(report.changed);
  EXPECT_EQ(report.done, 5u);
  EXPECT_EQ(files_in(directory), 2u);
  EXPECT_EQ(read_bytes(file), before);
}

TEST_F(Repair, names_rows_and_fields_of_a_closed_file_that_are_lost_and_keeps_the_others) {
  const auto plan = make_plan(12, {{6, 7}, {9, 9}});
  make_closed(plan, 11, session);
  damage_row(plan, 3);
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
  make_closed(plan, 12);
  damage_field(plan, 11);
  EXPECT_THAT(repair_results(file).lost, ElementsAre("plan 11")) << "the last one alone";
}

TEST_F(Repair, loses_only_the_plan_of_a_damaged_id) {
  const auto plan = make_plan(5);
  make_closed(plan, 5);
  damage_row(plan, 3, 8 + 5);  // "plan 3" becomes "plan 2"
  EXPECT_EQ(repair_results(file).done, 4u);
  EXPECT_EQ(resume_with(plan, 3, 4).size(), 0u);
  expect_contents(file, plan, 5);
}

/// The next byte to flip. Unused bytes are zero, mostly; one that is not lies in rows, fields or
/// metadata.
std::size_t next_byte(const std::string& bytes, std::size_t at, std::mt19937& random) {
  for (at += 1 + random() % 40; at < bytes.size(); ++at)
    if (bytes[at] != 0 || random() % 8 == 0) return at;
  return at;
}

TEST_F(Repair, takes_no_damaged_byte_for_an_answer_wherever_it_is) {
  const auto plan = make_plan(5, {{6, 7}, {11, 4}});
  make_stopped(plan, 5);
  const auto h5 = read_bytes(file);
  const auto wal = read_bytes(journal);
  std::mt19937 random(18);
  const auto expect_right_answers = [&](const RepairReport& report, std::size_t least) {
    EXPECT_GE(report.done, least);
    EXPECT_EQ(report.done + report.pending, 5u);
    const ResultReader reader(file);
    for (std::size_t i = 0; i < 5; ++i) {
      if (!is_answer(reader.rows()[i].status)) continue;
      EXPECT_TRUE(same(reader.rows()[i], make_result(plan, i))) << i;
      EXPECT_EQ(reader.field(i), make_field(i, plan.shapes[i])) << i;
    }
  };
  for (std::size_t at = 0; at < h5.size(); at = next_byte(h5, at, random)) {
    auto bytes = h5;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    write_bytes(file, bytes);
    write_bytes(journal, wal);
    const auto sentence = refusal([&] { expect_right_answers(repair_results(file), 5); });
    if (sentence != "(accepted)") {
      EXPECT_EQ(read_bytes(file), bytes);
    }
    ASSERT_FALSE(HasFailure()) << "byte " << at << " of the HDF5 file";
    std::filesystem::remove(journal.string() + ".fold");
  }
  for (std::size_t at = 0; at < wal.size(); at = next_byte(wal, at, random)) {
    auto bytes = wal;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    write_bytes(file, h5);
    write_bytes(journal, bytes);
    // A damaged record costs no other one.
    expect_right_answers(repair_results(file), 4);
    ASSERT_FALSE(HasFailure()) << "byte " << at << " of the journal";
  }
}

}  // namespace
}  // namespace wallheat::store_test
