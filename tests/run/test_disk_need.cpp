#include <gmock/gmock.h>

#include "run/disk_need.hpp"
#include "support/temporary_directory.hpp"

namespace wallheat {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(DiskNeed, grows_with_plans_rooms_and_fields) {
  JobSettings job;
  const double rows = disk_need(job, 1000, 1e6).usual();
  EXPECT_GT(rows, 1000 * 800.0);
  EXPECT_EQ(disk_need(job, 2000, 1e6).usual(), 2 * rows) << "cells alone take nothing";
  job.solver.door.emplace();
  const double with_rooms = disk_need(job, 1000, 1e6).usual();
  EXPECT_GT(with_rooms, rows);
  job.save_fields = true;
  EXPECT_EQ(disk_need(job, 1000, 1e6).fields, 2 * 8e6) << "in a journal, and in the file";
  EXPECT_GT(disk_need(job, 1000, 1e6).usual(), with_rooms);
}

TEST(DiskNeed, is_told_if_there_is_no_room) {
  const DiskNeed need{1e9, 4e9};
  EXPECT_THAT(lack_of_disk(need, {"/scratch", 2.1e9}), IsEmpty());
  EXPECT_THAT(lack_of_disk(need, {"/scratch", 1.9e9}),
              AllOf(HasSubstr("/scratch has room for 1.9 GB only"),
                    HasSubstr("the results need about 2 GB: make room")));
}

TEST(DiskNeed, is_compared_with_what_is_free_where_the_file_will_be) {
  const TemporaryDirectory directory;
  const auto free = free_disk(directory / "results.h5");
  ASSERT_TRUE(free);
  EXPECT_EQ(free->folder, std::filesystem::canonical(directory.path()));
  EXPECT_GT(free->bytes, 0);
  EXPECT_FALSE(free_disk(directory / "missing" / "results.h5"));
}

}  // namespace
}  // namespace wallheat
