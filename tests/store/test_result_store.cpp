#include "store/results/field_places.hpp"
#include "store/results/hdf5_file.hpp"
#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

using ResultStoreFile = StoreTest;

const Attributes first_session{{"started", "2026-01-01"}, {"host", "node0"}};

TEST_F(ResultStoreFile, gives_back_every_row_bit_for_bit) {
  const auto plan = make_plan(100);
  auto store = ResultStore::create(file, plan, first_session, false);
  store_all(store, make_results(plan, 0, 60));
  store.close({{"ended", "2026-01-02"}});
  expect_contents(file, plan, 60);
  const ResultReader reader(file);
  EXPECT_EQ(reader.settings(), plan.settings);
  ASSERT_EQ(reader.sessions().size(), 1u);
  EXPECT_EQ(reader.sessions()[0].at("started"), "2026-01-01");
  EXPECT_EQ(reader.sessions()[0].at("ended"), "2026-01-02");
  EXPECT_TRUE(reader.closed_well());
}

TEST_F(ResultStoreFile, tells_other_programs_where_fields_are_once_it_is_closed) {
  const auto plan = make_plan(2101, {{2, 3}});
  auto store = ResultStore::create(file, plan, first_session, false);
  store_all(store, make_results(plan, 0, 2100));
  EXPECT_THROW((void)field_places(file), RunError) << "while it is written";
  store.close({});
  const auto places = field_places(file);
  ASSERT_EQ(places.size(), 2100u) << "of the plans that have one";
  for (const std::size_t row : {0, 1999, 2000, 2099}) {
    EXPECT_EQ(places[row].row, row);
    EXPECT_EQ(places[row].id, plan.ids[row]);
    EXPECT_EQ(places[row].shape, (GridShape{2, 3}));
    EXPECT_EQ(places[row].dataset, row < 2000 ? "/fields/2x3/0" : "/fields/2x3/1");
    EXPECT_EQ(places[row].entry, row % 2000);
    EXPECT_EQ(places[row].entries, row < 2000 ? 2000u : 101u);
  }
}

TEST_F(ResultStoreFile, records_and_returns_a_field_of_an_unforeseen_shape_as_failed) {
  const auto plan = make_plan(3, {{8, 8}});
  auto changed = plan;
  changed.shapes[1] = {9, 8};
  auto store = ResultStore::create(file, plan, first_session, false);
  const auto refused = store.store(make_results(changed, 0, 3));
  store.close({});
  const ResultReader reader(file);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_TRUE(same(refused[0], reader.rows()[1]));
  EXPECT_EQ(reader.rows()[1].status, PlanStatus::failed);
  EXPECT_THAT(reader.rows()[1].error, HasSubstr("9 x 8 was not foreseen"));
  EXPECT_FALSE(reader.field(1).has_value());
  EXPECT_EQ(reader.field(2), make_field(2, {8, 8}));
}

TEST_F(ResultStoreFile, refuses_one_field_that_is_too_large_and_no_other) {
  auto plan = make_plan(3, {{8, 8}});
  plan.shapes[1] = {30000, 30000};
  auto results = make_results(make_plan(3, {{8, 8}}), 0, 3);
  results[1].rows = results[1].cols = 30000;
  auto store = ResultStore::create(file, plan, first_session, false);
  const auto refused = store.store(results);
  store.close({});
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].id, plan.ids[1]);
  EXPECT_THAT(refused[0].error, HasSubstr("30000 x 30000 cells takes more than the 4 GiB"));
  auto resumed = ResultStore::resume(file, plan, {});
  EXPECT_EQ(resumed.restored()[1].status, PlanStatus::failed);
  resumed.close({});
  EXPECT_EQ(ResultReader(file).field(2), make_field(2, {8, 8}));
}

TEST_F(ResultStoreFile, keeps_a_bounded_number_of_shapes_open) {
  std::vector<GridShape> shapes;
  const std::size_t count = store::FieldTables::most_open + 50;
  for (std::size_t i = 0; i < count; ++i) shapes.push_back({1 + i % 50, 1 + i / 50});
  const auto plan = make_plan(count, shapes);
  auto store = ResultStore::create(file, plan, first_session, false);
  store_all(store, make_results(plan, 0, count));
  EXPECT_LE(H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_DATASET),
            static_cast<ssize_t>(store::FieldTables::most_open) + 1);
  store_all(store, make_results(plan, 0, 60, 1));
  store.close({});
  const ResultReader reader(file);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(reader.field(i), make_field(i, shapes[i], i < 60 ? 1 : 0)) << i;
  }
}

TEST_F(ResultStoreFile, restamps_rows_and_keeps_their_fields) {
  for (const bool open : {false, true}) {
    const auto plan = make_plan(5, {{8, 8}, {6, 7}});
    auto store = ResultStore::create(file, plan, first_session, true);
    store_all(store, make_results(plan, 0, 4));
    if (!open) store.close({});
    auto copies = make_results(plan, 1, 3);
    for (auto& copy : copies) copy.input_stamp = 77;
    {
      auto resumed = open ? std::move(store) : ResultStore::resume(file, plan, {});
      resumed.restamp(copies);
      store_all(resumed, make_results(plan, 4, 5));
      resumed.close({});
    }
    const ResultReader reader(file);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_TRUE(same(reader.rows()[i], i == 1 || i == 2 ? copies[i - 1] : make_result(plan, i)));
      EXPECT_EQ(reader.field(i), make_field(i, plan.shapes[i]));
    }
  }
}

TEST_F(ResultStoreFile, makes_room_at_a_resume_for_a_plan_that_changed_its_shape) {
  const auto plan = make_plan(3, {{8, 8}});
  make_closed(plan, 3);
  auto changed = plan;
  changed.shapes[1] = {9, 8};
  resume_with(changed, 1, 2);
  expect_contents(file, changed, 3);
}

TEST_F(ResultStoreFile, cuts_long_texts_between_characters) {
  const auto plan = make_plan(1);
  auto result = make_result(plan, 0);
  result.status = PlanStatus::failed;
  result.error.clear();
  for (int i = 0; i < 100; ++i) result.error += "\u00e9\u20ac";  // two and three bytes
  auto store = ResultStore::create(file, plan, first_session, false);
  store_all(store, std::vector{result});
  store.close({});
  const auto error = ResultReader(file).rows()[0].error;
  EXPECT_EQ(error.size(), 257u);  // 51 pairs and "é"; "€" would end at 260
  EXPECT_EQ(error, result.error.substr(0, 257));
  result.error = "x" + result.error;
  EXPECT_EQ(store::get_text(store::to_row(result).error).size(), 258u);
}

TEST_F(ResultStoreFile, keeps_long_odd_and_empty_attributes) {
  auto plan = make_plan(1);
  plan.settings["empty"] = "";
  plan.settings["a/b \u20ac"] = "line one\nline two";
  plan.settings["long"] = std::string(100'000, 'x');
  for (int i = 0; i < 40; ++i) plan.settings["number " + std::to_string(i)] = std::to_string(i);
  ResultStore::create(file, plan, plan.settings, false).close({});
  EXPECT_EQ(ResultReader(file).settings(), plan.settings);
  EXPECT_EQ(ResultReader(file).sessions()[0], plan.settings);
  EXPECT_EQ(refusal([&] { ResultStore::resume(file, plan, {}).close({}); }), "(accepted)");
}

TEST_F(ResultStoreFile, holds_no_plans_at_all) {
  const auto plan = make_plan(0);
  ResultStore::create(file, plan, first_session, false).close({});
  expect_contents(file, plan, 0);
  ResultStore::resume(file, plan, {}).close({});
}

TEST_F(ResultStoreFile, refuses_to_replace_a_file_unless_told) {
  const auto plan = make_plan(2);
  ResultStore::create(file, plan, first_session, false).close({});
  const auto before = read_bytes(file);
  EXPECT_THAT(refusal([&] { (void)ResultStore::create(file, plan, {}, false); }),
              HasSubstr("exists; go on with it by --resume, or replace it by --overwrite"));
  EXPECT_EQ(read_bytes(file), before);
  EXPECT_EQ(files_in(directory), 1u);
  ResultStore::create(file, make_plan(3), first_session, true).close({});
  EXPECT_EQ(ResultReader(file).rows().size(), 3u);
}

TEST_F(ResultStoreFile, refuses_a_missing_directory_and_bad_ids) {
  const auto plan = make_plan(2);
  EXPECT_THAT(
      refusal([&] { (void)ResultStore::create(directory / "no" / "r.h5", plan, {}, false); }),
      HasSubstr("there is no directory"));
  EXPECT_THAT(refusal([&] { (void)ResultStore::create(directory, plan, {}, true); }),
              HasSubstr("not a regular file"));
  auto twice = plan;
  twice.ids = {plan.ids[0], plan.ids[0]};
  EXPECT_THAT(refusal([&] { (void)ResultStore::create(file, twice, {}, false); }),
              HasSubstr("named twice"));
  auto longest = plan;
  longest.ids = {plan.ids[0], std::string(128, 'x')};
  EXPECT_THAT(refusal([&] { (void)ResultStore::create(file, longest, {}, false); }),
              HasSubstr("longer than 127"));
  longest.ids = {plan.ids[0], std::string(127, 'x')};
  ResultStore::create(file, longest, {}, false).close({});
  EXPECT_EQ(ResultReader(file).rows()[1].id, longest.ids[1]);
}

TEST_F(ResultStoreFile, refuses_a_result_of_a_plan_that_it_does_not_hold) {
  const auto plan = make_plan(2);
  auto store = ResultStore::create(file, plan, {}, false);
  auto stranger = make_result(plan, 1);
  stranger.id = "somebody else";
  EXPECT_THAT(refusal([&] { store_all(store, std::vector{stranger}); }), HasSubstr("has no row 1"));
  store_all(store, make_results(plan, 0, 2));
  store.close({});
  expect_contents(file, plan, 2);
}

TEST(ResultReader, refuses_what_is_no_result_file) {
  EXPECT_THAT(refusal([] { ResultReader("/nonexistent/r.h5"); }), HasSubstr("does not exist"));
  EXPECT_THAT(refusal([] { ResultReader("/proc/self/status"); }), HasSubstr("is not an HDF5 file"));
}

}  // namespace
}  // namespace wallheat::store_test
