#include "child_process.hpp"
#include "io/checksum.hpp"
#include "store/results/hdf5_file.hpp"
#include "store/results/write_ahead_log.hpp"
#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

/// What a resume of a file reports.
std::vector<std::string> resume_and_close(const std::filesystem::path& file,
                                          const StorePlan& plan) {
  std::vector<std::string> report;
  ResultStore::resume(file, plan, {{"session", "resume"}}, &report).close({});
  return report;
}

using Resume = StoreTest;

TEST_F(Resume, names_every_difference_of_the_settings) {
  const auto plan = make_plan(2);
  make_closed(plan, 1);
  auto other = plan;
  other.settings = {{"tolerance", "1e-05"}, {"limit", "5"}};
  other.save_fields = true;
  const auto sentence = refusal([&] { resume_and_close(file, other); });
  EXPECT_THAT(sentence, HasSubstr("tolerance: the file has 0.0001, this run 1e-05"));
  EXPECT_THAT(sentence, HasSubstr("solver: the file has jacobi, this run none"));
  EXPECT_THAT(sentence, HasSubstr("limit: the file has none, this run 5"));
  EXPECT_THAT(sentence, HasSubstr("fields: the file has not saved, this run saved"));
  EXPECT_EQ(files_in(directory), 1u);
}

TEST_F(Resume, adds_plans_and_changes_their_order) {
  const auto small = make_plan(7, {{6, 7}, {5, 5}, {1, 2}});
  make_closed(small, 7);
  auto large = make_plan(30, {{6, 7}, {5, 5}, {1, 2}});
  large.ids = {};
  for (std::size_t i = 0; i < 30; ++i)
    large.ids.push_back("plan " + std::to_string(i == 2 ? 20 : i == 20 ? 2 : i));
  std::swap(large.shapes[2], large.shapes[20]);
  EXPECT_THAT(resume_and_close(file, large), IsEmpty());
  const ResultReader reader(file);
  ASSERT_EQ(reader.rows().size(), 30u);
  EXPECT_EQ(reader.rows()[20].id, "plan 2");
  EXPECT_EQ(reader.rows()[20].index, 20u);
  EXPECT_EQ(reader.rows()[20].iterations, 1002);
  EXPECT_EQ(reader.field(20), make_field(2, {1, 2}));
  EXPECT_EQ(reader.rows()[2].status, PlanStatus::pending);
  EXPECT_EQ(reader.field(6), make_field(6, {6, 7}));
}

TEST_F(Resume, refuses_to_lose_answers_of_plans_that_are_not_named) {
  const auto plan = make_plan(9);
  make_closed(plan, 8);
  const auto sentence = refusal([&] { resume_and_close(file, make_plan(3)); });
  EXPECT_THAT(sentence, HasSubstr("(\"plan 3\", \"plan 4\", \"plan 5\" and 2 more)"));
  auto without_pending = plan;
  without_pending.ids = plan.ids.first(8);
  resume_and_close(file, without_pending);
  expect_contents(file, without_pending, 8);
}

TEST_F(Resume, refuses_what_is_no_file_of_its_own) {
  const auto plan = make_plan(2);
  EXPECT_THAT(refusal([&] { resume_and_close(file, plan); }), HasSubstr("does not exist"));
  write_bytes(file, "some text that is long enough");
  EXPECT_THAT(refusal([&] { resume_and_close(file, plan); }), HasSubstr("is not an HDF5 file"));
  EXPECT_EQ(read_bytes(file), "some text that is long enough");
  EXPECT_EQ(files_in(directory), 1u);
}

// How the log may be hurt.

TEST_F(Resume, replaces_a_damaged_beginning_of_the_log_by_what_the_file_says) {
  for (const bool with_fields : {false, true}) {
    const auto plan = with_fields ? make_plan(20, {{6, 7}, {30, 30}}) : make_plan(20);
    for (const auto& [at, length] : {std::pair{0, 100}, {30, 1}, {16 + 12 + 130, 1}, {200, 1}}) {
      std::filesystem::remove(file);
      run_and_kill([&](auto die) {
        auto store = ResultStore::create(file, plan, {{"started", "at noon"}}, false);
        (void)store.store(make_results(plan, 0, 9));
        std::filesystem::copy_file(file, directory / "early");
        (void)store.store(make_results(plan, 9, 18));
        die();
      });
      // As if the last rows had not reached the disk: the log alone has them. (Fields are there.)
      if (!with_fields) write_bytes(file, read_bytes(directory / "early"));
      std::filesystem::remove(directory / "early");
      auto bytes = read_bytes(log);
      for (int i = 0; i < length; ++i) bytes[static_cast<std::size_t>(at + i)] ^= 1;
      write_bytes(log, bytes);
      EXPECT_EQ(ResultReader(file).rows()[17].iterations, 1017) << "byte " << at;
      EXPECT_THAT(resume_and_close(file, plan), Contains(HasSubstr("the log was damaged")));
      expect_contents(file, plan, 18);
    }
  }
}

TEST_F(Resume, does_without_a_log_that_nothing_shows_to_be_the_files_own) {
  const auto plan = make_plan(20);
  make_killed(plan, 18);
  const auto strange = read_bytes(log);
  std::filesystem::remove(file);
  std::filesystem::remove(log);
  ResultStore::create(file, plan, {{"started", "at noon"}}, false).close({});
  auto bytes = strange;
  bytes[30] ^= 1;  // in the file id
  write_bytes(log, bytes);
  const auto passed_over = HasSubstr("the log is damaged from its beginning and was passed over");
  EXPECT_THAT(ResultReader(file).damage(), ElementsAre(passed_over));
  EXPECT_THAT(resume_and_close(file, plan), ElementsAre(passed_over));
  expect_contents(file, plan, 0);
}

/// The log's bytes with another format version in its beginning, whose checksum is `sound` or not.
std::string with_version(std::string bytes, std::uint32_t version, bool sound) {
  std::memcpy(bytes.data() + 8, &version, sizeof version);
  std::uint32_t crc = crc32_of(std::as_bytes(std::span(bytes.data(), 12)));
  if (!sound) crc ^= 4;
  std::memcpy(bytes.data() + 12, &crc, sizeof crc);
  return bytes;
}

TEST_F(Resume, refuses_the_log_of_another_version) {
  const auto plan = make_plan(4);
  make_killed(plan, 4);
  const auto h5 = read_bytes(file), whole = read_bytes(log);
  for (const int version : {0, 9}) {
    const auto bytes = with_version(whole, static_cast<std::uint32_t>(version), true);
    write_bytes(log, bytes);
    const auto refused = HasSubstr(log.string() + " has format version " + std::to_string(version) +
                                   ", but this wallheat knows version 1 only");
    EXPECT_THAT(refusal([&] { resume_and_close(file, plan); }), refused);
    EXPECT_THAT(refusal([&] { ResultReader reader(file); }), refused);
    EXPECT_EQ(read_bytes(log), bytes);
    EXPECT_EQ(read_bytes(file), h5);
  }
}

TEST_F(Resume, does_not_take_a_damaged_beginning_of_the_log_for_another_version) {
  const auto plan = make_plan(4);
  make_killed(plan, 4);
  write_bytes(log, with_version(read_bytes(log), 9, false));
  EXPECT_THAT(resume_and_close(file, plan), ElementsAre("the log was damaged: 0 bytes dropped"));
  expect_contents(file, plan, 4);
}

TEST_F(Resume, keeps_what_a_log_says_behind_damaged_bytes_even_if_nothing_else_has_it) {
  const auto plan = make_plan(20);
  make_killed(plan, 18);
  auto bytes = read_bytes(log);
  constexpr std::size_t batch = 12 + sizeof(store::LoggedRow) + 12;
  bytes[bytes.size() - 5 * batch + 40] ^= 1;   // row 13, its id
  bytes[bytes.size() - 7 * batch + 300] ^= 1;  // row 11
  bytes[bytes.size() - 9 * batch + 4] ^= 16;   // row 9, the length of its record
  bytes[bytes.size() - 12] ^= 2;               // the last commit
  write_bytes(log, bytes);
  std::filesystem::remove(file);
  const auto lost =
      "2 rows were lost with a damaged part of the log; pending again: \"plan 11\", \"plan 13\"";
  EXPECT_THAT(ResultReader(file).damage(), Contains(lost));
  EXPECT_THAT(ResultReader(file).damaged(), ElementsAre(11, 13));
  EXPECT_THAT(resume_and_close(file, plan),
              AllOf(Contains(HasSubstr("the log was damaged")), Contains(lost)));
  const ResultReader reader(file);
  for (std::size_t i = 0; i < 20; ++i) {
    const bool there = i < 18 && i != 13 && i != 11;
    EXPECT_TRUE(same(reader.rows()[i], there ? make_result(plan, i) : pending(plan, i))) << i;
  }
}

TEST_F(Resume, does_not_believe_a_log_that_promises_room_for_more_fields_than_plans) {
  const auto plan = make_plan(4, {{6, 7}});
  make_killed(plan, 3);
  auto snapshot = store::read_log({}, file)->snapshot;
  snapshot.capacities[{6, 7}] = 4;
  { store::LogWriter honest({}, file, snapshot); }
  ASSERT_TRUE(store::read_log({}, file));
  snapshot.capacities[{6, 7}] = 5;
  { store::LogWriter endless({}, file, snapshot); }
  EXPECT_FALSE(store::read_log({}, file)) << "with nothing else to go by";
  expect_contents(file, plan, 3);
  EXPECT_THAT(resume_and_close(file, plan), Contains(HasSubstr("the log was damaged")));
  expect_contents(file, plan, 3);
}

// How the HDF5 file may be hurt while its log is there.

TEST_F(Resume, keeps_the_rows_of_a_file_that_is_gone_or_became_garbage) {
  const auto plan = make_plan(20);
  for (const bool gone : {true, false}) {
    std::filesystem::remove(file);
    make_killed(plan, 18);
    gone ? (void)std::filesystem::remove(file) : write_bytes(file, std::string(100'000, 'g'));
    expect_contents(file, plan, 18);
    EXPECT_THAT(resume_and_close(file, plan), ElementsAre(HasSubstr("was rebuilt from its log")));
    expect_contents(file, plan, 18);
  }
}

TEST_F(Resume, solves_plans_again_whose_fields_are_gone_with_the_file) {
  const auto plan = make_plan(20, {{6, 7}});
  make_killed(plan, 18);
  std::filesystem::remove(file);
  EXPECT_THAT(resume_and_close(file, plan), Contains(HasSubstr("18 fields were lost")));
  expect_contents(file, plan, 0);
}

/// Made by hand, with all checksums right.
store::Row with_field_of(const store::Row& other, store::Row row) {
  row.field_slot = other.field_slot;
  row.field_bytes = other.field_bytes;
  row.field_crc32 = other.field_crc32;
  store::seal(row);
  return row;
}

TEST_F(Resume, gives_no_plan_the_field_of_another_one) {
  const auto plan = make_plan(5, {{6, 7}});
  make_closed(plan, 5);
  {
    auto opened = store::open_file({}, file, store::Access::write);
    store::RowTable table(opened);
    std::array<store::Row, 5> rows{};
    store::RowsInFile(real_system(), file, table.offset(), 5).read(0, rows);
    const auto forged = with_field_of(rows[3], rows[1]);
    table.write(1, std::span(&forged, 1));
  }
  const auto found = HasSubstr("pending again: \"plan 1\", \"plan 3\"");
  EXPECT_THAT(ResultReader(file).damage(), ElementsAre(found));
  EXPECT_THAT(ResultReader(file).damaged(), ElementsAre(1, 3));
  EXPECT_THAT(resume_with(plan, 1, 4), ElementsAre(found));
  expect_contents(file, plan, 5);
}

TEST_F(Resume, gives_no_plan_the_field_of_another_one_by_the_log) {
  const auto plan = make_plan(5, {{6, 7}});
  make_killed(plan, 5);
  auto snapshot = store::read_log({}, file)->snapshot;
  snapshot.rows.set(1, with_field_of(snapshot.rows[3], snapshot.rows[1]));
  snapshot.offsets[1] = snapshot.offsets[3];
  { store::LogWriter forged({}, file, snapshot); }
  std::filesystem::remove(file);
  EXPECT_THAT(ResultReader(file).damaged(), ElementsAre(1, 3));
}

TEST_F(Resume, names_every_damaged_row_by_the_list_of_ids_and_mends_that_list_by_the_rows) {
  const auto plan = make_plan(9);
  make_closed(plan, 9);
  const auto whole = read_bytes(file);
  auto bytes = whole;
  std::fill_n(bytes.begin() + static_cast<long>(row_at(bytes, plan, 4)), 2 * sizeof(store::Row),
              '\0');
  write_bytes(file, bytes);
  EXPECT_EQ(ResultReader(file).rows()[5].id, "plan 5");
  bytes = whole;
  bytes[bytes.find("plan 3") + 1] = 'q';
  ASSERT_LT(bytes.find("pqan 3"), row_at(bytes, plan, 0)) << "this is to hit the list";
  write_bytes(file, bytes);
  EXPECT_THAT(resume_with(plan, 3, 4), ElementsAre("the list of ids was damaged"));
  EXPECT_THAT(ResultReader(file).damage(), IsEmpty());
  expect_contents(file, plan, 9);
}

}  // namespace
}  // namespace wallheat::store_test
