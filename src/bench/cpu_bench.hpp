#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/flow.hpp"
#include "core/solver_kind.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// A solver on a plan, on one core.
struct SolverRate {
  std::string id;  ///< of the plan
  std::int64_t interior_cells = 0;
  /// The share of interior cells among those that a sweep goes over, as it updates whole blocks.
  double density = 0;
  SolverKind solver = SolverKind::jacobi;
  std::int64_t iterations = 0;  ///< of steady: of conjugate gradients
  double sweeps = 0;            ///< updates per interior cell; NaN for steady
  std::vector<double> cpu_s;    ///< in which the thread had its core, ascending
  double error = 0;  ///< °C: the largest difference to steady's field; NaN for steady or without it
  double bound = 0;  ///< °C: proven; NaN for the others
  bool fell_back = false;

  /// Interior cell updates in the fastest run.
  [[nodiscard]] double giga_updates_per_s() const {
    return static_cast<double>(interior_cells) * sweeps / cpu_s.front() * 1e-9;
  }
};

struct CpuBench {
  std::string device;
  /// Cell updates a second if nothing but their additions took time: those of independent vectors
  /// that one core makes, divided by the three of an update, none of which can be saved as their
  /// order is given. The best of what was measured among the plans.
  double ceiling_updates_per_s = 0;
  double share_of_core = 1;         ///< the part of the time in which the solvers had their core
  std::vector<SolverRate> plans{};  ///< the solvers of a plan one after the other, as asked for
  std::vector<Flow> scaling{};      ///< of 1, 2, 4, ... threads, by wall time; if asked for
};

struct BenchPlans {
  std::vector<std::string> ids;
  std::vector<FloorPlan> plans;
};

/// What to measure of some plans, with these limits and this instruction set.
struct CpuBenchSettings {
  SolverOptions options;
  std::vector<SolverKind> solvers{SolverKind::jacobi};
  int repeat = 1;        ///< measurements of each figure
  bool scaling = false;  ///< also `options`' solver on 1, 2, 4, ... cores at once
};

/// Solves each plan by each solver on one core, in turns with the ceiling, as the clock drifts.
/// Throws RunError, and InputError if steady cannot reach the accuracy.
[[nodiscard]] CpuBench measure_cpu(const BenchPlans& plans, const CpuBenchSettings& settings);

/// The least CPU seconds of three that a solver takes for one generated plan of sample_side x
/// sample_side cells, on the calling thread.
constexpr std::size_t sample_side = 256;
[[nodiscard]] double measure_sample_plan_s(Solver& solver);

}  // namespace wallheat
