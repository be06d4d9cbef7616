#include <algorithm>

#include "store/fold.hpp"
#include "store/merge.hpp"
#include "store/repair.hpp"
#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

/// More than a chunk of /rooms has, in all.
std::vector<RoomResult> rooms_of_plan(std::size_t number) {
  std::vector<RoomResult> rooms(1 + number * 31);
  for (std::size_t k = 0; k < rooms.size(); ++k) {
    rooms[k].room = static_cast<std::uint32_t>(k + 1);
    rooms[k].cells = static_cast<std::uint32_t>(1 + k % 7);
    rooms[k].mean_temp = 10 + 0.125 * static_cast<double>(number * k);
    rooms[k].centre_row = 0.5F;
  }
  return rooms;
}

std::size_t number_of(std::string_view id) { return std::stoul(std::string(id.substr(5))); }

TestPlan plan_with_rooms(std::size_t count) {
  TestPlan plan = make_plan(count);
  plan.settings["rooms_door"] = "auto";
  return plan;
}

PlanResult result_with_rooms(const TestPlan& plan, std::size_t i) {
  PlanResult result = make_result(plan, i);
  result.rooms = rooms_of_plan(number_of(plan.ids[i]));
  result.interior_cells = 0;
  for (const RoomResult& room : result.rooms) result.interior_cells += room.cells;
  return result;
}

std::vector<PlanResult> results_with_rooms(const TestPlan& plan, std::size_t begin,
                                           std::size_t end) {
  std::vector<PlanResult> results;
  for (std::size_t i = begin; i < end; ++i) results.push_back(result_with_rooms(plan, i));
  return results;
}

/// The rooms of a row as they were given to the store.
std::vector<RoomResult> rooms_in(const ResultReader& reader, std::size_t i) {
  std::vector<RoomResult> rooms = reader.rooms(i);
  for (RoomResult& room : rooms) {
    EXPECT_EQ(room.plan, i);
    room.plan = room.room_crc32 = 0;
  }
  return rooms;
}

void expect_rooms(const std::filesystem::path& file, const TestPlan& plan,
                  const std::vector<std::size_t>& stored) {
  const ResultReader reader(file);
  EXPECT_TRUE(reader.has_rooms());
  ASSERT_EQ(reader.count(), plan.ids.size());
  for (std::size_t i = 0; i < plan.ids.size(); ++i) {
    const bool has_some = std::find(stored.begin(), stored.end(), i) != stored.end();
    EXPECT_EQ(is_answer(reader.row(i).status), has_some) << i;
    EXPECT_EQ(rooms_in(reader, i),
              has_some ? rooms_of_plan(number_of(plan.ids[i])) : std::vector<RoomResult>())
        << i;
  }
}

class StoredRooms : public StoreTest {
 protected:
  void make_with_rooms(const TestPlan& plan, std::size_t stored) {
    auto store = ResultStore::create(file, plan, {}, false);
    store.store(results_with_rooms(plan, 0, stored));
    store.close({});
  }
  /// Flips a bit in the mean of a room of a closed file.
  void damage_room(std::size_t number, std::size_t room) const {
    std::string all = read_bytes(file);
    const double mean = rooms_of_plan(number)[room].mean_temp;
    const auto key = std::string(reinterpret_cast<const char*>(&mean), sizeof mean);
    const auto at = all.find(key);
    ASSERT_NE(at, std::string::npos);
    all[at] = static_cast<char>(all[at] ^ 1);
    write_bytes(file, all);
  }
};

TEST_F(StoredRooms, go_with_their_plans_where_the_list_of_ids_is_another) {
  make_with_rooms(plan_with_rooms(4), 4);
  auto plan = plan_with_rooms(6);
  plan.ids = {"plan 5", "plan 4", "plan 3", "plan 2", "plan 1", "plan 0"};
  auto store = ResultStore::resume(file, plan, {});
  store.store(results_with_rooms(plan, 0, 1));
  expect_rooms(file, plan, {0, 2, 3, 4, 5});
  store.close({});
  expect_rooms(file, plan, {0, 2, 3, 4, 5});
}

TEST_F(StoredRooms, that_are_damaged_make_their_plan_pending) {
  const auto plan = plan_with_rooms(6);
  make_with_rooms(plan, 6);
  damage_room(3, 77);
  const ResultReader reader(file);
  EXPECT_THAT(refusal([&] { (void)reader.rooms(3); }), HasSubstr("damaged rooms of plan plan 3"));
  EXPECT_THAT(repair_results(file).lost, ElementsAre("plan 3"));
  expect_rooms(file, plan, {0, 1, 2, 4, 5});
  std::vector<std::string> report;
  auto store = ResultStore::resume(file, plan, {}, &report);
  store.store(results_with_rooms(plan, 3, 4));
  store.close({});
  EXPECT_THAT(report, IsEmpty());
  expect_rooms(file, plan, {0, 1, 2, 3, 4, 5});
}

TEST_F(StoredRooms, of_which_one_is_missing_make_their_plan_pending) {
  const auto plan = plan_with_rooms(3);
  auto results = results_with_rooms(plan, 0, 3);
  results[1].rooms.pop_back();
  auto store = ResultStore::create(file, plan, {}, false);
  store.store(results);
  store.close({});
  expect_rooms(file, plan, {0, 2});
}

TEST_F(StoredRooms, in_a_journal_of_other_plans_go_by_the_ids) {
  auto plan = make_plan(4, {{6, 7}});
  plan.settings["rooms_door"] = "auto";
  auto store = ResultStore::create(file, plan, {}, false);
  store.store(results_with_rooms(plan, 0, 3));
  store.close({}, false);
  const auto written = read_bytes(journal);
  auto other = plan;
  other.ids = {"plan 3", "plan 2", "plan 1", "plan 0"};
  (void)store::fold(file, &other.ids);
  write_bytes(directory / "results.h5.wal1", written);  // of a writer that did not see the fold
  for (const bool is_folded : {false, true}) {
    if (is_folded) (void)repair_results(file);
    expect_rooms(file, other, {1, 2, 3});
    EXPECT_EQ(ResultReader(file).field(2), make_field(1, {6, 7}));
  }
}

TEST_F(StoredRooms, are_there_before_the_file_is_whole) {
  const auto plan = plan_with_rooms(5);
  auto store = ResultStore::create(file, plan, {}, false);
  store.store(results_with_rooms(plan, 0, 3));
  expect_rooms(file, plan, {0, 1, 2});
  store.close({}, false);
  expect_rooms(file, plan, {0, 1, 2});
  std::filesystem::remove(journal);
  EXPECT_THAT(
      ResultReader(file).damage(),
      ElementsAre(HasSubstr("3 rows were without the field or rooms that its journal held")));
  expect_rooms(file, plan, {});
}

TEST_F(StoredRooms, are_gathered_by_a_merge_which_names_those_that_differ) {
  const auto plan = plan_with_rooms(7);
  const std::vector<std::filesystem::path> parts{directory / "a.h5", directory / "b.h5"};
  for (std::size_t k = 0; k < 2; ++k) {
    auto store = ResultStore::create(parts[k], plan, {}, false);
    for (std::size_t i = k; i < 7; i += 2) store.store(results_with_rooms(plan, i, i + 1));
    PlanResult twice = result_with_rooms(plan, 6);
    if (k == 1) store.store(std::vector{twice});
    store.close({});
  }
  ASSERT_TRUE(merge_results(file, parts, {}).written);
  expect_rooms(file, plan, {0, 1, 2, 3, 4, 5, 6});

  auto store = ResultStore::resume(parts[1], plan, {});
  PlanResult other = result_with_rooms(plan, 6);
  other.rooms[4].max_temp = 1;
  store.store(std::vector{other});
  store.close({});
  EXPECT_THAT(merge_results(directory / "c.h5", parts, {}).conflicts,
              ElementsAre(HasSubstr("max_temp of room 5 is 0.0 in the first, 1.0 in the second")));
}

TEST_F(StoredRooms, are_a_table_to_h5py) {
  if (!has_h5py()) GTEST_SKIP() << "Debian's python3-h5py is not installed";
  make_with_rooms(plan_with_rooms(6), 6);
  EXPECT_EQ(run_python(R"(
import sys, zlib, h5py
rooms = h5py.File(sys.argv[1])["rooms"][:]
assert len(rooms) == sum(1 + 31 * i for i in range(6))
assert list(rooms["plan"]) == sorted(rooms["plan"])
of_plan = rooms[rooms["plan"] == 5]
assert list(of_plan["room"]) == list(range(1, 157)) and of_plan["mean_temp"][2] == 11.25
assert all(zlib.crc32(room.tobytes()[:-4]) == room["room_crc32"] for room in rooms)
)",
                       file),
            0);
}

}  // namespace
}  // namespace wallheat::store_test
