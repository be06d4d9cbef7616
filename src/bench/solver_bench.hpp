#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/cpu_bench.hpp"
#include "core/solver_kind.hpp"

namespace wallheat {

/// A solver on a plan, on one core.
struct SolverTime {
  SolverKind solver = SolverKind::jacobi;
  double seconds = 0;           ///< of CPU time: the least of the measurements
  std::int64_t iterations = 0;  ///< of steady: of conjugate gradients
  double sweeps = 0;            ///< updates per interior cell; NaN for steady
  double error = 0;             ///< °C: the largest difference to steady's field; NaN for steady
  double bound = 0;             ///< °C: proven; NaN for the others
  bool fell_back = false;
};

/// All solvers on a plan.
struct SolverComparison {
  std::string id;
  std::int64_t interior_cells = 0;
  std::vector<SolverTime> times;  ///< jacobi first
};

/// CPU seconds that a solver takes for one generated plan of sample_side x sample_side cells, on
/// the calling thread: the best of three.
constexpr std::size_t sample_side = 256;
[[nodiscard]] double measure_sample_plan_s(Solver& solver);

/// Solves each plan `repeat` times by each solver, in turns, on one core, with these limits and
/// this instruction set. Throws RunError, and InputError if steady cannot reach the accuracy.
[[nodiscard]] std::vector<SolverComparison> compare_solvers(const std::vector<BenchPlan>& plans,
                                                            const SolverOptions& options,
                                                            int repeat);

}  // namespace wallheat
