#pragma once

#include <string>
#include <vector>

#include "bench/gpu_bench.hpp"
#include "bench/solver_bench.hpp"
#include "report/gnuplot.hpp"

namespace wallheat {

/// Plans a second of a GPU and the CPU over the side of plans, both axes logarithmic; the side from
/// which on the GPU is ahead is marked where it is not NaN. `heading` is the title.
[[nodiscard]] Plot crossover_plot(const std::string& heading, const std::vector<SideRate>& sides,
                                  double break_even_side);

/// Seconds a plan over its side, a curve for each solver, both axes logarithmic; sides[i] is that
/// of the plan of comparisons[i].
[[nodiscard]] Plot solver_times_plot(const std::string& heading,
                                     const std::vector<std::size_t>& sides,
                                     const std::vector<SolverComparison>& comparisons);

}  // namespace wallheat
