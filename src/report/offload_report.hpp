#pragma once

#include <vector>

#include "forecast/campaign_choices.hpp"
#include "forecast/offload.hpp"
#include "report/report.hpp"

namespace wallheat {

/// Returns the break-even points of floats and doubles, one way and both ways.
[[nodiscard]] Report offload_report(const Offload& offload);
/// Returns the break-even point of a double, both ways, on a node of each partition: all GPUs of a
/// node against all its cores. `offload` describes one core and one GPU.
[[nodiscard]] Report offload_report(const Offload& offload,
                                    const std::vector<Partition>& partitions);

}  // namespace wallheat
