#pragma once

#include <string>

#include "bench/bench.hpp"
#include "report/report.hpp"

namespace wallheat {

[[nodiscard]] Report make_report(const CpuBench& bench);
[[nodiscard]] Report make_report(const GpuBench& bench);
/// Compares the published algorithm with `solver` on the plan `id`.
[[nodiscard]] Report make_report(const ReferenceProfile& profile, const std::string& id,
                                 const std::string& solver);

}  // namespace wallheat
