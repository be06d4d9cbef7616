#include "bench/flow.hpp"

#include <atomic>
#include <barrier>
#include <chrono>
#include <exception>
#include <future>
#include <mutex>

namespace wallheat {

Flow measure_flow(std::size_t in_flight, std::size_t count, double least_s,
                  const SolverFactory& make_solver, const std::vector<FloorPlan>& plans,
                  const Limits& limits) {
  using Clock = std::chrono::steady_clock;
  Flow flow{.in_flight = in_flight};
  Clock::time_point start;
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  std::barrier together(static_cast<std::ptrdiff_t>(in_flight),
                        [&]() noexcept { start = Clock::now(); });
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  const auto solve_plans = [&](std::size_t thread) {
    std::unique_ptr<Solver> solver;
    std::exception_ptr failure;
    try {
      solver = make_solver(thread);
      (void)solver->solve(plans.front(), {0, 1}, {});
    } catch (...) {
      failure = std::current_exception();
    }
    together.arrive_and_wait();
    if (failure) std::rethrow_exception(failure);
    for (std::size_t number = next++; number < count || seconds() < least_s; number = next++) {
      const FloorPlan& plan = plans[number % plans.size()];
      const auto solution = solver->solve(plan, limits, {});
      const std::scoped_lock lock(mutex);
      ++flow.plans;
      flow.updates += static_cast<double>(count_interior(plan)) *
                      static_cast<double>(solution.value().iterations);
    }
  };
  std::vector<std::future<void>> threads;
  for (std::size_t thread = 0; thread < in_flight; ++thread)
    threads.push_back(std::async(std::launch::async, solve_plans, thread));
  for (const auto& thread : threads) thread.wait();
  flow.seconds = seconds();
  for (auto& thread : threads) thread.get();
  return flow;
}

}  // namespace wallheat
