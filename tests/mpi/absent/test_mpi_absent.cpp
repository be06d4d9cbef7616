// Builds without MPI (WALLHEAT_MPI=OFF).
#include <gmock/gmock.h>

#include <cstdlib>

#include "mpi/mpi_environment.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

class MpiAbsentTest : public testing::Test {
 protected:
  void SetUp() override { TearDown(); }
  void TearDown() override {
    for (const char* name :
         {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE",
          "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_PTY_PORT"})
      ::unsetenv(name);
  }
};

TEST_F(MpiAbsentTest, DetectsLauncherWithoutMpiLibrary) {
  EXPECT_FALSE(launched_by_mpi());
  ::setenv("PMIX_RANK", "2", 1);
  EXPECT_TRUE(launched_by_mpi());
  EXPECT_EQ(launched_rank(), 2);
  EXPECT_EQ(mpi_library(), "none");
}

TEST_F(MpiAbsentTest, RunsAloneWhenLauncherStartsOneRank) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    ::setenv(name, "1", 1);
    const MpiEnvironment session;
    EXPECT_EQ(session.size(), 1) << name;
    EXPECT_EQ(session.rank(), 0) << name;
    ::unsetenv(name);
  }
}

// Otherwise each of several ranks would solve the complete campaign.
TEST_F(MpiAbsentTest, RejectsBeingOneOfSeveralRanks) {
  EXPECT_THROW(MpiEnvironment(), UsageError) << "their number is unknown";
  ::setenv("OMPI_COMM_WORLD_SIZE", "12", 1);
  EXPECT_THROW(MpiEnvironment(), UsageError);
  ::unsetenv("OMPI_COMM_WORLD_SIZE");
  ::setenv("SLURM_STEP_NUM_TASKS", "4", 1);  // srun without PMIx
  ::setenv("SLURM_PROCID", "3", 1);
  EXPECT_FALSE(launched_by_mpi());
  EXPECT_THROW(require_single_process(), UsageError);
  EXPECT_EQ(launched_rank(), 3) << "rank 0 alone reports the error";
}

}  // namespace
}  // namespace wallheat
