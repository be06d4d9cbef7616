#include <string>

#include "core/generator.hpp"
#include "run/memory_need.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/shapes.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/floor_plan_files.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {
namespace {

constexpr double mb = 1e6;
const PlanMemory hall{"hall", {4096, 2048}, 250 * mb};

TEST(MemoryNeed, that_does_not_fit_is_told_with_plan_amounts_and_remedy) {
  const NodeMemory node{"n1", 2, 8, 40 * mb, 1000 * mb};
  EXPECT_EQ(warning_of_memory(node, hall),
            "n1 may run out of memory: 8 solver processes with plans as large as hall (4096 x "
            "2048 cells) take about 2.04 GB, 250 MB each, and there are 1 GB; run with "
            "--threads 1, or give the job more memory");
  const NodeMemory small{"n1", 1, 2, 40 * mb, 280 * mb};
  EXPECT_THAT(warning_of_memory(small, hall), EndsWith("280 MB; give the job more memory"));
}

TEST(MemoryNeed, that_fits_or_of_which_the_limit_is_unknown_is_not_told) {
  EXPECT_EQ(warning_of_memory({"n1", 1, 8, 40 * mb, 2040 * mb}, hall), "");
  EXPECT_EQ(warning_of_memory({"n1", 1, 8, 40 * mb, 0}, hall), "");
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
      for (const std::string id : {"small", "large", "plate"}) {
        const std::string out = directory / "results.h5";
        std::vector<std::string> words{WALLHEAT_PROGRAM,
                                       "run",
                                       id,
                                       "--data",
                                       directory.path(),
                                       "--out",
                                       out,
                                       "--overwrite",
                                       "--threads",
                                       "1",
                                       "--max-iterations",
                                       "3000",
                                       "--accuracy",
                                       "1e-3",
                                       "--solver",
                                       std::string(to_string(kind))};
        if (save_fields) words.emplace_back("--save-fields");
        const Finished run = run_program(words);
        ASSERT_EQ(run.status, 0) << run.err;
        const ResultReader reader(out);
        const double held = static_cast<double>(reader.rows().at(0).peak_memory);
        const double estimate = memory_of_plan(*source, id, job).bytes;
        EXPECT_GT(estimate, held / 2) << id << ", " << to_string(kind);
        EXPECT_LT(estimate, held * 2) << id << ", " << to_string(kind);
      }
    }
  }
}

}  // namespace
}  // namespace wallheat
