#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <set>
#include <utility>

#include "plans/plan_source.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/shapes.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

class PlanDirectory : public testing::Test {
 protected:
  void add(const std::string& file, const std::string& content = "") {
    std::ofstream(directory_ / file) << content;
  }
  SharedPlanSource source() { return directory_source(directory_.path()); }
  PlanIds ids() { return source()->ids(); }
  TemporaryDirectory directory_;
};

TEST_F(PlanDirectory, without_a_list_of_its_plans_has_all_of_them_in_natural_order) {
  for (const char* id : {"house 10", "10", "9", "010", "house 9", "a"}) {
    add(std::string(id) + "_domain.npy");
    add(std::string(id) + "_interior.npy");
  }
  add("_domain.npy");
  add("notes.txt");
  const PlanIds plans = ids();
  EXPECT_THAT(plans.ids, ElementsAre("9", "010", "10", "a", "house 9", "house 10"));
  EXPECT_THAT(plans.note, AllOf(HasSubstr("no building_ids.txt"), HasSubstr("6 *_domain.npy")));
  add("building_ids.txt", "10\n");
  EXPECT_THAT(ids().ids, ElementsAre("10"));
  EXPECT_EQ(ids().note, "");
}

TEST_F(PlanDirectory, must_hold_a_list_or_a_plan) {
  EXPECT_THAT(error_message_of<RunError>([&] { (void)ids(); }),
              AllOf(HasSubstr(directory_.path().string()),
                    HasSubstr("neither building_ids.txt nor a floor plan")));
  add("1_domain.npy");
  std::filesystem::create_symlink("nowhere", directory_ / "building_ids.txt");
  EXPECT_THROW((void)ids(), RunError) << "a list that cannot be read is no list that is not there";
}

TEST_F(PlanDirectory, gives_a_mask_of_so_many_cells_and_no_larger_one) {
  save_floor_plan(directory_.path(), "7", room(20, 30));
  EXPECT_EQ(source()->interior("7", 600), room(20, 30).interior);
  EXPECT_THAT(error_message_of<InputError>([&] { (void)source()->interior("7", 599); }),
              HasSubstr("7_interior.npy: has more than 599 cells"));
  add("8_interior.npy");
  std::filesystem::resize_file(directory_ / "8_interior.npy", std::uintmax_t{1} << 40);
  EXPECT_THAT(error_message_of<InputError>([&] { (void)source()->interior("8", 599); }),
              HasSubstr("8_interior.npy: has more than 599 cells"));
}

TEST_F(PlanDirectory, shows_every_change_in_a_plans_stamp) {
  save_floor_plan(directory_.path(), "7", room(20, 30));
  std::set<std::uint64_t> stamps{source()->stamp("7")};
  const auto expect_another = [&](const char* what) {
    const std::uint64_t stamp = source()->stamp("7");
    EXPECT_TRUE(stamps.insert(stamp).second) << what;
    EXPECT_EQ(source()->stamp("7"), stamp);
  };
  std::ofstream(directory_ / "7_interior.npy", std::ios::app) << "x";
  expect_another("longer");
  std::filesystem::last_write_time(directory_ / "7_domain.npy", {});
  expect_another("older");
  EXPECT_FALSE(source()->has_source("7"));
  add("7_source.npy");
  EXPECT_TRUE(source()->has_source("7"));
  expect_another("with a source");
  const auto written = std::filesystem::last_write_time(directory_ / "7_source.npy");
  std::filesystem::last_write_time(directory_ / "7_source.npy",
                                   written - std::chrono::nanoseconds(1));
  expect_another("written again within a second");
  std::filesystem::remove(directory_ / "7_interior.npy");
  EXPECT_THROW((void)source()->stamp("7"), InputError);
  EXPECT_THROW((void)source()->stamp("a/b"), InputError);
}

TEST(PlanHash, depends_on_shape_values_and_mask_alone) {
  const FloorPlan plan = room(12, 18);
  EXPECT_EQ(plan_hash(plan), plan_hash(room(12, 18)));
  std::vector<FloorPlan> others(4, plan);
  std::swap(others[0].domain.rows, others[0].domain.cols);  // the same values in another shape
  others[1].domain(0, 0) += 1;
  others[2].interior(0, 0) = 1;
  others[3].source = Grid<double>(12, 18);
  for (const FloorPlan& other : others) EXPECT_NE(plan_hash(other), plan_hash(plan));
}

}  // namespace
}  // namespace wallheat
