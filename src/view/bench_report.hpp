#pragma once

#include <string>
#include <vector>

#include "bench/cpu_bench.hpp"
#include "bench/gpu_bench.hpp"
#include "bench/reference_profile.hpp"
#include "bench/solver_bench.hpp"

namespace wallheat {

[[nodiscard]] std::string to_json_text(const CpuBench& bench);
[[nodiscard]] std::string to_json_text(const GpuBench& bench);
/// Prints tables to stdout. Those of a GPU are in bench/gpu_bench.hpp, as a build without this
/// folder prints them, too.
void print_tables(const CpuBench& bench);

/// `solver` is what the published algorithm is compared with.
void print_tables(const ReferenceProfile& profile, const std::string& id,
                  const std::string& solver);
[[nodiscard]] std::string to_json_text(const ReferenceProfile& profile, const std::string& id,
                                       const std::string& solver);

[[nodiscard]] std::string to_json_text(const std::vector<SolverComparison>& comparisons,
                                       const std::string& device);
void print_tables(const std::vector<SolverComparison>& comparisons, const std::string& device);

}  // namespace wallheat
