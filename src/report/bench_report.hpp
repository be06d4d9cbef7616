#pragma once

#include <string>
#include <vector>

#include "bench/cpu_bench.hpp"
#include "bench/gpu_bench.hpp"
#include "bench/reference_profile.hpp"
#include "bench/solver_bench.hpp"
#include "report/report.hpp"

namespace wallheat {

[[nodiscard]] Report report_of(const CpuBench& bench);
[[nodiscard]] Report report_of(const GpuBench& bench);
/// `device` is the one core that all solvers ran on.
[[nodiscard]] Report report_of(const std::vector<SolverComparison>& comparisons,
                               const std::string& device);
/// `solver` is what the published algorithm is compared with on plan `id`.
[[nodiscard]] Report report_of(const ReferenceProfile& profile, const std::string& id,
                               const std::string& solver);

}  // namespace wallheat
