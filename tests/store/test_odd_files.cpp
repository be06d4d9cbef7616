#include <sys/resource.h>

#include <array>
#include <functional>

#include "store/hdf5/hdf5_object.hpp"
#include "store/row.hpp"
#include "store_fixture.hpp"
#include "support/odd_hdf5.hpp"
#include "support/process.hpp"
#include "support/shapes.hpp"

// HDF5 files that another program made, or that somebody made to do harm: under the names that
// wallheat looks for there is something else.
namespace wallheat::store_test {
namespace {

namespace fs = std::filesystem;
using odd::Handle;
using odd::make_odd;
using odd::Place;

constexpr std::size_t odd_plan_count = 6;

using OddFile = StoreTest;

const std::vector<Place> places_of_results{{"/rows", nullptr},         {"/rooms", nullptr},
                                           {"/settings", nullptr},     {"/sessions/0", nullptr},
                                           {"/sessions", nullptr},     {"/fields", nullptr},
                                           {"/fields/plan 1", nullptr}};

TEST_F(OddFile, does_not_lead_to_other_files) {
  auto plan = make_plan(odd_plan_count, {{8, 9}});
  plan.settings["rooms_door"] = "auto";
  make_closed(plan, 0, {{"host", "first"}});
  auto store = ResultStore::resume(file, plan, {});
  for (std::size_t i = 0; i < 4; ++i) {
    auto result = make_result(plan, i);
    result.rooms.push_back({.room = 1, .cells = 77});
    store.store(std::span(&result, 1));
  }
  store.close({});
  const auto sound = read_bytes(file);
  const auto other = directory / "other.h5";
  write_bytes(other, sound);
  for (const auto& place : places_of_results) {
    // Other data of a file may be of use where those in its rows are not.
    const bool needs_bytes = place.object != std::string("/settings") && place.object[1] != 's';
    for (const unsigned form : odd::links_to_others) {
      if (!needs_bytes && form != odd::links_to_others[0] && form != odd::links_to_others[3])
        continue;
      EXPECT_EQ(in_a_process([&] {
                  write_bytes(file, sound);
                  make_odd(file, place, form, other);
                  EXPECT_THAT(refusal([&] { (void)ResultReader(file).field(1); }),
                              AnyOf(HasSubstr("cannot open"), HasSubstr("damaged field")));
                }),
                0)
          << place.object << ", form " << form;
    }
  }
}

TEST_F(OddFile, leaves_hdf5_to_its_host_as_it_was) {
  const auto plan = make_plan(1, {{8, 9}});
  make_closed(plan, 1);
  const auto host = run_program({WALLHEAT_HDF5_HOST, file.string(), directory.string()});
  EXPECT_EQ(host.out, "");
  EXPECT_EQ(host.status, 0) << host.err;
  const auto left = store::open_to_read(directory / "left.h5");
  EXPECT_TRUE(store::has_object(left, "/kept"));
}

/// Runs a step that must not take much memory, in a process of its own.
void expect_little_memory(const std::function<void()>& step, long most_kib = 50'000) {
  const int status = in_a_process([&] {
    struct rusage before {
    }, after{};
    ::getrusage(RUSAGE_SELF, &before);
    step();
    ::getrusage(RUSAGE_SELF, &after);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, most_kib) << "KiB";
  });
  EXPECT_EQ(status, 0);
}

TEST_F(OddFile, of_many_plans_takes_little_memory_unless_all_rows_are_asked_for) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer takes memory of its own";
#endif
  const TestPlan plan = make_plan(60'000);
  make_closed(plan, plan.ids.size());
  ASSERT_GT(fs::file_size(file), 45'000'000u);
  expect_little_memory(
      [&] {
        std::size_t solved = 0;
        ResultReader(file).for_each_row(
            [&](const PlanResult& row) { solved += is_answer(row.status) ? 1 : 0; });
        EXPECT_EQ(solved, plan.ids.size());
        const auto store = ResultStore::resume(file, plan, {});
        store.for_each_restored(
            [&](const PlanResult& row) { solved -= is_answer(row.status) ? 1 : 0; });
        EXPECT_EQ(solved, 0u);
      },
      20'000);
}

TEST_F(OddFile, that_changes_while_it_is_read_is_refused) {
  const TestPlan plan = make_plan(3000);
  make_closed(plan, plan.ids.size());
  const ResultReader reader(file);
  damage_row(plan, 2500);
  std::size_t taken = 0;
  EXPECT_THAT(refusal([&] { reader.for_each_row([&](const PlanResult&) { ++taken; }); }),
              HasSubstr("results.h5 changed while it was read"));
  EXPECT_LE(taken, 2500u);
}

}  // namespace
}  // namespace wallheat::store_test
