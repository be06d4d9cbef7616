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

/// Sets these variables of a scheduler, and removes all others.
void set_scheduler(const Environment& environment) {
  for (const char* name : {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
                           "SLURM_ARRAY_TASK_COUNT", "SLURM_JOB_END_TIME", "SLURM_JOB_ID",
                           "LSB_JOBID", "LSB_JOBINDEX", "LSB_JOBINDEX_END"})
    ::unsetenv(name);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
}

/// Returns the shard that the variables of a scheduler select: "2/3", "none", or an error message.
std::string shard_in(const Environment& environment) {
  set_scheduler(environment);
  try {
    const auto shard = shard_from_job_array();
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

TEST(ShardFromJobArray, ReturnsPositionAmongSlurmTasks) {
  EXPECT_EQ(shard_in({}), "none");
  EXPECT_EQ(slurm_task(16, 1, 16, 16), "16/16");
  EXPECT_EQ(slurm_task(0, 0, 3, 4), "1/4");
  EXPECT_EQ(slurm_task(4, 3, 4, 2), "2/2") << "--array=3-4";
  EXPECT_EQ(slurm_task(5, 5, 5, 1), "1/1");
  const auto names_task = [](int task) {
    return Mentions({std::to_string(task), "--shard K/N", "--array=1-N"});
  };
  for (const int task : {3, 7, 12})
    EXPECT_THAT(slurm_task(task, 3, 12, 3), names_task(task)) << task;
  EXPECT_THAT(shard_in({{"SLURM_ARRAY_TASK_ID", "3"}}), names_task(3));
  EXPECT_THAT(slurm_task(17, 1, 16, 16), names_task(17));
  EXPECT_THAT(shard_in({{"SLURM_ARRAY_TASK_ID", "two"}}),
              Mentions({"SLURM_ARRAY_TASK_ID=two", "--shard"}));
}

TEST(ShardFromJobArray, RequiresShardOptionInLsfArrays) {
  EXPECT_EQ(lsf_job(0, 0), "none");
  EXPECT_EQ(lsf_job(1, 1), "1/1");
  const auto names_option = Mentions("--shard \"$LSB_JOBINDEX/N\"");
  EXPECT_THAT(lsf_job(3, 4), names_option) << "name[3-4]";
  EXPECT_THAT(lsf_job(9, 16), names_option);
}

TEST(JobDeadline, ReadsTimeLeftOfLsfArrayElement) {
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
    return std::chrono::round<std::chrono::minutes>(job_deadline().value() -
                                                    std::chrono::system_clock::now())
        .count();
  };
  EXPECT_EQ(minutes_left("2"), 239);
  EXPECT_EQ(minutes_left("0"), 12) << "not an array";
  ::setenv("PATH", path.c_str(), 1);
}

TEST(ParseDuration, AcceptsSecondsUnitsOrClockNotation) {
  for (const char* text : {"5400", "90m", "1h30m", "1:30:00", "90:00"})  // as Slurm reads the last
    EXPECT_EQ(parse_duration(text).count(), 5400) << text;
  EXPECT_EQ(parse_duration("0:20").count(), 20);
  for (const char* text : {"1-12:30:00", "1-12:30", "1d12h30m", "36:30:00"})
    EXPECT_EQ(parse_duration(text).count(), (36 * 60 + 30) * 60) << text;
  EXPECT_EQ(parse_duration("2-0").count(), 2 * 86400);
  for (const char* text : {"1:99:99", "1:60:00", "1:00:60", "5:99", "", "1:", "soon", "1-", "1-24",
                           "1-1:60", "1-1:1:60", "1-1h", "-1", "1-1:"})
    EXPECT_THROW((void)parse_duration(text), UsageError) << text;
}

}  // namespace
}  // namespace wallheat
