#include "store/result_file_names.hpp"
#include "store/snapshot.hpp"
#include "store_fixture.hpp"

// Closed files with damage or with leftovers of other processes, and their repair.
namespace wallheat::store_test {
namespace {

using RepairTest = StoreTest;
using StoredRoomsTest = StoreTest;

TEST_F(RepairTest, RemovesLeftoversNextToCompactedFile) {
  const auto plan = make_plan(5);
  make_stopped(plan, 4);
  const auto folded = read_bytes(journal);
  resume_with(plan, 4, 5);
  const auto before = read_bytes(file);
  write_bytes(journal.string() + ".fold", folded);
  write_bytes(lock, "host elsewhere\npid 1\n");
  write_bytes(new_temporary_path(file), "half");
  write_bytes(directory / "results.h5.walrus", "unrelated");
  const auto report = repair_results(file);
  EXPECT_TRUE(report.changed);
  EXPECT_EQ(report.done, 5u);
  EXPECT_EQ(files_in(directory), 2u);
  EXPECT_EQ(read_bytes(file), before);
}

TEST_F(RepairTest, NamesPlansWithDamagedRowsFieldsOrRooms) {
  const auto plan = make_plan_with_rooms(12, {{6, 7}, {9, 9}});
  make_closed(plan, 11);
  damage_row(plan, 3);
  damage_field(plan, 7);
  damage_room(plan, 8, 2);
  EXPECT_THAT(error_message([&] { (void)ResultReader(file).rooms(8); }),
              Mentions({file.string(), "rooms", "plan 8"}));
  const auto report = repair_results(file);
  EXPECT_TRUE(report.changed);
  EXPECT_THAT(report.messages,
              ElementsAre(Mentions({"1", "row", "plan 3"}), Mentions({"1", "rooms", "plan 8"}),
                          Mentions({"1", "field", "plan 7"})));
  EXPECT_THAT(report.lost, ElementsAre("plan 3", "plan 7", "plan 8"));
  EXPECT_EQ(report.done, 8u);
  EXPECT_EQ(report.pending, 4u);
  EXPECT_FALSE(repair_results(file).changed);
  EXPECT_THAT(resume_with(plan, 3, 9), IsEmpty());
  expect_contents(file, plan, 11);
}

TEST_F(RepairTest, FindsDamageWhenOnlyLastFieldIsDamaged) {
  const auto plan = make_plan(4, {{6, 7}});
  make_closed(plan, 4);
  damage_field(plan, 3);
  EXPECT_THAT(repair_results(file).lost, ElementsAre("plan 3"));
}

TEST_F(RepairTest, LosesOnlyPlanWithDamagedId) {
  const auto plan = make_plan(5);
  make_closed(plan, 5);
  damage_row(plan, 3, 8 + 5);  // "plan 3" becomes "plan 2"
  EXPECT_EQ(repair_results(file).done, 4u);
  EXPECT_THAT(resume_with(plan, 3, 4), IsEmpty());
  expect_contents(file, plan, 5);
}

TEST_F(StoredRoomsTest, MarksPlanPendingWhenOneRoomIsMissing) {
  const auto plan = make_plan_with_rooms(3);
  auto results = make_results(plan, 0, 3);
  results[1].rooms.pop_back();
  ResultStore store({file, OpenMode::create}, plan, {});
  store.store(results);
  store.close({});
  EXPECT_EQ(count_correct_results(file, plan), 2u);
}

TEST_F(StoredRoomsTest, MatchesPlansByIdAfterReordering) {
  const auto plan = make_plan_with_rooms(4, {{6, 7}});
  make_stopped(plan, 3);
  const auto written = read_bytes(journal);
  auto other = plan;
  other.ids = {"plan 3", "plan 2", "plan 1", "plan 0"};
  (void)store::compact(file, &other.ids);
  write_bytes(directory / "results.h5.wal1", written);  // its writer missed the compaction
  EXPECT_EQ(count_correct_results(file, other), 3u);
  (void)repair_results(file);
  EXPECT_EQ(count_correct_results(file, other), 3u);
}

TEST(FieldCodec, RejectsDamagedBytesOrWrongShapes) {
  const auto chunk = compress_field(make_field(3, {16, 16}));
  EXPECT_LT(chunk.size(), 16u * 16 * 8 * 9 / 10) << "a smooth field becomes smaller";
  const auto broken = [&](std::vector<std::byte> bytes, GridShape shape) {
    return error_message([&] { (void)decompress_field(bytes, shape); });
  };
  for (const GridShape shape :
       {GridShape{16, 17}, {16, 15}, {0, 16}, {1ULL << 62, 16}, {1ULL << 32, 1ULL << 32}})
    EXPECT_THAT(broken(chunk, shape), Mentions({"field", "damaged"}));
  for (std::size_t size = 0; size < chunk.size(); size += 7)
    EXPECT_THAT(broken({chunk.begin(), chunk.begin() + static_cast<long>(size)}, {16, 16}),
                Mentions({"field", "damaged"}));
}

}  // namespace
}  // namespace wallheat::store_test
