#include <sys/prctl.h>

#include "store/result_store.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"

namespace wallheat {
namespace {

/// Writes a result file. Leaves its journal, as after a kill, if not `closed`.
void write_results(const std::filesystem::path& file, std::size_t plans, bool closed) {
  ResultFileSpec plan;
  plan.settings = {{"solver", "jacobi"},  {"solver_version", "?"}, {"max_iterations", "20000"},
                   {"tolerance", "1e-4"}, {"above", "18.0"},       {"below", "15.0"}};
  std::vector<PlanResult> rows(plans);
  for (std::size_t i = 0; i < plans; ++i) {
    PlanResult& row = rows[i];
    row.index = static_cast<std::uint32_t>(i);
    plan.ids.push_back(row.id = "plan " + std::to_string(i));
    row.status = PlanStatus::converged;
    row.rows = row.cols = 16;
    row.interior_cells = row.iterations = 1 + static_cast<std::int64_t>(i % 200);
    row.last_delta = 1e-5;
    row.statistics = {15 + 1e-5 * static_cast<double>(i), 2, 60, 10};
    row.host = "host";
    row.device = row.solver = "jacobi";
    row.thread = 0;
    row.started_s = static_cast<double>(i);
    row.seconds = row.predicted_s = 1;
    row.phases.read_s = row.phases.solve_s = 0.25F;
  }
  ResultStore store({file, OpenMode::overwrite}, plan, {});
  store.store(rows);
  if (closed) store.close({{"seconds", std::to_string(plans)}, {"threads", "1"}});
}

/// Returns the peak memory of the program in KiB.
long memory_of(std::vector<std::string> words) {
  words.insert(words.begin(), {"/usr/bin/python3", "-c", R"(
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))",
                               WALLHEAT_PROGRAM});
  const Finished measured = run_program(words);
  EXPECT_EQ(measured.status, 0) << measured.err;
  return std::stol(measured.out);
}

TEST(RunMemory, StaysBelow300MbForAMillionPlans) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need additional memory";
#endif
  // Huge pages round to 2 MB, and the extrapolation would count this 25 times.
  ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  const TemporaryDirectory directory;
  const std::string few = directory / "few.h5";
  const std::string many = directory / "many.h5";
  const std::string out = directory / "out";
  constexpr std::size_t plans = 40'000;
  for (const bool closed : {true, false}) {
    write_results(few, 100, closed);
    write_results(many, plans, closed);
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"list"},
          {"list", "--sort", "-id", "--json"},
          {"summary", "--page", out + ".html", "--overwrite"},
          {"trace", "--out", out + ".json", "--overwrite"},
          {"compare"},
          {"summary"},
          {"verify", "--sample", "0"}}) {
      const auto with = [&](const std::string& file) {
        std::vector<std::string> words = command;
        words.insert(words.begin() + 1, file);
        if (command.front() == "compare") words.push_back(file);
        return memory_of(words);
      };
      const long base = with(few);
      const long needed = base + (with(many) - base) * (1'000'000 / static_cast<long>(plans));
      EXPECT_LT(needed, 300'000) << command.front() << (closed ? "" : " of a killed run");
    }
  }
}

}  // namespace
}  // namespace wallheat
