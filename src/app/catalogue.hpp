#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "app/run_options.hpp"
#include "wallheat/plan_ids.hpp"
#include "wallheat/plan_result.hpp"

namespace wallheat {

/// The plans that a run is asked for. Throws RunError where there is no directory or no id.
[[nodiscard]] PlanIds requested_plans(const RunOptions& options);

/// The shape of each plan from its file's header; {0, 0} for plans of other shards and where it
/// cannot be read (the plan will fail with the reason when it is solved).
[[nodiscard]] std::vector<GridShape> plan_shapes(const std::filesystem::path& data,
                                                 const std::vector<std::string>& ids,
                                                 const Shard& shard);

/// The solved rows whose input is not what it was, each as "ID (why)". Size and time stamp decide
/// where they can; only where they differ is a plan read and hashed.
[[nodiscard]] std::vector<std::string> changed_inputs(const std::filesystem::path& data,
                                                      std::span<const PlanResult> rows);

}  // namespace wallheat
