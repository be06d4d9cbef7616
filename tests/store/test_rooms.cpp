#include "store/fold.hpp"
#include "store/repair.hpp"
#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

using StoredRooms = StoreTest;

TEST_F(StoredRooms, that_are_damaged_make_their_plan_pending) {
  const auto plan = make_plan_with_rooms(6);
  make_closed(plan, 6);
  damage_room(plan, 3, 7);
  const ResultReader reader(file);
  EXPECT_THAT(refusal([&] { (void)reader.rooms(3); }), HasSubstr("damaged rooms of plan plan 3"));
  const auto report = repair_results(file);
  EXPECT_THAT(report.lost, ElementsAre("plan 3"));
  EXPECT_THAT(report.sentences, ElementsAre("1 row was without the rooms that belong to it; "
                                            "pending again: \"plan 3\""));
  EXPECT_EQ(right_answers(file, plan), 5u);
  EXPECT_THAT(resume_with(plan, 3, 4), IsEmpty());
  expect_contents(file, plan, 6);
}

TEST_F(StoredRooms, of_which_one_is_missing_make_their_plan_pending) {
  const auto plan = make_plan_with_rooms(3);
  auto results = make_results(plan, 0, 3);
  results[1].rooms.pop_back();
  auto store = ResultStore::create(file, plan, {}, false);
  store.store(results);
  store.close({});
  EXPECT_EQ(right_answers(file, plan), 2u);
}

TEST_F(StoredRooms, in_a_journal_of_other_plans_go_by_the_ids) {
  const auto plan = make_plan_with_rooms(4, {{6, 7}});
  make_stopped(plan, 3);
  const auto written = read_bytes(journal);
  auto other = plan;
  other.ids = {"plan 3", "plan 2", "plan 1", "plan 0"};
  (void)store::fold(file, &other.ids);
  write_bytes(directory / "results.h5.wal1", written);  // of a writer that did not see the fold
  for (const bool is_folded : {false, true}) {
    if (is_folded) (void)repair_results(file);
    EXPECT_EQ(right_answers(file, other), 3u);
  }
}

TEST_F(StoredRooms, are_a_table_to_h5py) {
  if (!has_h5py()) GTEST_SKIP() << "Debian's python3-h5py is not installed";
  make_closed(make_plan_with_rooms(6), 6);
  EXPECT_EQ(run_python(R"(
import sys, zlib, h5py
rooms = h5py.File(sys.argv[1])["rooms"][:]
assert len(rooms) == sum(1 + 3 * i for i in range(6))
assert list(rooms["plan"]) == sorted(rooms["plan"])
of_plan = rooms[rooms["plan"] == 5]
assert list(of_plan["room"]) == list(range(1, 17)) and of_plan["mean_temp"][2] == 502.5
assert all(zlib.crc32(room.tobytes()[:-4]) == room["room_crc32"] for room in rooms)
)",
                       file),
            0);
}

}  // namespace
}  // namespace wallheat::store_test
