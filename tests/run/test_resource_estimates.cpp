#include "core/generator.hpp"
#include "run/preparation.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "wallheat/floor_plan_files.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {
namespace {

TEST(DiskUsageEstimate, IncludesRowsRoomsFields) {
  SolveConfig job;
  const double rows = disk_usage_estimate(job, 1000, 1e6).expected();
  EXPECT_GT(rows, 1000 * 800.0);
  EXPECT_EQ(disk_usage_estimate(job, 2000, 1e6).expected(), 2 * rows)
      << "cells are stored only with --save-fields";
  job.solver.door.emplace();
  const double with_rooms = disk_usage_estimate(job, 1000, 1e6).expected();
  EXPECT_GT(with_rooms, rows);
  job.save_fields = true;
  EXPECT_EQ(disk_usage_estimate(job, 1000, 1e6).fields, 2 * 8e6) << "in a journal and in the file";
  EXPECT_GT(disk_usage_estimate(job, 1000, 1e6).expected(), with_rooms);
}

TEST(DiskUsageEstimate, ReportsLackOfDiskSpace) {
  const TemporaryDirectory directory;
  EXPECT_THAT(disk_space_warning({1, 0}, directory.path()), IsEmpty());
  EXPECT_THAT(disk_space_warning({0, 4e30}, directory.path()),
              Mentions({directory.path().string(), "1000000000000000000 TB", "--out"}));
  EXPECT_THAT(disk_space_warning({1e30, 0}, directory / "missing"), IsEmpty())
      << "its free space is unknown";
}

// Compares the estimate with the peak memory that runs report.
TEST(MemoryEstimate, MatchesPeakMemoryOfSolverProcesses) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need additional memory";
#endif
  const TemporaryDirectory directory;
  save_floor_plan(directory.path(), "small", generate_floor_plan(1, 1, 64));
  save_floor_plan(directory.path(), "large", generate_floor_plan(1, 1, 1024));
  save_floor_plan(directory.path(), "plate", generate_poisson_plan(1, 1, 1024));
  const auto source = directory_source(directory.path());
  const std::string out = directory / "results.h5";
  for (const SolverKind kind : {SolverKind::jacobi, SolverKind::fastforward, SolverKind::steady})
    for (const bool save_fields : {false, true})
      for (const std::string id : {"small", "large", "plate"}) {
        const Finished run = run_program(
            {"sh", "-c",
             std::string(WALLHEAT_PROGRAM) + " run " + id + " --data " + directory.path().string() +
                 " --out " + out +
                 " --overwrite --threads 1 --max-iterations 3000 --accuracy 1e-3" + " --solver " +
                 std::string(to_string(kind)) + (save_fields ? " --save-fields" : "")});
        ASSERT_EQ(run.status, 0) << run.err;
        const auto held = static_cast<double>(ResultReader(out).rows().at(0).peak_memory);
        SolveConfig job{directory.path(), {}, save_fields, "host", "cpu"};
        job.solver.kind = kind;
        const double estimate = estimate_memory(*source, id, job);
        EXPECT_GT(estimate, held / 2) << id << ", " << to_string(kind);
        EXPECT_LT(estimate, held * 2) << id << ", " << to_string(kind);
      }
}

}  // namespace
}  // namespace wallheat
