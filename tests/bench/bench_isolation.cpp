// What it costs to solve plans in a child process: the same synthetic plans by both kinds of job,
// in turns, and the memory of a child.
//   bench_isolation PATH/TO/wallheat [SIZE [PLANS]]

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/generator.hpp"
#include "isolation/solver_pool.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace {

using namespace wallheat;
using Clock = std::chrono::steady_clock;

double seconds(const PlanJob& job, const std::vector<std::string>& ids) {
  const auto start = Clock::now();
  for (const std::string& id : ids) (void)job({0, id}, {});
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Prints the memory of the children of this process in KiB.
void print_memory() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream stat(entry.path() / "stat");
    std::string text;
    if (!std::getline(stat, text) || std::stol(text.substr(text.rfind(')') + 4)) != ::getpid())
      continue;
    std::ifstream rollup(entry.path() / "smaps_rollup");
    for (std::string line; std::getline(rollup, line);) {
      if (line.starts_with("Rss:") || line.starts_with("Pss:") ||
          line.starts_with("Private_Dirty:"))
        fmt::print("child {}\n", line);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_isolation PATH/TO/wallheat [SIZE [PLANS]]\n");
    return 2;
  }
  const std::size_t size = argc > 2 ? std::stoul(argv[2]) : 128;
  const std::size_t count = argc > 3 ? std::stoul(argv[3]) : 50;
  const TemporaryDirectory directory;
  std::vector<std::string> ids;
  for (std::size_t plan = 0; plan < count; ++plan) {
    ids.push_back(std::to_string(plan));
    save_floor_plan(directory.path(), ids.back(), generate_floor_plan(1, plan, size));
  }
  SolverOptions solver;
  solver.isa = available_isas().back();
  const JobSettings settings{directory.path(), solver, false, "host", "cpu", 60};
  const PlanJob plain = make_plan_job(settings);
  const auto start = Clock::now();
  const PlanJob isolated =
      SolverPool(settings, {.start = SolverProgram{argv[1], {"solver-process"}}}).job();
  fmt::print("start of a child      {:8.1f} ms\n",
             std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  print_memory();
  double best_plain = 1e9;
  double best_isolated = 1e9;
  for (int round = 0; round < 7; ++round) {
    best_plain = std::min(best_plain, seconds(plain, ids));
    best_isolated = std::min(best_isolated, seconds(isolated, ids));
  }
  const auto each = 1e3 / static_cast<double>(count);
  fmt::print("{0} x {0}, a plan in    {1:8.3f} ms\n", size, best_plain * each);
  fmt::print("the same in a child   {:8.3f} ms, {:+.1f} us, {:+.2f} %\n", best_isolated * each,
             (best_isolated - best_plain) * each * 1e3, 100 * (best_isolated / best_plain - 1));
  print_memory();
}
