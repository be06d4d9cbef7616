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

/// Runs in an environment that has only the variables of a scheduler that the test sets, and with
/// stand-ins for the commands of schedulers.
class BatchJobTest : public testing::Test {
 protected:
  ~BatchJobTest() override {
    set_scheduler({});
    ::setenv("PATH", path_.c_str(), 1);
  }

  /// Sets these variables of a scheduler, and removes all others.
  static void set_scheduler(const Environment& environment) {
    for (const char* name : {"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN",
                             "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_COUNT", "SLURM_JOB_END_TIME",
                             "SLURM_JOB_ID", "SLURM_TIME_FORMAT", "LSB_JOBID", "LSB_JOBINDEX",
                             "LSB_JOBINDEX_END", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
      ::unsetenv(name);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  }
  /// Replaces a command of a scheduler by a shell script.
  void install(const std::string& name, const std::string& script) const {
    const std::filesystem::path file = directory_ / name;
    std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    ::setenv("PATH", (directory_.path().string() + ":" + path_).c_str(), 1);
  }
  /// Makes sure that no command of a scheduler is found.
  static void hide_commands() { ::setenv("PATH", "/nonexistent", 1); }

  const TemporaryDirectory directory_;

 private:
  const std::string path_ = std::getenv("PATH");
};

class BatchJobShardTest : public BatchJobTest {
 protected:
  /// Returns the shard that the variables of a scheduler select: "2/3", "none", or an error
  /// message. Sets warnings_.
  std::string shard_in(const Environment& environment) {
    set_scheduler(environment);
    BatchJob job;
    try {
      const auto shard = job.shard();
      warnings_ = job.warnings();
      return shard ? shard->text() : "none";
    } catch (const UsageError& error) {
      return error.what();
    }
  }
  static Environment slurm_task(int task, int first, int last, int count) {
    return {{"SLURM_ARRAY_TASK_ID", std::to_string(task)},
            {"SLURM_ARRAY_TASK_MIN", std::to_string(first)},
            {"SLURM_ARRAY_TASK_MAX", std::to_string(last)},
            {"SLURM_ARRAY_TASK_COUNT", std::to_string(count)}};
  }
  /// Task 2 of the array 1-3 with the ID 20.
  static Environment task_of_array_20(const std::string& job) {
    Environment environment = slurm_task(2, 1, 3, 3);
    environment.insert(environment.end(), {{"SLURM_ARRAY_JOB_ID", "20"}, {"SLURM_JOB_ID", job}});
    return environment;
  }

  std::vector<std::string> warnings_;
};

TEST_F(BatchJobShardTest, IsPositionAmongSlurmTasks) {
  const auto shard = [this](int task, int first, int last, int count) {
    return shard_in(slurm_task(task, first, last, count));
  };
  EXPECT_EQ(shard_in({}), "none");
  EXPECT_EQ(shard(16, 1, 16, 16), "16/16");
  EXPECT_EQ(shard(0, 0, 3, 4), "1/4");
  EXPECT_EQ(shard(4, 3, 4, 2), "2/2") << "--array=3-4";
  EXPECT_EQ(shard(5, 5, 5, 1), "1/1");
  const auto names_task = [](int task) {
    return Mentions({std::to_string(task), "--shard K/N", "--array=1-N"});
  };
  for (const int task : {3, 7, 12}) EXPECT_THAT(shard(task, 3, 12, 3), names_task(task)) << task;
  EXPECT_THAT(shard_in({{"SLURM_ARRAY_TASK_ID", "3"}}), names_task(3));
  EXPECT_THAT(shard(17, 1, 16, 16), names_task(17));
  EXPECT_THAT(shard_in({{"SLURM_ARRAY_TASK_ID", "two"}}),
              Mentions({"SLURM_ARRAY_TASK_ID=two", "--shard"}));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(BatchJobShardTest, RequiresShardOptionInLsfArrays) {
  const auto shard = [this](int index, int last) {
    return shard_in(
        {{"LSB_JOBINDEX", std::to_string(index)}, {"LSB_JOBINDEX_END", std::to_string(last)}});
  };
  EXPECT_EQ(shard(0, 0), "none");
  EXPECT_EQ(shard(0, 4), "none") << "submitted by an element of an array";
  EXPECT_EQ(shard(1, 1), "1/1");
  const auto names_option = Mentions("--shard \"$LSB_JOBINDEX/N\"");
  EXPECT_THAT(shard(3, 4), names_option) << "name[3-4]";
  EXPECT_THAT(shard(9, 16), names_option);
}

TEST_F(BatchJobShardTest, IgnoresVariablesInheritedFromArrayTask) {
  install("scontrol",
          "echo 'JobId=22 JobName=a ArrayJobId=20 ArrayTaskId=2 RunTime=1'; "
          "echo 'JobId=30 JobName=b RunTime=1'; "
          "echo 'JobId=40 ArrayJobId=20 ArrayTaskId=3 JobName=c'");
  EXPECT_EQ(shard_in(task_of_array_20("22")), "2/3");
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_EQ(shard_in(task_of_array_20("30")), "none");
  EXPECT_THAT(warnings_, ElementsAre(Mentions({"SLURM_ARRAY_TASK_ID=2", "job 30", "20"})));
  EXPECT_EQ(shard_in(task_of_array_20("40")), "none");
  Environment gap = task_of_array_20("30");
  gap[3].second = "2";  // two tasks from 1 to 3
  EXPECT_EQ(shard_in(gap), "none");
  gap.back().second = "22";
  EXPECT_THAT(shard_in(gap), Mentions("--shard K/N"));
  // Slurm sets the ID of an array together with those of its tasks.
  Environment incomplete = slurm_task(2, 1, 3, 3);
  incomplete.emplace_back("SLURM_JOB_ID", "22");
  EXPECT_EQ(shard_in(incomplete), "none");
  EXPECT_THAT(warnings_, ElementsAre(Mentions({"SLURM_ARRAY_JOB_ID", "job 22"})));
}

TEST_F(BatchJobShardTest, KeepsShardWithWarningWhenSlurmDoesNotAnswer) {
  const auto expect_warning = [&](const std::string& reason) {
    EXPECT_EQ(shard_in(task_of_array_20("22")), "2/3");
    EXPECT_THAT(warnings_, ElementsAre(Mentions({"job 22", "20", reason, "--shard none"})));
  };
  install("scontrol", "echo 'error: no controller' >&2; exit 1");
  expect_warning("error: no controller");
  install("scontrol", "sleep 600");
  expect_warning("5 s");
  hide_commands();
  expect_warning("scontrol: not found");
  EXPECT_EQ(shard_in(task_of_array_20("20")), "2/3");
  EXPECT_THAT(warnings_, IsEmpty()) << "the last task has the ID of the array";
}

TEST_F(BatchJobShardTest, IsProvedByRank0Only) {
  install("scontrol", "touch '" + (directory_ / "asked").string() + "'");
  Environment worker = task_of_array_20("22");
  worker.emplace_back("OMPI_COMM_WORLD_RANK", "1");
  EXPECT_EQ(shard_in(worker), "2/3");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "asked"));
}

class BatchJobEndTest : public BatchJobTest {
 protected:
  /// Returns the minutes until the end of the job, rounded; -1 if it has no end. Sets warnings_.
  long minutes_left(const Environment& environment) {
    set_scheduler(environment);
    BatchJob job;
    const auto end = job.end();
    warnings_ = job.warnings();
    if (!end) return -1;
    return std::chrono::round<std::chrono::minutes>(*end - std::chrono::system_clock::now())
        .count();
  }

  std::vector<std::string> warnings_;
};

TEST_F(BatchJobEndTest, IsTimeLeftOfLsfArrayElement) {
  install("bjobs",
          "case $* in\n"
          "  '-noheader -o time_left 7[2]') echo '3:59 L' ;;\n"
          "  '-noheader -o time_left 7') echo '0:12 L'; echo '3:59 L' ;;\n"
          "  *) echo '-' ;;\n"
          "esac");
  EXPECT_EQ(minutes_left({{"LSB_JOBID", "7"}, {"LSB_JOBINDEX", "2"}}), 239);
  EXPECT_EQ(minutes_left({{"LSB_JOBID", "7"}, {"LSB_JOBINDEX", "0"}}), 12) << "not an array";
  EXPECT_EQ(minutes_left({{"LSB_JOBID", "8"}}), -1);
  EXPECT_THAT(warnings_, IsEmpty()) << "a job without a run limit";
}

// Slurm before 22.05.9 sets no SLURM_JOB_END_TIME.
TEST_F(BatchJobEndTest, IsReadInAnyTimeFormatOfUser) {
  install("scontrol",
          "case ${SLURM_TIME_FORMAT:-standard} in standard) f=%Y-%m-%dT%H:%M:%S ;; "
          "relative) f=%H:%M:%S ;; *) f=$SLURM_TIME_FORMAT ;; esac\n"
          "for job in 6 7; do echo \"JobId=$job TimeLimit=01:00:00 "
          "EndTime=$(date -d \"+$((8 * job)) min\" \"+$f\") Deadline=N/A\"; done");
  for (const char* format : {"standard", "relative", "%s", "%a"})
    EXPECT_EQ(minutes_left({{"SLURM_JOB_ID", "7"}, {"SLURM_TIME_FORMAT", format}}), 56) << format;
  EXPECT_EQ(minutes_left({{"SLURM_JOB_ID", "6"}}), 48) << "of all tasks of an array";
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(BatchJobEndTest, IsUnlimitedWithoutWarningOutsideOfLimits) {
  install("scontrol", "echo 'JobId=7 TimeLimit=UNLIMITED EndTime=Unknown'");
  EXPECT_EQ(minutes_left({{"SLURM_JOB_ID", "7"}}), -1);
  EXPECT_EQ(minutes_left({}), -1);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(BatchJobEndTest, WarnsOnceWhenItIsUnknown) {
  const auto expect_warning = [&](const Environment& job, const Facts& facts) {
    EXPECT_EQ(minutes_left(job), -1);
    EXPECT_THAT(warnings_, ElementsAre(AllOf(Mentions(facts), Mentions("--time-limit"))));
  };
  const Environment slurm{{"SLURM_JOB_ID", "7"}};
  const Environment lsf{{"LSB_JOBID", "8"}, {"LSB_JOBINDEX", "2"}};
  install("scontrol", "echo 'JobId=7 EndTime=tomorrow'");
  expect_warning(slurm, {"job 7", "EndTime=tomorrow"});
  install("scontrol", "sleep 600");
  expect_warning(slurm, {"job 7", "scontrol", "5 s"});
  install("bjobs", "echo 'LSF is down. Please wait ...' >&2; exit 255");
  expect_warning(lsf, {"job 8[2]", "LSF is down"});
  install("bjobs", "sleep 600");
  expect_warning(lsf, {"job 8[2]", "bjobs", "5 s"});
  hide_commands();
  expect_warning(lsf, {"bjobs: not found"});
}

}  // namespace
}  // namespace wallheat
