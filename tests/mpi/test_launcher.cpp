#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "mpi/mpi_environment.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

class LauncherTest : public testing::Test {
 protected:
  LauncherTest() { set({}); }
  ~LauncherTest() override { set({}); }

  /// Sets these variables of launchers, and removes all others.
  static void set(const std::vector<std::pair<const char*, const char*>>& variables) {
    for (const char* name :
         {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMIX_NAMESPACE", "PMI_RANK",
          "PMI_SIZE", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_HET_JOB_ID", "SLURM_NTASKS",
          "SLURM_PROCID", "SLURM_PTY_PORT", "SLURM_STEP_NUM_TASKS", "SLURM_TASK_PID"})
      ::unsetenv(name);
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  }
  /// Returns the error message that an unconnected process gets; an empty string if it may run.
  static std::string refusal() {
    try {
      require_single_process();
      return {};
    } catch (const UsageError& error) {
      return error.what();
    }
  }
};

TEST_F(LauncherTest, IgnoresStepOfAnotherJob) {
  // A step of job 6 has submitted job 7, which inherits its variables.
  set({{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "slurm.pmix.6.0"}, {"SLURM_JOB_ID", "7"}});
  EXPECT_FALSE(launched_by_mpi());
  EXPECT_EQ(launched_rank(), 0);
  ::setenv("SLURM_JOB_ID", "6", 1);
  EXPECT_TRUE(launched_by_mpi());
  EXPECT_EQ(launched_rank(), 1);
  set({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"PMI_JOBID", "6.0"}, {"SLURM_JOB_ID", "7"}});
  EXPECT_FALSE(launched_by_mpi());
  EXPECT_EQ(refusal(), "");
  // mpirun in such a job.
  ::setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  EXPECT_EQ(launched_rank(), 3);
  // The launcher of a component of a heterogeneous job, and launchers with other names.
  set({{"PMIX_RANK", "1"},
       {"PMIX_NAMESPACE", "slurm.pmix.6.0"},
       {"SLURM_JOB_ID", "7"},
       {"SLURM_HET_JOB_ID", "6"}});
  EXPECT_TRUE(launched_by_mpi());
  set({{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "1399455745"}, {"SLURM_JOB_ID", "7"}});
  EXPECT_TRUE(launched_by_mpi());
  set({{"PMI_RANK", "1"}, {"PMI_JOBID", "kvs_12.3"}, {"SLURM_JOB_ID", "7"}});
  EXPECT_TRUE(launched_by_mpi());
}

TEST_F(LauncherTest, RejectsUnconnectedProcesses) {
  set({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "3"}, {"SLURM_JOB_ID", "7"}});
  EXPECT_FALSE(launched_by_mpi()) << "srun without PMIx";
  EXPECT_EQ(launched_rank(), 3) << "one of them reports the error";
  EXPECT_THAT(refusal(), Mentions({"4", "SLURM_STEP_NUM_TASKS", "srun --mpi=pmix", "mpirun"}));
  set({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}});
  EXPECT_THAT(refusal(), Mentions({"3", "PMI_SIZE", "mpirun"})) << "MPICH's mpiexec";
  set({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "3"}});
  EXPECT_THAT(refusal(), Mentions({"3", "OMPI_COMM_WORLD_SIZE"}));
}

TEST_F(LauncherTest, AcceptsSingleProcess) {
  EXPECT_EQ(refusal(), "");
  set({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "7"}});
  EXPECT_EQ(refusal(), "") << "a batch script with four tasks";
  set({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}});
  EXPECT_EQ(refusal(), "") << "srun -n 1";
  set({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_PTY_PORT", "40001"}});
  EXPECT_EQ(refusal(), "") << "the shell of srun -n 4 --pty";
  // mpirun starts its daemons with srun.
  set({{"OMPI_COMM_WORLD_RANK", "0"},
       {"OMPI_COMM_WORLD_SIZE", "1"},
       {"SLURM_STEP_NUM_TASKS", "4"}});
  EXPECT_EQ(refusal(), "");
}

TEST(ShortLibraryVersion, IsNameAndVersion) {
  EXPECT_EQ(short_library_version("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"),
            "Open MPI v4.1.4");
  EXPECT_EQ(short_library_version("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7\n"),
            "MPICH 4.0.2");
  EXPECT_EQ(short_library_version("MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date : x"),
            "MVAPICH2 2.3.7");
  EXPECT_EQ(short_library_version("Intel(R) MPI Library 2021.9 for Linux* OS\n"),
            "Intel(R) MPI Library 2021.9 for Linux* OS");
}

}  // namespace
}  // namespace wallheat
