#include "bench/solver_bench.hpp"

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>
#include <memory>

#include "core/cpu_time.hpp"
#include "core/generator.hpp"
#include "node/local_machine.hpp"

namespace wallheat {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double largest_difference(const Grid<double>& one, const Grid<double>& other) {
  double largest = 0;
  for (std::size_t cell = 0; cell < one.cells.size(); ++cell)
    largest = std::max(largest, std::abs(one.cells[cell] - other.cells[cell]));
  return largest;
}

struct Contender {
  SolverKind kind;
  std::unique_ptr<Solver> solver;
  Solution solution{};
  double seconds = std::numeric_limits<double>::infinity();
};

void solve_once(Contender& contender, const FloorPlan& plan, const Limits& limits) {
  const double start_s = thread_cpu_seconds();
  contender.solution = *contender.solver->solve(plan, limits, {});
  contender.seconds = std::min(contender.seconds, thread_cpu_seconds() - start_s);
}

SolverTime time_of(const Contender& contender, const Solution& steady) {
  const Solution& solution = contender.solution;
  const bool is_steady = contender.kind == SolverKind::steady;
  const double sweeps =
      solution.sweeps > 0 ? solution.sweeps : static_cast<double>(solution.iterations);
  return {contender.kind,
          contender.seconds,
          solution.iterations,
          is_steady ? nan : sweeps,
          is_steady ? nan : largest_difference(solution.field, steady.field),
          solution.bound,
          solution.fell_back};
}

SolverComparison compare_on(const BenchPlan& plan, const SolverOptions& options, int repeat) {
  std::vector<Contender> contenders;
  for (const SolverKind kind : {SolverKind::jacobi, SolverKind::fastforward, SolverKind::steady}) {
    SolverOptions own = options;
    own.kind = kind;
    own.reference = options.reference && kind == SolverKind::jacobi;
    contenders.push_back({kind, own.make()});
  }
  for (int run = 0; run < repeat; ++run)
    for (Contender& contender : contenders) solve_once(contender, plan.plan, options.limits);
  SolverComparison comparison{plan.id, count_interior(plan.plan), {}};
  for (const Contender& contender : contenders)
    comparison.times.push_back(time_of(contender, contenders.back().solution));
  return comparison;
}

}  // namespace

double measure_sample_plan_s(Solver& solver) {
  const FloorPlan plan = generate_floor_plan(1, 0, sample_side);
  double best_s = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt < 3; ++attempt) {  // something else may be at work
    const double start_s = thread_cpu_seconds();
    (void)solver.solve(plan, {}, {});
    best_s = std::min(best_s, thread_cpu_seconds() - start_s);
  }
  return best_s;
}

std::vector<SolverComparison> compare_solvers(const std::vector<BenchPlan>& plans,
                                              const SolverOptions& options, int repeat) {
  std::vector<SolverComparison> comparisons;
  // On a thread of its own, as it is bound to one core.
  std::async(std::launch::async, [&] {
    bind_this_thread({local_machine().cores.front().cpu});
    for (const BenchPlan& plan : plans) comparisons.push_back(compare_on(plan, options, repeat));
  }).get();
  return comparisons;
}

}  // namespace wallheat
