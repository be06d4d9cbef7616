#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "solve/solver_options.hpp"

namespace wallheat {

struct BenchPlan {
  std::string id;
  FloorPlan plan;
};

/// Minimum, median and maximum of repeated measurements.
struct Spread {
  double min = 0;
  double median = 0;
  double max = 0;
};

/// One plan on one thread.
struct PlanRate {
  std::string id;
  std::int64_t interior_cells = 0;
  /// The share of interior cells among those that a sweep goes over, as it updates whole blocks.
  double density = 0;
  std::int64_t iterations = 0;
  Spread cpu_s;   ///< in which the thread had its core
  Spread wall_s;  ///< of the same runs
  /// Interior cell updates.
  [[nodiscard]] double updates() const {
    return static_cast<double>(interior_cells) * static_cast<double>(iterations);
  }
  /// Of the fastest run.
  [[nodiscard]] double giga_updates_per_s() const { return updates() / cpu_s.min * 1e-9; }
};

/// All plans on each of several threads.
struct ThreadRate {
  std::size_t threads = 0;
  double updates_per_s = 0;
  double speedup = 0;
};

struct CpuBench {
  std::string device;
  double ceiling_updates_per_s = 0;  ///< of one core; the best of what was measured among the plans
  std::vector<PlanRate> plans;
  /// The part of the time in which the solver had its core.
  [[nodiscard]] double share_of_core() const;
  std::vector<ThreadRate>
      scaling;  ///< by wall time: 1, 2, 4, ... threads; empty where not asked for
};

/// Solves the plans on one core, `repeat` times each, in turns with the ceiling of its instruction
/// set, as the clock drifts; with `scaling` on 1, 2, 4, ... cores at once, too. Throws RunError.
[[nodiscard]] CpuBench measure_cpu(const std::vector<BenchPlan>& plans,
                                   const SolverOptions& options, int repeat, bool scaling);

}  // namespace wallheat
