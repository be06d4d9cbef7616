#include <stdlib.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "run/batch_job.hpp"
#include "support/matchers.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// No other variables of schedulers are set.
void set_scheduler(const Environment& environment) {
  for (const char* name : {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
                           "SLURM_ARRAY_TASK_COUNT", "SLURM_JOB_END_TIME", "SLURM_JOB_ID",
                           "LSB_JOBID", "LSB_JOBINDEX", "LSB_JOBINDEX_END"})
    ::unsetenv(name);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
}

/// What a task makes of a scheduler's variables: "2/3", "none", or what it refuses with.
std::string shard_in(const Environment& environment) {
  set_scheduler(environment);
  try {
    const auto shard = shard_of_array_task();
    return shard ? shard->text() : "none";
  } catch (const UsageError& error) {
    return error.what();
  }
}

std::string slurm_task(int task, int first, int last, int count) {
  return shard_in({{"SLURM_ARRAY_TASK_ID", std::to_string(task)},
                   {"SLURM_ARRAY_TASK_MIN", std::to_string(first)},
                   {"SLURM_ARRAY_TASK_MAX", std::to_string(last)},
                   {"SLURM_ARRAY_TASK_COUNT", std::to_string(count)}});
}

std::string lsf_job(int index, int last) {
  return shard_in(
      {{"LSB_JOBINDEX", std::to_string(index)}, {"LSB_JOBINDEX_END", std::to_string(last)}});
}

TEST(ShardOfArrayTask, is_the_place_among_the_tasks_that_slurm_has) {
  EXPECT_EQ(shard_in({}), "none");
  EXPECT_EQ(slurm_task(16, 1, 16, 16), "16/16");
  EXPECT_EQ(slurm_task(0, 0, 3, 4), "1/4");
  EXPECT_EQ(slurm_task(4, 3, 4, 2), "2/2") << "--array=3-4";
  EXPECT_EQ(slurm_task(5, 5, 5, 1), "1/1");
  const auto refused = AllOf(HasSubstr("--shard K/N"), HasSubstr("--array=1-N"));
  for (const int task : {3, 7, 12}) EXPECT_THAT(slurm_task(task, 3, 12, 3), refused) << task;
  EXPECT_THAT(shard_in({{"SLURM_ARRAY_TASK_ID", "3"}}), refused);
  EXPECT_THAT(slurm_task(17, 1, 16, 16), refused);
  EXPECT_THAT(shard_in({{"SLURM_ARRAY_TASK_ID", "two"}}),
              AllOf(HasSubstr("SLURM_ARRAY_TASK_ID=two"), HasSubstr("--shard")));
}

TEST(ShardOfArrayTask, is_refused_in_lsf_which_does_not_tell_the_first_index) {
  EXPECT_EQ(lsf_job(0, 0), "none");
  EXPECT_EQ(lsf_job(1, 1), "1/1");
  const auto refused = HasSubstr("--shard \"$LSB_JOBINDEX/N\"");
  EXPECT_THAT(lsf_job(3, 4), refused) << "name[3-4]";
  EXPECT_THAT(lsf_job(9, 16), refused);
}

TEST(ScheduledEnd, is_that_of_this_element_of_an_lsf_array) {
  const TemporaryDirectory directory;
  const std::filesystem::path bjobs = directory / "bjobs";
  std::ofstream(bjobs) << "#!/bin/sh\n"
                          "case $* in\n"
                          "  '-noheader -o time_left 7[2]') echo '3:59 L' ;;\n"
                          "  '-noheader -o time_left 7') echo '0:12 L'; echo '3:59 L' ;;\n"
                          "esac\n";
  std::filesystem::permissions(bjobs, std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (directory.path().string() + ":" + path).c_str(), 1);
  const auto minutes_left = [](const char* index) {
    set_scheduler({{"LSB_JOBID", "7"}, {"LSB_JOBINDEX", index}});
    return std::chrono::round<std::chrono::minutes>(scheduled_end().value() -
                                                    std::chrono::system_clock::now())
        .count();
  };
  EXPECT_EQ(minutes_left("2"), 239);
  EXPECT_EQ(minutes_left("0"), 12) << "no array";
  ::setenv("PATH", path.c_str(), 1);
}

TEST(Duration, is_read_in_seconds_units_or_as_a_clock_shows_it) {
  for (const char* text : {"5400", "90m", "1h30m", "1:30:00", "90:00"})  // as Slurm reads the last
    EXPECT_EQ(parse_duration(text).count(), 5400) << text;
  EXPECT_EQ(parse_duration("0:20").count(), 20);
  for (const char* text : {"1:99:99", "1:60:00", "1:00:60", "5:99", "", "1:", "soon"})
    EXPECT_THROW((void)parse_duration(text), UsageError) << text;
}

}  // namespace
}  // namespace wallheat
