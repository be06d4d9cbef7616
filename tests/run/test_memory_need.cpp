#include <string>

#include "core/generator.hpp"
#include "isolation/solver_pool.hpp"
#include "run/memory_need.hpp"
#include "support/matchers.hpp"
#include "support/shapes.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

constexpr double mb = 1e6;
const PlanMemory hall{"hall", {4096, 2048}, 250 * mb};

TEST(MemoryNeed, that_does_not_fit_is_told_with_plan_amounts_and_remedy) {
  const NodeMemory node{"n1", 2, 8, 40 * mb, 1000 * mb};
  EXPECT_EQ(warning_of_memory(node, hall),
            "n1 may run out of memory: 8 solver process(es) with plans as large as hall (4096 x "
            "2048 cells) take about 2.04 GB, 250 MB each, and there are 1 GB; run with "
            "--threads 1, or give the job more memory");
  const NodeMemory small{"n1", 1, 2, 40 * mb, 280 * mb};
  EXPECT_THAT(warning_of_memory(small, hall), EndsWith("280 MB; give the job more memory"));
}

TEST(MemoryNeed, that_fits_or_of_which_the_limit_is_unknown_is_not_told) {
  EXPECT_EQ(warning_of_memory({"n1", 1, 8, 40 * mb, 2040 * mb}, hall), "");
  EXPECT_EQ(warning_of_memory({"n1", 1, 8, 40 * mb, 0}, hall), "");
}

TEST(MemoryNeed, is_that_of_the_largest_plan) {
  const TemporaryDirectory directory;
  save_floor_plan(directory.path(), "small", room(20, 30));
  save_floor_plan(directory.path(), "large", room(60, 70));
  save_floor_plan(directory.path(), "wide", room(20, 80));
  const std::vector<std::string> ids{"small", "missing", "large", "wide"};
  const auto id_of = [&](std::size_t plan) { return ids[plan]; };
  const JobSettings job{directory.path(), {}, false, "host", "cpu"};
  const auto source = directory_source(directory.path());
  const auto largest = memory_of_largest_plan(*source, job, ids.size(), id_of);
  ASSERT_TRUE(largest);
  EXPECT_EQ(largest->id, "large");
  EXPECT_EQ(largest->shape, (GridShape{60, 70}));
  EXPECT_FALSE(memory_of_largest_plan(*source, job, 1, [](std::size_t) { return "missing"; }));
}

TEST(MemoryNeed, is_about_what_solver_processes_hold) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const TemporaryDirectory directory;
  save_floor_plan(directory.path(), "small", generate_floor_plan(1, 1, 64));
  save_floor_plan(directory.path(), "large", generate_floor_plan(1, 1, 1024));
  save_floor_plan(directory.path(), "plate", generate_poisson_plan(1, 1, 1024));
  const auto source = directory_source(directory.path());
  for (const SolverKind kind : {SolverKind::jacobi, SolverKind::fastforward, SolverKind::steady}) {
    for (const bool save_fields : {false, true}) {
      JobSettings job{directory.path(), {}, save_fields, "host", "cpu"};
      job.solver.kind = kind;
      job.solver.limits.max_iterations = 3000;
      job.solver.limits.accuracy = 1e-3;
      const PlanJob solve =
          SolverPool(job, SolverPoolParts{.start = SolverProgram{WALLHEAT_PROGRAM}}).job();
      for (const char* id : {"small", "large", "plate"}) {
        const PlanResult result = solve({0, id}, {});
        ASSERT_TRUE(is_answer(result.status)) << result.error;
        const double held = static_cast<double>(result.peak_memory);
        const double estimate = memory_of_plan(*source, id, job).bytes;
        EXPECT_GT(estimate, held / 2) << id << ", " << to_string(kind);
        EXPECT_LT(estimate, held * 2) << id << ", " << to_string(kind);
      }
    }
  }
}

}  // namespace
}  // namespace wallheat
