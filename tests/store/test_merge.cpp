#include <sys/resource.h>

#include "io/deflate.hpp"
#include "store/merge.hpp"
#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

using Paths = std::vector<std::filesystem::path>;

class Merge : public StoreTest {
 protected:
  [[nodiscard]] std::filesystem::path part(std::size_t number) const {
    return directory / ("part-" + std::to_string(number) + ".h5");
  }
  /// In place of one that is there.
  static void write_part(const std::filesystem::path& path, const StorePlan& plan,
                         const std::vector<PlanResult>& results) {
    auto store = ResultStore::create(path, plan, {{"wrote", path.filename().string()}}, true);
    store.store(results);
    store.close({});
  }
  /// Each has half of the answers.
  void make_two_parts(const TestPlan& plan) {
    const std::size_t half = plan.ids.size() / 2;
    write_part(part(0), plan, make_results(plan, 0, half));
    write_part(part(1), plan, make_results(plan, half, plan.ids.size()));
  }
};

TEST_F(Merge, keeps_the_sessions_of_all_parts_and_says_where_they_are_from) {
  const auto plan = make_plan(6);
  make_two_parts(plan);
  auto again = ResultStore::resume(part(1), plan, {{"wrote", "part-1.h5 again"}});
  again.store(make_results(plan, 3, 4));
  again.close({});
  MergeOptions options;
  options.session = {{"wrote", "the whole"}};
  ASSERT_TRUE(merge_results(file, {part(0), part(1), part(1)}, options).written);
  const ResultReader reader(file);
  const auto& sessions = reader.sessions();
  ASSERT_EQ(sessions.size(), 4u);
  EXPECT_EQ(reader.row(0).session, 0u);
  EXPECT_EQ(reader.row(3).session, 2u) << "that of part 1 which stored it last";
  EXPECT_EQ(reader.row(5).session, 1u);
  EXPECT_EQ(sessions[0].at("wrote"), "part-0.h5");
  EXPECT_EQ(sessions[0].at("merged_from"), "part-0.h5");
  EXPECT_EQ(sessions[2].at("wrote"), "part-1.h5 again");
  EXPECT_EQ(sessions[2].at("merged_from"), "part-1.h5");
  EXPECT_TRUE(is_from_part(sessions[2]));
  EXPECT_EQ(merged_parts(sessions[2]), std::nullopt);
  EXPECT_EQ(sessions[3].at("wrote"), "the whole") << "the merge's own session";
  EXPECT_EQ(merged_parts(sessions[3]), 3u);
  EXPECT_FALSE(is_from_part(sessions[3]));
}

TEST_F(Merge, takes_equal_fields_for_equal_even_if_they_are_compressed_otherwise) {
  const auto plan = make_plan(4, {{60, 70}});
  auto results = make_results(plan, 0, 4);
  write_part(part(0), plan, results);
  for (auto& result : results) {  // as another library, or another setting, compresses it
    const auto before = result.field;
    result.field = deflate(shuffle(field_of(plan, result.index).cells), Effort::best);
    result.field_crc32 = crc32_of(result.field);
    ASSERT_NE(result.field, before);
  }
  write_part(part(1), plan, results);
  const auto report = merge_results(file, {part(0), part(1)}, {});
  EXPECT_TRUE(report.written);
  EXPECT_EQ(report.duplicates, 4u);
  expect_contents(file, plan, 4);
}

TEST_F(Merge, writes_nothing_where_one_bit_of_an_answer_differs) {
  const auto plan = make_plan(6, {{6, 7}});
  write_part(part(0), plan, make_results(plan, 0, 6));
  using Change = std::function<void(PlanResult&)>;
  const std::vector<std::pair<const char*, Change>> changes{
      {"status", [](auto& r) { r.status = PlanStatus::max_iterations; }},
      {"mean_temp",
       [](auto& r) { r.statistics.mean_temp = std::nextafter(r.statistics.mean_temp, 0); }},
      {"std_temp", [](auto& r) { r.statistics.std_temp += 1; }},
      {"pct_above_18", [](auto& r) { r.statistics.pct_above_18 += 1; }},
      {"pct_below_15", [](auto& r) { r.statistics.pct_below_15 = -0.0; }},
      {"iterations", [](auto& r) { ++r.iterations; }},
      {"last_delta", [](auto& r) { r.last_delta = std::nextafter(r.last_delta, 1); }},
      {"interior_cells", [](auto& r) { ++r.interior_cells; }},
      {"input_hash", [](auto& r) { r.input_hash ^= 1; }},
      {"field",
       [](auto& r) {
         auto field = make_field(4, {6, 7});
         field(5, 6) = std::nextafter(field(5, 6), 0);
         put_field(r, field);
       }},
  };
  for (const auto& [name, change] : changes) {
    auto other = make_results(plan, 4, 5);
    change(other[0]);
    write_part(part(1), plan, other);
    const auto report = merge_results(file, {part(0), part(1)}, {true, true});
    EXPECT_FALSE(report.written) << name;
    EXPECT_THAT(report.conflicts,
                ElementsAre(StartsWith("plan \"plan 4\" has different answers in " +
                                       part(0).string() + " and " + part(1).string() + ": " + name +
                                       (name == std::string("field")
                                            ? " in 1 cell, the first in row 5, column 6, is "
                                            : " is "))));
    EXPECT_EQ(files_in(directory), 2u);
  }
}

TEST_F(Merge, names_a_room_that_differs) {
  const auto plan = make_plan_with_rooms(7);
  write_part(part(0), plan, make_results(plan, 0, 7));
  auto other = make_result(plan, 6);
  other.rooms[4].max_temp = 1;
  write_part(part(1), plan, {other});
  EXPECT_THAT(merge_results(file, {part(0), part(1)}, {}).conflicts,
              ElementsAre(HasSubstr("max_temp of room 5 is 0.0 in the first, 1.0 in the second")));
}

TEST_F(Merge, does_not_call_it_a_conflict_who_solved_a_plan_nor_another_nan) {
  const auto plan = make_plan(3);
  write_part(part(0), plan, make_results(plan, 0, 3));
  auto others = make_results(plan, 0, 3);
  ASSERT_TRUE(std::isnan(others[0].statistics.pct_above_18));
  others[0].statistics.pct_above_18 = -others[0].statistics.pct_above_18;
  for (auto& other : others) {
    other.rank = 99;
    other.host = "elsewhere";
    other.seconds = 17;
    other.attempts = 3;
    other.input_stamp = 0;
  }
  write_part(part(1), plan, others);
  EXPECT_TRUE(merge_results(file, {part(0), part(1)}, {}).written);
  expect_contents(file, plan, 3);
}

TEST_F(Merge, names_how_a_part_of_another_campaign_differs) {
  const auto plan = make_plan(5);
  write_part(part(0), plan, {});
  const auto refuse = [&](const TestPlan& other) {
    write_part(part(1), other, {});
    auto sentence = refusal([&] { (void)merge_results(file, {part(0), part(1)}, {true}); });
    EXPECT_EQ(files_in(directory), 2u);
    return sentence;
  };
  auto other = plan;
  other.settings["tolerance"] = "0.5";
  EXPECT_THAT(
      refuse(other),
      AllOf(HasSubstr(part(1).string() + " is a part of another campaign than " + part(0).string()),
            HasSubstr("tolerance: it has 0.5, the other 0.0001")));
  EXPECT_THAT(refuse(make_plan(5, {{2, 2}})),
              HasSubstr("fields: it has saved, the other not saved"));
  EXPECT_THAT(refuse(make_plan(7)), HasSubstr("it is for 7 plans, the other for 5"));
  other = plan;
  other.ids = {"plan 0", "plan 1", "plan 3", "plan 2", "plan 4"};
  EXPECT_THAT(refuse(other),
              HasSubstr("its plan number 2 is \"plan 3\", that of the other \"plan 2\""));
}

TEST_F(Merge, prefers_an_answer_to_a_failure_and_the_failure_that_was_tried_more) {
  const auto plan = make_plan(5, {{6, 7}});
  const auto failed = [&](std::size_t i, int failures, int more_attempts = 0) {
    auto result = failure(plan, i, "failed " + std::to_string(failures) + " times");
    result.failures = failures;
    result.attempts = failures + more_attempts;  // stops, in which the plan is not to blame
    return result;
  };
  write_part(part(0), plan,
             {make_result(plan, 0), failed(1, 1), failed(2, 3), failed(3, 1), failed(4, 2)});
  write_part(part(1), plan, {failed(0, 2), make_result(plan, 1), failed(2, 2), failed(4, 1, 4)});
  const auto forward = merge_results(file, {part(0), part(1)}, {});
  const auto backward = merge_results(directory / "b.h5", {part(1), part(0)}, {});
  for (const auto& report : {forward, backward}) {
    EXPECT_TRUE(report.written);
    EXPECT_EQ(report.done, 2u);
    EXPECT_EQ(report.failed, 3u);
    EXPECT_EQ(report.duplicates, 0u);
  }
  for (const auto& merged : {file, directory / "b.h5"}) {
    EXPECT_EQ(right_answers(merged, plan), 2u);
    const ResultReader reader(merged);
    EXPECT_EQ(reader.row(2).failures, 3);
    EXPECT_EQ(reader.row(3).error, "failed 1 times");
    EXPECT_EQ(reader.row(4).failures, 2);
  }
}

TEST_F(Merge, takes_what_a_living_run_has_stored_and_says_so) {
  const auto plan = make_plan(12, {{6, 7}, {20, 20}});
  write_part(part(0), plan, make_results(plan, 0, 5));
  auto living = ResultStore::create(part(1), plan, {}, false);
  living.store(make_results(plan, 5, 9));
  const auto report = merge_results(file, {part(0), part(1)}, {true, false});
  EXPECT_TRUE(report.written);
  EXPECT_THAT(report.missing, ElementsAre("plan 9", "plan 10", "plan 11"));
  EXPECT_THAT(report.warnings, ElementsAre(HasSubstr(part(1).string() + " was not closed")));
  expect_contents(file, plan, 9);
  living.store(make_results(plan, 9, 12));
  living.close({});
  EXPECT_TRUE(merge_results(file, {part(0), part(1)}, {false, true}).written);
  expect_contents(file, plan, 12);
}

TEST_F(Merge, takes_a_plan_with_a_damaged_row_or_field_from_another_part_or_names_it) {
  const auto plan = make_plan(6, {{6, 7}});
  make_closed(plan, 6);
  for (const std::size_t i : {1, 4}) damage_row(plan, i);
  for (const std::size_t i : {2, 5}) damage_field(plan, i);
  std::filesystem::rename(file, part(0));
  write_part(part(1), plan, make_results(plan, 0, 3));
  const auto report = merge_results(file, {part(0), part(1)}, {true, false});
  EXPECT_THAT(report.missing, ElementsAre("plan 4", "plan 5"));
  EXPECT_THAT(report.warnings,
              ElementsAre(part(0).string() + " is damaged: 2 rows were damaged; pending again: "
                                             "\"plan 1\", \"plan 4\"",
                          part(0).string() + " is damaged: 2 fields were damaged; pending again: "
                                             "\"plan 2\", \"plan 5\""));
  expect_contents(file, plan, 4);
}

TEST_F(Merge, refuses_to_write_over_a_part_or_a_file_or_a_living_run) {
  const auto plan = make_plan(4);
  make_two_parts(plan);
  const auto before = read_bytes(part(0));
  const auto overwrite = MergeOptions{false, true};
  EXPECT_THAT(refusal([&] {
                (void)merge_results(part(0), {part(0), part(1)}, overwrite);
              }),
              HasSubstr("is one of the parts"));
  std::filesystem::create_symlink(part(0), directory / "link.h5");
  EXPECT_THAT(refusal([&] {
                (void)merge_results(directory / "link.h5", {part(0), part(1)}, overwrite);
              }),
              HasSubstr("is one of the parts"));
  write_bytes(file, "precious");
  EXPECT_THAT(refusal([&] {
                (void)merge_results(file, {part(0), part(1)}, {});
              }),
              HasSubstr("exists; name another file, or replace it by --overwrite"));
  EXPECT_EQ(read_bytes(file), "precious");
  EXPECT_THAT(refusal([&] {
                (void)merge_results(file, {part(0), part(1)}, overwrite);
              }),
              HasSubstr("is not a result file that wallheat wrote"));
  EXPECT_EQ(read_bytes(file), "precious");
  write_bytes(file, read_bytes(part(1)));
  EXPECT_TRUE(merge_results(file, {part(0), part(1)}, overwrite).written);
  expect_contents(file, plan, 4);
  {
    const auto living = ResultStore::create(directory / "live.h5", plan, {}, false);
    EXPECT_THAT(refusal([&] { (void)merge_results(directory / "live.h5", {part(0)}, overwrite); }),
                HasSubstr("is being written by process"));
  }
  EXPECT_EQ(read_bytes(part(0)), before);
  EXPECT_THAT(refusal([&] {
                (void)merge_results(directory / "x.h5", {part(0), part(7)}, {});
              }),
              HasSubstr("part-7.h5 does not exist"));
}

TEST_F(Merge, keeps_no_file_open_a_part) {
  const auto plan = make_plan_with_rooms(40);
  Paths parts;
  for (std::size_t k = 0; k < 40; ++k) {
    parts.push_back(part(k));
    write_part(parts.back(), plan, {make_result(plan, k)});
  }
  EXPECT_EQ(in_a_process([&] {
              const rlimit few{32, 32};
              ::setrlimit(RLIMIT_NOFILE, &few);
              EXPECT_EQ(merge_results(file, parts, {}).done, 40u);
            }),
            0);
  expect_contents(file, plan, 40);
}

}  // namespace
}  // namespace wallheat::store_test
