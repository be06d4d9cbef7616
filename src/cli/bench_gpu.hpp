#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/gpu_bench.hpp"
#include "run/run_options.hpp"

namespace wallheat {

/// What a GPU is measured with.
struct GpuBenchPlans {
  std::vector<FloorPlan> in_memory;
  PlanFiles files;  ///< count 0: none
};

/// Measures the first GPU against this process's first CPU socket, with the limits and the CPU
/// solver of `solver`, and prints tables or JSON; `plans` is called once it is known that there is
/// a GPU; `quick` leaves out the search for break-even and takes seconds. Throws RunError if there
/// is none.
void bench_gpu(const SolverOptions& solver, const std::function<GpuBenchPlans()>& plans, bool quick,
               bool json);

}  // namespace wallheat
