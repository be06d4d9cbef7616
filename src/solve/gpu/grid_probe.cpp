#include "solve/gpu/grid_probe.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <limits>
#include <vector>

#include "core/generator.hpp"

namespace wallheat::gpu {
namespace {

std::string factor_text(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", factor);
  return text;
}

}  // namespace

GridUse choose_grid_use(const ProbeTime& seconds) {
  constexpr double side_by_side = 1.5;  // 1 at best, 2 one after the other
  const double alone_s = seconds(Kernel::grid, 1);
  const double together_s = seconds(Kernel::grid, 2);
  if (together_s < side_by_side * alone_s) return {};
  const std::string measured = "this GPU runs cooperative grids one after the other (two took " +
                               factor_text(together_s / alone_s) + " times as long as one)";
  const double streamed_s = seconds(Kernel::streaming, 2);
  if (streamed_s < together_s)
    return {false, false,
            measured + "; plans are streamed instead, which takes " +
                factor_text(together_s / streamed_s) + " times less"};
  return {true, true,
          measured +
              " and streaming is slower still; it gets one plan at a time, which leaves most "
              "of it idle"};
}

double time_probe(const std::function<std::unique_ptr<Solver>()>& make_solver, int plans) {
  using Clock = std::chrono::steady_clock;
  const FloorPlan plan = generate_floor_plan(1, 0, 256);
  constexpr Limits limits{0, 1000};
  std::vector<std::unique_ptr<Solver>> solvers;
  for (int number = 0; number < plans; ++number) solvers.push_back(make_solver());
  const auto round = [&](const Limits& work) {
    std::vector<std::future<void>> threads;
    const auto start = Clock::now();
    for (const auto& solver : solvers)
      threads.push_back(
          std::async(std::launch::async, [&] { (void)solver->solve(plan, work, {}); }));
    for (auto& thread : threads) thread.wait();
    const std::chrono::duration<double> passed = Clock::now() - start;
    for (auto& thread : threads) thread.get();
    return passed.count();
  };
  (void)round({0, 1});  // takes memory, loads the kernel
  double best = std::numeric_limits<double>::infinity();
  for (int number = 0; number < 3; ++number) best = std::min(best, round(limits));
  return best;
}

}  // namespace wallheat::gpu
