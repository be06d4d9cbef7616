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

class DirectorySourceTest : public testing::Test {
 protected:
  void add(const std::string& file, const std::string& content = "") {
    std::ofstream(directory_ / file) << content;
  }
  SharedPlanSource source() { return directory_source(directory_.path()); }
  PlanIds ids() { return source()->ids(); }
  TemporaryDirectory directory_;
};

TEST_F(DirectorySourceTest, ListsPlansInNaturalOrderWithoutIdFile) {
  for (const char* id : {"house 10", "10", "9", "010", "house 9", "a"}) {
    add(std::string(id) + "_domain.npy");
    add(std::string(id) + "_interior.npy");
  }
  add("_domain.npy");
  add("notes.txt");
  const PlanIds plans = ids();
  EXPECT_THAT(plans.ids, ElementsAre("9", "010", "10", "a", "house 9", "house 10"));
  EXPECT_THAT(plans.origin_note, Mentions({"building_ids.txt", "6 *_domain.npy"}));
  add("building_ids.txt", "10\n");
  EXPECT_THAT(ids().ids, ElementsAre("10"));
  EXPECT_EQ(ids().origin_note, "");
}

TEST_F(DirectorySourceTest, IgnoresFilesThatOtherSystemsAdd) {
  save_floor_plan(directory_.path(), "7", room(20, 30));
  for (const char* file : {"._7_domain.npy", "._7_interior.npy", ".DS_Store", "Thumbs.db",
                           "desktop.ini", "7_domain.npy:Zone.Identifier"})
    add(file);
  std::filesystem::create_directory(directory_ / "__MACOSX");
  EXPECT_THAT(ids().ids, ElementsAre("7"));
  std::filesystem::rename(directory_ / "7_domain.npy", directory_ / ".7_domain.npy");
  std::filesystem::rename(directory_ / "7_interior.npy", directory_ / ".7_interior.npy");
  EXPECT_THROW((void)ids(), RunError);
  add("building_ids.txt", ".7\n");
  EXPECT_THAT(ids().ids, ElementsAre(".7"));
  EXPECT_EQ(source()->load(".7").domain, room(20, 30).domain) << "a list may name any plan";
}

TEST_F(DirectorySourceTest, RejectsDirectoryWithoutPlans) {
  EXPECT_THAT(error_message_of<RunError>([&] { (void)ids(); }),
              Mentions({directory_.path().string(), "building_ids.txt", "floor plan"}));
  add("1_domain.npy");
  std::filesystem::create_symlink("nowhere", directory_ / "building_ids.txt");
  EXPECT_THROW((void)ids(), RunError) << "an unreadable ID file is not a missing one";
}

TEST_F(DirectorySourceTest, RejectsMaskAboveCellLimit) {
  save_floor_plan(directory_.path(), "7", room(20, 30));
  EXPECT_EQ(source()->interior("7", 600), room(20, 30).interior);
  EXPECT_THAT(error_message_of<InputError>([&] { (void)source()->interior("7", 599); }),
              Mentions({"7_interior.npy", "599 cells"}));
  add("8_interior.npy");
  std::filesystem::resize_file(directory_ / "8_interior.npy", std::uintmax_t{1} << 40);
  EXPECT_THAT(error_message_of<InputError>([&] { (void)source()->interior("8", 599); }),
              Mentions({"8_interior.npy", "599 cells"}));
}

TEST_F(DirectorySourceTest, ChangesStampWhenAnyFileChanges) {
  save_floor_plan(directory_.path(), "7", room(20, 30));
  std::set<std::uint64_t> stamps{source()->stamp("7")};
  const auto expect_new_stamp = [&](const char* change) {
    const std::uint64_t stamp = source()->stamp("7");
    EXPECT_TRUE(stamps.insert(stamp).second) << change;
    EXPECT_EQ(source()->stamp("7"), stamp);
  };
  std::ofstream(directory_ / "7_interior.npy", std::ios::app) << "x";
  expect_new_stamp("longer");
  std::filesystem::last_write_time(directory_ / "7_domain.npy", {});
  expect_new_stamp("older");
  EXPECT_FALSE(source()->has_source("7"));
  add("7_source.npy");
  EXPECT_TRUE(source()->has_source("7"));
  expect_new_stamp("with a heat source");
  const auto written = std::filesystem::last_write_time(directory_ / "7_source.npy");
  std::filesystem::last_write_time(directory_ / "7_source.npy",
                                   written - std::chrono::nanoseconds(1));
  expect_new_stamp("written again within a second");
  std::filesystem::remove(directory_ / "7_interior.npy");
  EXPECT_THROW((void)source()->stamp("7"), InputError);
  EXPECT_THROW((void)source()->stamp("a/b"), InputError);
}

TEST(PlanHash, DependsOnContentOnly) {
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
